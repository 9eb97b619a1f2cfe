"""The C ABI's table, for code that runs in a fresh process."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from gpumath.bindings import core

PROBE = Path(__file__).with_name("c_abi_probe.cpp")

# Statements that make `api` (the table), `capsule_of(table)` and `call(entry, name, result)`.
OPEN_TABLE = """
import ctypes, threading

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

def capsule_of(table, name=NAME):
    return new_capsule(ctypes.addressof(table), name, None)

def call(entry, name, result):
    return getattr(api, entry)(name, None if result is None else ctypes.byref(result))
"""


def open_probe(library: Path) -> str:
    """Return statements that import the probe as `probe`."""
    return f"""
import importlib.util
spec = importlib.util.spec_from_file_location("c_abi_probe", {str(library)!r})
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
"""


def require_compiler(name: str) -> str:
    """Return the path of a C or C++ compiler that finds Python's headers, or skip."""
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"there is no compiler named {name}")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        pytest.skip(f"Python's headers are not in {sysconfig.get_path('include')}")
    return compiler


def build_probe(folder: Path) -> Path:
    """Compile the probe with every warning an error, or skip."""
    library = folder / "c_abi_probe.so"
    includes = [f"-I{core.get_include()}", f"-I{sysconfig.get_path('include')}"]
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wno-cast-function-type", "-Werror"]
    command = [require_compiler("c++"), *flags, "-shared", "-fPIC", "-pthread", *includes]
    subprocess.run([*command, "-o", str(library), str(PROBE)], check=True)
    return library
