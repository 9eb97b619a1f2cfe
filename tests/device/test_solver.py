"""Solvers of `gpumath.device` without a GPU: what they are, what is refused, and their code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx, nvrtc
from gpumath.bindings.nvjitlink import InputType
from gpumath.device import _solver
from gpumath.device._solver_functions import FUNCTIONS
from tests.helpers.callbacks import require_numba
from tests.helpers.compiler import compiled, kernels, linked
from tests.helpers.numba_kernels import cubin_of


@pytest.fixture(autouse=True)
def libmathdx() -> None:
    """Skip without libmathdx."""
    try:
        mathdx.get_version_ex()
    except errors.LibraryNotFoundError:
        pytest.skip("libmathdx is not installed")


def solver(function: str, size: tuple[int, ...] = (8, 8, 2), **options: Any) -> device.Solver:
    choice = {"fill_mode": "lower", "side": "left", "diag": "unit"}
    described = FUNCTIONS[function]
    needed = {name: choice[name] for name in described.required if name in choice}
    if described.jobs:
        needed["job"] = described.jobs[-1]
    return device.Solver(function, size, np.float32, "Block", **{"sm": 90, **needed, **options})


# What the functions of LAPACK with these names take, and whether they tell if they succeed.
@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments(function: str) -> None:
    described = solver(function)
    is_told = function.startswith(("potrf", "posv", "getrf", "gesv", "gtsv", "htev", "heev"))
    assert ("info" in described.arguments) == is_told
    with_dimensions = described._parameters("runtime_leading_dim")
    matrices = [name for name in described.arguments if name in ("a", "b", "c", "v")]
    assert [name for name in with_dimensions if name.startswith("ld")] == [
        f"ld{matrix}" for matrix in matrices
    ]


def test_attributes() -> None:
    described = device.Solver(
        "trsm",
        (8, 3),
        np.float64,
        "Block",
        sm=device.ComputeCapability(8, 0),
        arrangement=["row_major"],
        side="right",
        diag="unit",
        fill_mode="upper",
        data_type="complex",
        leading_dimensions=[5],
        batches_per_block=4,
        block_dim=[32, 2],
    )
    assert described.size == (8, 3, 1)
    assert (described.m, described.n, described.k) == (8, 3, 1)
    assert described.arrangement == ("row_major", "col_major")
    assert (described.lda, described.ldb) == (5, 8)
    assert described.value_type is described.tau_type is device.complex128
    assert described.info_type is described.ipiv_type is np.int32
    assert described.block_dim == (32, 2, 1)
    assert described.block_size == 64
    assert described.batches_per_block == 4
    assert (described.side, described.diag, described.fill_mode) == ("right", "unit", "upper")
    assert described.transpose_mode is described.job is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: solver("potrf", fill_mode="full"), "fill_mode is 'full'; one of 'upper', 'lower'"),
        (lambda: solver("potrf", fill_mode=None), "fill_mode is needed for 'potrf'"),
        (lambda: solver("geqrf", side="left"), "side is given, but 'geqrf' has none"),
        (lambda: solver("geqrf", transpose_mode="transposed"), "one of 'non_transposed'"),
        (
            lambda: solver("gels", transpose_mode="conj_transposed"),
            "cuSOLVERDx does not have for real numbers",
        ),
        (
            lambda: solver("gels", transpose_mode="transposed", data_type="complex"),
            "cuSOLVERDx does not have for complex numbers",
        ),
        (lambda: solver("htev", job="overwrite_vectors"), "one of 'no_vectors', 'all_vectors'"),
        (lambda: solver("geqrf", (8, 0)), r"size\[1\] is 0; a positive integer is needed"),
        (lambda: solver("geqrf", (8, 8, 8, 8)), "a sequence of 1 to 3 positive integers"),
        (
            lambda: solver("geqrf", 8),  # type: ignore[arg-type]
            "a sequence of 1 to 3 positive integers",
        ),
        (lambda: solver("geqrf", sm=60), "libmathdx supports the compute capabilities 7.0"),
        (lambda: solver("geqrf", leading_dimensions=[7]), "lda=7; at least 8 is needed"),
        (lambda: solver("posv", leading_dimensions=[8, 9, 9]), "a sequence of 1 or 2"),
        (lambda: solver("posv", arrangement=["diagonal"]), "arrangement is 'diagonal'"),
        (lambda: solver("posv", block_dim="best"), "block_dim is 'best'"),
        (lambda: solver("posv", block_dim=(64, 32)), "at most 1024 threads"),
        (lambda: solver("posv", batches_per_block=0), "batches_per_block is 0"),
        (lambda: solver("posv", batches_per_block=2**32), "at most 4294967295"),
        (lambda: solver("posv", data_type="quaternion"), "data_type is 'quaternion'"),
        (
            lambda: device.Solver("inverse", (8,), np.float32, "Block", sm=90),
            "function is 'inverse'; one of 'potrf'",
        ),
        (
            lambda: device.Solver("geqrf", (8,), np.float16, "Block", sm=90),
            "precision is .*float16.*; one of float32, float64 is needed",
        ),
        (
            lambda: device.Solver(
                "geqrf",
                (8,),
                np.float32,
                "Thread",  # type: ignore[arg-type]
                sm=90,
            ),
            "execution is 'Thread'; one of 'Block'",
        ),
        (
            lambda: device.CholeskySolver((8, 7), np.float32, "Block", "lower", sm=90),
            "needs a square matrix",
        ),
        (
            lambda: device.compile_solver_execute(
                solver("htev", job="no_vectors"), ("lto", (9, 0)), "runtime_leading_dim"
            ),
            "execution_api is 'runtime_leading_dim'; one of 'compiled_leading_dim' is needed",
        ),
        (
            lambda: device.LUSolver((8,), np.float32, "Block", sm=90).b_strides(ldb=7),
            "ldb is 7; at least 8 is needed",
        ),
        (
            lambda: device.LUSolver(
                (8,),
                np.float32,
                "Block",
                transpose_mode="no",  # type: ignore[arg-type]
                sm=90,
            ),
            "transpose_mode is 'no'",
        ),
    ],
)
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_compiler_that_may_miscompile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solver, "_MISCOMPILING", (nvrtc.version(),))
    with pytest.raises(ValueError, match="update NVRTC, or use 'gesv_partial_pivot'"):
        solver("gesv_no_pivot", sm=120)
    assert solver("gesv_no_pivot", sm=120, data_type="complex")


def test_methods_are_for_kernels() -> None:
    with pytest.raises(RuntimeError, match=r"Solver\.execute is called inside kernels"):
        solver("geqrf").execute()
    cholesky = device.CholeskySolver((4,), np.float32, "Block", "upper", sm=90)
    with pytest.raises(RuntimeError, match=r"CholeskySolver\.solve is called inside kernels"):
        cholesky.solve(None, None)


def test_raw_code_is_linked_with_cuda_cpp() -> None:
    described = solver("gesv_partial_pivot", data_type="complex")
    api = "runtime_leading_dim"
    code, symbol = device.compile_solver_execute(described, ("lto", (9, 0)), api)
    assert code.code_type == device.CodeType("lto", device.ComputeCapability(9, 0))
    kernel = f"""
    extern "C" __device__ void {symbol}(
        float2 *a, unsigned *lda, int *ipiv, float2 *b, unsigned *ldb, int *info);
    extern "C" __global__ void kernel(float2 *a, int *ipiv, float2 *b, int *info)
    {{
        unsigned ld = 8;
        {symbol}(a, &ld, ipiv, b, &ld, info);
    }}
    """
    ltoir = compiled(kernel, "-arch=compute_90", "-rdc=true", "-dlto", kind="ltoir")
    inputs = [
        (InputType.LTOIR, ltoir),
        (InputType.LTOIR, code.data),
        (InputType.FATBIN, device.solver_fatbin()),
    ]
    assert "kernel" in kernels(linked(inputs, "-lto", "-arch=sm_90"))


def test_kernels() -> None:
    require_numba()
    from numba import cuda
    from numba.core.errors import NumbaError
    from numba.cuda import types

    lu = device.LUPivotSolver((8, 8, 3), np.float32, "Block", data_type="complex", sm=90)
    wide = device.LUSolver((4, 8), np.float32, "Block", sm=90)
    qr = solver("geqrf")
    size = lu.a_size()

    def factorize_and_solve(a: Any, ipiv: Any, info: Any, b: Any, strides: Any) -> None:
        shared = cuda.shared.array(size, lu.value_type)
        for i in range(cuda.threadIdx.x, size, lu.block_size):
            shared[i] = a[i]
        cuda.syncthreads()
        lu.factorize(shared, ipiv, info)
        lu.solve(shared, ipiv, b, lu.lda, ldb=9)
        strides[0], strides[1], strides[2] = lu.b_strides(ldb=9)

    complex_array, integers = types.complex64[::1], types.int32[::1]
    signature = (complex_array, integers, integers, complex_array, types.int64[::1])
    assert cubin_of(factorize_and_solve, signature)[:4] == b"\x7fELF"

    def lose_info(a: Any) -> None:
        lu.factorize(a, a)

    def wrong_type(a: Any) -> None:
        qr.execute(a, a)

    def wrong_count(a: Any) -> None:
        qr.execute(a)

    def one_dimension(a: Any) -> None:
        lu.solve(a, a, a, 8)

    def not_square(a: Any) -> None:
        wide.solve(a, a)

    for kernel, message in [
        (lose_info, "missing a required argument"),
        (wrong_type, r"a of execute of Solver\('geqrf'.*an array of float32 is needed"),
        (wrong_count, r"it is execute\(a, tau\) or execute\(a, lda, tau\)"),
        (one_dimension, r"\['lda'\] alone; \['lda', 'ldb'\] go together"),
        (not_square, "needs a square matrix, and A is 4 x 8"),
    ]:
        with pytest.raises(NumbaError, match=message):
            cubin_of(kernel, (complex_array,))
