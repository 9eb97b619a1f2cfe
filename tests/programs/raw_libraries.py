"""NVIDIA's libraries by raw C calls, in a process that gpumath is not imported in.

A library that the tests' own process holds would decide its later searches.
"""

from __future__ import annotations

import ctypes

from tests.programs.support.entry import main


def cufft_version(file: str) -> str:
    library = ctypes.CDLL(file)
    numbers = (ctypes.c_int * 3)()
    assert not any(library.cufftGetProperty(i, ctypes.byref(numbers, 4 * i)) for i in range(3))
    return ".".join(map(str, numbers))


def exports(file: str, symbols: list[str], needs: str | None) -> list[bool]:
    ctypes.CDLL(needs)
    library = ctypes.CDLL(file)
    return [hasattr(library, symbol) for symbol in symbols]


if __name__ == "__main__":
    main(globals())
