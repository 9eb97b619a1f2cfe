"""Arguments of kernels, and what C reads of them, where the recorder is the driver."""

from __future__ import annotations

import array
import ctypes
import enum
import struct
from ctypes import addressof, c_byte, c_double, c_int, c_int64, c_short
from typing import Any

import numpy

from gpumath.bindings import driver
from gpumath.bindings._core.pod import Field, StructArray
from tests.programs.support.recording import recorder


def sent(kernel_params: Any, *sizes: int, extra: Any = 0, stream: int = 0) -> list[str]:
    """Launch, and return what C read: the bytes of each argument in hexadecimal digits."""
    recorder.recorder_kernel(len(sizes), (c_int * len(sizes))(*sizes))
    driver.launch_kernel(1, 1, 1, 1, 1, 1, 1, 0, stream, kernel_params, extra)
    return recorder.recorder_text().decode().split()[12:]


def refused(kernel_params: Any, **more: Any) -> Any:
    """Return class and text of what a launch raises; None if it raises nothing."""
    driver.init(0)
    before = recorder.recorder_text()
    try:
        sent(kernel_params, **more)
    except Exception as error:
        assert recorder.recorder_text() == before, "C was called"
        return type(error).__name__, str(error)


class Pair(ctypes.Structure):
    _fields_ = [("a", c_int), ("b", c_double)]


class Nested(ctypes.Structure):
    _fields_ = [("tag", c_byte), ("pairs", Pair * 2), ("words", c_short * 5)]


class Tight(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("tag", c_byte), ("x", c_double)]


class Either(ctypes.Union):
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


def vector(*items: tuple[int, float]) -> Vector:
    made = Vector(len(items))
    for item, (made_a, made_b) in zip(made, items, strict=True):
        item.a, item.b = made_a, made_b
    return made


class Own:
    """Knows the address of its bytes."""

    def __init__(self, value: Any) -> None:
        self.kept = value

    ptr = property(lambda self: addressof(self.kept))


class Old(Own):
    """Like `Own`, but tells the address as older classes do."""

    ptr = None

    def getPtr(self) -> int:  # noqa: N802 - the name that gpumath looks for
        return addressof(self.kept)


class Bad:
    def __index__(self) -> int:
        return 1 // 0

    @property
    def ptr(self) -> int:
        return 1 // 0


# Three arguments of a kernel, and where they are.
kept = c_int(5), c_double(2.5), Pair(6, 7.5)
addresses = (ctypes.c_void_p * 3)(*map(addressof, kept))

# What the expressions of the tests may name.
NAMES: dict[str, Any] = {
    **vars(ctypes),
    "array": array,
    "ctypes": ctypes,
    "numpy": numpy,
    "struct": struct,
    "Pair": Pair,
    "Nested": Nested,
    "Tight": Tight,
    "Either": Either,
    "Color": Color,
    "Level": Level,
    "Mode": Mode,
    "vector": vector,
    "Own": Own,
    "Old": Old,
    "Bad": Bad,
    "kept": kept[0],
    "addresses": addresses,
    "device": type("MemoryPointer", (), {"ptr": 1, "device_id": 0})(),
    "tensor": type("Tensor", (), {"__cuda_array_interface__": {}, "__int__": lambda self: 3})(),
}


def value_of(expression: str) -> Any:
    """Evaluate an expression of a test."""
    return eval(expression, NAMES)
