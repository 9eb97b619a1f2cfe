"""Calls of the driver's functions, where the driver is one that writes down its arguments."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

from gpumath.bindings import driver
from tests.programs.support.entry import main

fake = ctypes.CDLL(os.environ["GPUMATH_DRIVER_PATH"])
fake.recorder_text.restype = ctypes.c_char_p
# What structs by value are given as: a MemLocation, and 64 bytes of a handle.
STRUCTS: dict[Any, Any] = {
    "location": (ctypes.c_int * 2)(7, 9),
    "handle": bytes([3, *[0] * 62, 5]),
}


def all_calls(calls: str) -> Any:
    """Call functions with their arguments, which are in a JSON file; return records and results."""
    result = {}
    for name, arguments in json.loads(Path(calls).read_text()).items():
        given = {key: STRUCTS.get(value, value) for key, value in arguments.items()}
        returned = getattr(driver, name)(**given)
        result[name] = [fake.recorder_text().decode(), returned]
    return result


def recorded(call: str) -> str:
    """Return what C saw of a call, which is written as Python."""
    eval(f"driver.{call}", {"ctypes": ctypes, "driver": driver})
    return str(fake.recorder_text().decode())


def refused(call: str) -> Any:
    """Return the text of what a call raises, and what C saw of it."""
    try:
        recorded(call)
    except (OverflowError, ValueError) as error:
        return str(error), fake.recorder_text().decode()


if __name__ == "__main__":
    main(globals())
