"""The recorder of this process, and what it wrote down of the last call."""

from __future__ import annotations

import ctypes
import os
from typing import Any

recorder = ctypes.CDLL(os.environ["GPUMATH_CUFFT_PATH"])
recorder.recorder_text.restype = ctypes.c_char_p


def record(function: Any, *arguments: Any, **keywords: Any) -> tuple[str, Any]:
    """Call a function; return what the C side wrote down, and the result."""
    returned = function(*arguments, **keywords)
    return recorder.recorder_text().decode(), returned
