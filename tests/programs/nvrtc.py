"""NVRTC in a process of its own."""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any

from gpumath.bindings import core, nvrtc
from tests.programs.support.entry import main


def version_and_architectures_are_those_of_the_library(file: str) -> Any:
    raw = ctypes.CDLL(file)
    major, minor, count = (ctypes.c_int() for _ in range(3))
    assert raw.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    assert raw.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    archs = (ctypes.c_int * count.value)()
    assert raw.nvrtcGetSupportedArchs(archs) == 0
    return [[major.value, minor.value], list(archs)]


def builtins_beside_the_library_are_there_before_it_compiles() -> Any:
    major, minor = nvrtc.version()
    (path,) = (library.path for library in core.libraries() if library.name == "nvrtc")
    builtins = pathlib.Path(path).parent / f"libnvrtc-builtins.so.{major}.{minor}"
    mapped = pathlib.Path("/proc/self/maps").read_text()
    return [builtins.exists(), builtins.name in mapped]


if __name__ == "__main__":
    main(globals())
