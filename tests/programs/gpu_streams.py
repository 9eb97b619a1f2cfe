"""CuPy without what gpumath calls inside it."""

from __future__ import annotations

import cupy
import cupy_backends.cuda.stream

from gpumath import fft
from gpumath.bindings import core
from tests.programs.support.entry import main


def short_ways_of_cupy(without: bool) -> None:
    if without:
        # As in a CuPy that has none of what gpumath calls inside it.
        cupy_backends.cuda.stream.__pyx_capi__.clear()
        cupy.ndarray = type("ndarray", (cupy.ndarray,), {})
    x = cupy.ones((4, 256), "complex64")
    assert core.current_stream(x) == cupy.cuda.Stream.null.ptr
    with cupy.cuda.Stream(non_blocking=True) as stream:
        assert core.current_stream(x) == stream.ptr
        for operand in x, x.T:
            result = fft.fft(operand, axes=[1])
            assert type(result) is cupy.ndarray
            assert cupy.allclose(result, cupy.fft.fft(operand, axis=1))
    assert core.current_stream(x) == cupy.cuda.Stream.null.ptr


if __name__ == "__main__":
    main(globals())
