"""Searches for NVIDIA's libraries."""

from __future__ import annotations

import ctypes
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np

from gpumath.bindings import core
from tests.programs.support.entry import main


def import_opens_no_cuda_library() -> Any:
    maps = Path("/proc/self/maps").read_text()
    return [name for name in ("libcuda.so", "libcufft", "libcudart", "libnvrtc") if name in maps]


def has(*names: str) -> list[bool]:
    return [core.has(name) for name in names]


def has_refuses_names_that_do_not_exist(name: str) -> Any:
    try:
        core.has(name)
    except ValueError as error:
        result = str(error)
    return result


def missing() -> Any:
    return core.search_report()["missing"]


def found(name: str) -> Any:
    """Return path, version, origin and CUDA major of a library that is found."""
    return {
        library.name: [library.path, library.version, library.origin, library.cuda_major]
        for library in core.libraries()
    }.get(name)


def found_beside(name: str, loaded: str) -> Any:
    """Return what `found` does, in a process that holds a library already."""
    ctypes.CDLL(loaded)
    return found(name)


def places() -> Any:
    """Return path and version of each library that is found."""
    return {library.name: (library.path, library.version) for library in core.libraries()}


def threads_may_search_at_once() -> Any:

    barrier = Barrier(8)

    def search(number: Any) -> Any:
        barrier.wait()
        return core.has("cufft" if number % 2 else "driver")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(search, range(8)))
    return [answers[0::2], answers[1::2]]


def in_folder(folder: str, entries: list[str]) -> Any:
    """Return the CPU engine with a current directory, and with entries in sys.path."""
    os.chdir(folder)
    sys.path[:0] = entries
    core.search_report()
    return core.FftPlan(np.ones(4, np.complex64)).engine


if __name__ == "__main__":
    main(globals())
