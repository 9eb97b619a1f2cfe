"""Arrays at constant offsets of dynamic shared memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.device import SharedStorageCalc, shared_array
from tests.helpers.callbacks import require_numba


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    require_numba()


def compiled(kernel: Any) -> str:
    from numba import cuda
    from numba.cuda import types

    options: dict[str, Any] = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ptx"}
    codes, _ = cuda.compile_all(kernel, types.void(types.float32[::1]), **options)
    return "".join(code for code in codes if isinstance(code, str))


def test_addresses_are_constants() -> None:
    def kernel(out: Any) -> None:
        numbers = shared_array((3, 5), np.float32)
        pairs = shared_array(7, np.complex128, 64)
        numbers[2, 4] = out[0]
        pairs[6] = complex(out[1], out[2])
        out[3] = numbers.size + numbers.shape[1] + pairs.shape[0]

    ptx = compiled(kernel)
    assert "dynamic_smem_size" not in ptx
    assert re.search(r"\.extern \.shared \.align 128 \.b8 gpumath_dynamic_shared_memory\[\]", ptx)
    stores = set(re.findall(r"\[gpumath_dynamic_shared_memory\+(\d+)\]", ptx))
    assert {str(4 * 14), str(64 + 16 * 6)} <= stores


@pytest.mark.parametrize(
    ("shape", "dtype", "offset", "message"),
    [
        (0, np.float32, 0, "extents of at least 1"),
        ((4, -1), np.float32, 0, "extents of at least 1"),
        (4, np.float32, -4, "offset of at least 0"),
        (4, np.float64, 12, "elements of 8 bytes; a multiple of the size"),
        (4, None, 0, "a type of numbers is needed"),
    ],
)
def test_refusals(shape: Any, dtype: Any, offset: int, message: str) -> None:
    from numba.core.errors import NumbaError

    def kernel(out: Any) -> None:
        shared_array(shape, dtype, offset)[0] = out[0]

    with pytest.raises(NumbaError, match=message):
        compiled(kernel)


def test_what_is_no_constant_is_refused() -> None:
    from numba.core.errors import NumbaError

    def kernel(out: Any) -> None:
        out[0] = shared_array(len(out), np.float32)[0]

    with pytest.raises(NumbaError, match=r"shape of shared_array is .*constants are needed"):
        compiled(kernel)
    with pytest.raises(RuntimeError, match="shared_array is called inside kernels"):
        shared_array(4, np.float32)


def test_offsets() -> None:
    storage = SharedStorageCalc()
    assert [storage.add(16, 2, 7), storage.add(8, 3), storage.add(16, 1)] == [0, 16, 32]
    assert storage.get() == 33


@pytest.mark.gpu
def test_a_product_of_more_than_48_kb() -> None:
    from numba import cuda

    m, n, k = 72, 88, 96
    by_rows = ("row_major", "row_major", "row_major")
    product = device.Matmul(
        *((m, n, k), np.float32, "real"), arrangement=by_rows, alignment=(16, 16, 16)
    )
    spans = product.a_size, product.b_size, product.c_size
    storage = SharedStorageCalc()
    before_a, before_b, before_c = (storage.add(16, 4, span) for span in spans)
    assert storage.get() == product.get_shared_storage_size() > 48 << 10

    @cuda.jit
    def multiply(a: Any, b: Any, c: Any) -> None:
        shared_a = shared_array((m, k), np.float32, before_a)
        shared_b = shared_array(spans[1], np.float32, before_b)
        shared_c = shared_array((m, n), np.float32, before_c)
        for i in range(cuda.threadIdx.x, m * k, product.block_size):
            shared_a[i // k, i % k] = a[i // k, i % k]
        for i in range(cuda.threadIdx.x, k * n, product.block_size):
            shared_b[i] = b[i // n, i % n]
        for i in range(cuda.threadIdx.x, m * n, product.block_size):
            shared_c[i // n, i % n] = c[i // n, i % n]
        cuda.syncthreads()
        product.execute(1.5, shared_a, shared_b, -0.5, shared_c)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, m * n, product.block_size):
            c[i // n, i % n] = shared_c[i // n, i % n]

    rng = np.random.default_rng()
    a, b, c = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    wanted = 1.5 * (a.astype(float) @ b) - 0.5 * c
    got = c.copy()
    multiply[1, tuple(product.block_dim), 0, storage.get()](a, b, got)
    assert np.linalg.norm(got - wanted) <= 1e-5 * np.linalg.norm(wanted)
