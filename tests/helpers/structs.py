"""Struct classes for tests, and the same as `ctypes` structures."""

from __future__ import annotations

import ctypes

from gpumath.bindings._core.pod import Field, StructArray


class Point(StructArray, size=12, alignment=4):
    """A small struct, which other structs hold."""

    __slots__ = ()
    x = Field("f32", 0)
    y = Field("i32", 4)
    tag = Field("u8", 8)


class Shape(StructArray, size=56, alignment=8):
    """A bit of everything: padding, nesting, arrays, text, and members of a union."""

    __slots__ = ()
    kind = Field("i32", 0)
    corners = Field(Point, 4, 2)
    weight = Field("f64", 32)
    name = Field("text", 40, 8)
    data = Field("u8", 48, 8)
    data_address = Field("u64", 48)
    data_pair = Field("i32", 48, 2)


class CPoint(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int32), ("tag", ctypes.c_uint8)]


class CShape(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("corners", CPoint * 2),
        ("weight", ctypes.c_double),
        ("name", ctypes.c_char * 8),
        ("data", ctypes.c_uint8 * 8),
    ]
