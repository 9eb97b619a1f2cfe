"""Callbacks that call a device function of their own, whose name Numba makes."""

from __future__ import annotations

from typing import Any

from numba import cuda

from gpumath import fft
from tests.programs.support.entry import main


def helper_of(factor: float) -> Any:
    @cuda.jit(device=True, inline="never")
    def helper(x):
        return x * factor if x != 0 else x

    return helper


def prolog(data, offset, info, _):
    return helper(data[offset])


def epilog(data, offset, value, info, _):
    data[offset] = helper(value)


def compiled(phase: str, factor: float) -> str:
    """Return the code of a phase in hexadecimal digits."""
    global helper
    helper = helper_of(factor)
    if phase == "prolog":
        return fft.compile_prolog(prolog, "complex64", "float32").hex()
    return fft.compile_epilog(epilog, "complex64", "float32").hex()


if __name__ == "__main__":
    main(globals())
