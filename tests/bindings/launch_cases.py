"""What C reads of a kernel's arguments: code for a process where the recorder is the driver."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tests.helpers import recorder

BEFORE = """
import array, enum, struct
import numpy
from ctypes import *
from gpumath.bindings._core.pod import Field, StructArray

def sent(kernel_params, *sizes, extra=0, stream=0):
    '''Launch, and return what C read: the bytes of each argument in hexadecimal digits.'''
    recorder.recorder_kernel(len(sizes), (c_int * len(sizes))(*sizes))
    driver.launch_kernel(1, 1, 1, 1, 1, 1, 1, 0, stream, kernel_params, extra)
    return recorder.recorder_text().decode().split()[12:]

def refused(kernel_params, **more):
    recorder.recorder_text.restype = c_char_p
    driver.init(0)
    before = recorder.recorder_text()
    try:
        sent(kernel_params, **more)
    except Exception as error:
        assert recorder.recorder_text() == before, "C was called"
        return [type(error).__name__, str(error)]

class Pair(Structure):
    _fields_ = [("a", c_int), ("b", c_double)]
class Nested(Structure):
    _fields_ = [("tag", c_byte), ("pairs", Pair * 2), ("words", c_short * 5)]
class Tight(Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("tag", c_byte), ("x", c_double)]
class Either(Union):
    _fields_ = [("i", c_int64), ("d", c_double)]
class Color(enum.Enum):
    RED, HUGE, NAME = -7, 2**31, "x"
class Level(enum.IntEnum):
    HIGH = 9
class Mode(enum.IntFlag):
    A, B = 1, 2
class Vector(StructArray, size=16, alignment=8):
    __slots__ = ()
    a, b = Field("i32", 0), Field("f64", 8)
def vector(*items):
    made = Vector(len(items))
    for item, (made_a, made_b) in zip(made, items):
        item.a, item.b = made_a, made_b
    return made
class Own:
    '''Knows the address of its bytes.'''
    def __init__(self, value): self.kept = value
    ptr = property(lambda self: addressof(self.kept))
class Old(Own):
    ptr = None
    def getPtr(self): return addressof(self.kept)
"""


def run(library: Path, code: str) -> Any:
    """Run code behind BEFORE, and return the value of `result`."""
    return recorder.run(library, BEFORE + code)


def packed(format_: str, *values: object) -> str:
    """Return the bytes of C values, as hexadecimal digits."""
    return struct.pack(f"@{format_}", *values).hex()
