"""The table behind gpumath.h, called as C calls it, and the module that C++ makes of it."""

from __future__ import annotations

import ctypes
import importlib.util
from typing import Any

from gpumath.bindings import core

NAME = b"gpumath.bindings.core._C_API"
Text, Status = ctypes.c_char_p, ctypes.c_int


class Table(ctypes.Structure):
    _fields_ = [
        ("abi_version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("function", ctypes.CFUNCTYPE(Status, Text, ctypes.POINTER(ctypes.c_void_p))),
        ("has", ctypes.CFUNCTYPE(Status, Text, ctypes.POINTER(ctypes.c_int))),
        ("library_path", ctypes.CFUNCTYPE(Status, Text, ctypes.POINTER(Text))),
        ("library_version", ctypes.CFUNCTYPE(Status, Text, ctypes.POINTER(ctypes.c_int * 3))),
        ("last_error", ctypes.CFUNCTYPE(Text)),
    ]


get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.POINTER(Table), [ctypes.py_object, Text]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, Text, Text]
api = get_pointer(core._C_API, NAME).contents


def capsule_of(table: Table, name: bytes = NAME) -> Any:
    return new_capsule(ctypes.addressof(table), name, None)


def call(entry: str, name: bytes | None, result: Any) -> Any:
    return getattr(api, entry)(name, None if result is None else ctypes.byref(result))


def open_probe(library: str) -> Any:
    """Import the module that tests/helpers/c_abi_probe.cpp is compiled to."""
    spec = importlib.util.spec_from_file_location("c_abi_probe", library)
    assert spec is not None
    assert spec.loader is not None
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    return probe
