"""Kernels of numba-cuda-mlir without a GPU: what they can use, and what they cannot."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import errors, mathdx, nvrtc
from gpumath.bindings.nvjitlink import InputType
from tests.helpers.compiler import kernels, linked


@pytest.fixture(scope="module")
def compiled() -> Callable[[Any], bytes]:
    """Return what compiles a kernel with an array of complex numbers to LTO-IR, for an H200."""
    pytest.importorskip("numba_cuda_mlir", reason="numba-cuda-mlir is not installed")
    pytest.importorskip("cffi", reason="cffi is not installed")
    try:
        mathdx.get_version(), nvrtc.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    cuda = importlib.import_module("numba_cuda_mlir.cuda")
    types = importlib.import_module("numba_cuda_mlir.numba_cuda.types")
    tools = importlib.import_module("numba_cuda_mlir.tools")

    def compile_kernel(kernel: Any) -> bytes:
        options = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ltoir"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tools, "_cached_cc", (9, 0))  # as if there were a GPU
            code, _ = cuda.compile(kernel, types.void(types.complex64[::1]), **options)
        return bytes(code)

    return compile_kernel


def test_a_transform(compiled: Callable[[Any], bytes]) -> None:
    cuda = importlib.import_module("numba_cuda_mlir.cuda")
    device = importlib.import_module("gpumath.device")
    fft = device.FFT(8, np.float32, "c2c", "Thread", direction="forward", sm=90)

    def kernel(out: Any) -> None:
        data = cuda.local.array(shape=(fft.storage_size,), dtype=np.complex64)
        for i in range(fft.size):
            data[i] = out[i]
        fft.execute(data)
        for i in range(fft.size):
            out[i] = data[i]

    pieces = [compiled(kernel), fft._code("register_memory").ltoir]
    cubin = linked([(InputType.LTOIR, piece) for piece in pieces], "-arch=sm_90", "-lto")
    assert len(kernels(cubin)) == 1


def test_refusals(compiled: Callable[[Any], bytes]) -> None:
    from gpumath import device
    from gpumath.device import make_tensor, shared_array
    from gpumath.device.random import uniform

    rows = ("row_major",) * 3
    matmul = device.Matmul((8, 8, 8), np.float32, "real", sm=90, arrangement=rows, block_size=32)
    solver = device.Solver("getrf_no_pivot", (8,), np.float32, "Block", sm=90)

    def accumulator(out: Any) -> None:
        matmul.suggest_accumulator()

    def tensor(out: Any) -> None:
        make_tensor(out, 1)

    def memory(out: Any) -> None:
        shared_array(8, np.float32)

    def equations(out: Any) -> None:
        solver.execute(out, out)

    def numbers(out: Any) -> None:
        uniform(out)

    for kernel, name in (
        *((accumulator, "Matmul.suggest_accumulator"), (tensor, "make_tensor")),
        *((memory, "shared_array"), (equations, "Solver"), (numbers, "uniform")),
    ):
        with pytest.raises(Exception, match=f"{name} is not in kernels of numba-cuda-mlir"):
            compiled(kernel)
