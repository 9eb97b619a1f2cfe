"""The stand-in driver of this process: what it can be told, and what it was asked."""

from __future__ import annotations

import ctypes
import gc
import os

driver = ctypes.CDLL(os.environ["GPUMATH_DRIVER_PATH"])
driver.driver_text.restype = ctypes.c_char_p
blocks = driver.driver_blocks


def seen() -> list[str]:
    """Return what the driver was asked since the last call, after a collection of garbage."""
    gc.collect()
    text = driver.driver_text().decode()
    driver.driver_clear()
    return text.split(";")[:-1]
