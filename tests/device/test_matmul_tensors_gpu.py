"""Tensors and accumulators of matrix products inside kernels on a GPU, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from tests.helpers.callbacks import require_numba

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
ARRANGEMENT = ("row_major", "col_major", "row_major")


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    require_numba()


def matrices(m: int, n: int, k: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a, b and c as they are multiplied."""
    a, b, c = (RNG.uniform(-1, 1, shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
    return a, b, c


def error_of(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize(
    ("precision", "size", "tolerance"),
    [
        (np.float64, (24, 20, 12), 1e-14),  # not a multiple of what the threads hold
        (device.Precision(np.float16, np.float16, np.float32), (64, 64, 64), 1e-3),
    ],
)
def test_an_accumulator(precision: Any, size: Any, tolerance: float) -> None:
    from numba import cuda

    from gpumath.device import axpby, copy, copy_wait, make_tensor

    m, n, k = size
    product = device.Matmul(size, precision, "real", arrangement=ARRANGEMENT, block_dim=(128, 1, 1))
    device.precompile((product, "suggested_accumulator"))
    spans = (product.suggest_layout_smem_a().cosize, product.suggest_layout_smem_b().cosize)

    @cuda.jit
    def kernel(a: Any, b: Any, c: Any, positions: Any, lda: Any) -> None:
        array_a = cuda.shared.array(shape=spans[0], dtype=product.a_value_type, alignment=16)
        array_b = cuda.shared.array(shape=spans[1], dtype=product.b_value_type, alignment=16)
        shared_a = make_tensor(array_a, product.suggest_layout_smem_a())
        shared_b = make_tensor(array_b, product.suggest_layout_smem_b())
        copy(make_tensor(a, product.get_layout_gmem_a(lda)), shared_a)
        copy(make_tensor(b, product.get_layout_gmem_b()), shared_b)
        copy_wait()
        accumulator = product.suggest_accumulator()
        product.execute(shared_a, shared_b, accumulator)
        product.execute(shared_a, shared_b, accumulator)
        old = accumulator.make_partition_and_copy(make_tensor(c, product.get_layout_gmem_c()))
        results = accumulator.get_results()
        axpby(1.5, results, -2, old)
        accumulator.partition_and_copy(old, make_tensor(c, product.get_layout_gmem_c()))
        if accumulator.is_thread_active():
            for i in range(accumulator.size()):
                if not accumulator.is_predicated() or accumulator.is_index_in_bounds(i):
                    row, column = accumulator.map_fragment_index(i)
                    positions[row, column] = results[i]

    a, b, c = matrices(m, n, k, np.float64)
    a, b, c = (x.astype(p) for x, p in zip((a, b, c), product.precision, strict=True))
    wide = np.zeros((m, k + 8), a.dtype)
    wide[:, :k] = a
    c_gpu, positions = cuda.to_device(c.ravel()), cuda.to_device(np.zeros((m, n)))
    kernel[1, 128](wide.ravel(), np.ascontiguousarray(b.T).ravel(), c_gpu, positions, k + 8)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    wanted = 1.5 * 2 * exact - 2 * c.astype(np.float64)
    assert error_of(positions.copy_to_host(), 2 * exact) < tolerance
    assert error_of(c_gpu.copy_to_host().reshape(m, n), wanted) < tolerance


def test_storing_an_accumulator_and_axpby() -> None:
    from numba import cuda

    from gpumath.device import copy, copy_wait, make_tensor

    size = (32, 16, 24)
    product = device.Matmul(size, np.float32, "real", arrangement=ARRANGEMENT, block_dim=(64, 1, 1))

    device.precompile((product, "accumulator"))

    @cuda.jit
    def kernel(a: Any, b: Any, stored: Any, c: Any) -> None:
        array_a = cuda.shared.array(shape=product.a_size, dtype=np.float32, alignment=16)
        array_b = cuda.shared.array(shape=product.b_size, dtype=np.float32, alignment=16)
        shared_a = make_tensor(array_a, product.get_layout_smem_a())
        shared_b = make_tensor(array_b, product.get_layout_smem_b())
        copy(make_tensor(a, product.get_layout_gmem_a()), shared_a)
        copy(make_tensor(b, product.get_layout_gmem_b()), shared_b)
        copy_wait()
        accumulator = product.get_accumulator()
        product.execute(shared_a, shared_b, accumulator)
        accumulator.partition_and_store(make_tensor(stored, product.get_layout_gmem_c()))
        accumulator.axpby(0.5, 3, make_tensor(c, product.get_layout_gmem_c()))

    a, b, c = matrices(*size, np.float32)
    stored, c_gpu = cuda.to_device(np.zeros(c.size, np.float32)), cuda.to_device(c.ravel())
    kernel[1, 64](a.ravel(), np.ascontiguousarray(b.T).ravel(), stored, c_gpu)
    exact = a.astype(np.float64) @ b
    assert error_of(stored.copy_to_host().reshape(c.shape), exact) < 1e-5
    assert error_of(c_gpu.copy_to_host().reshape(c.shape), 0.5 * exact + 3 * c) < 1e-5


def test_tensors_in_shared_memory() -> None:
    from numba import cuda

    from gpumath.device import copy, copy_wait, make_tensor

    size = (16, 24, 32)
    product = device.Matmul(size, np.float64, "real", arrangement=ARRANGEMENT, block_dim=(64, 1, 1))

    @cuda.jit
    def kernel(a: Any, b: Any, c: Any) -> None:
        array_a = cuda.shared.array(shape=product.a_size, dtype=np.float64, alignment=16)
        array_b = cuda.shared.array(shape=product.b_size, dtype=np.float64, alignment=16)
        array_c = cuda.shared.array(shape=product.c_size, dtype=np.float64, alignment=16)
        shared_a = make_tensor(array_a, product.get_layout_smem_a())
        shared_b = make_tensor(array_b, product.get_layout_smem_b())
        shared_c = make_tensor(array_c, product.get_layout_smem_c())
        copy(make_tensor(a, product.get_layout_gmem_a()), shared_a)
        copy(make_tensor(b, product.get_layout_gmem_b()), shared_b)
        for i in range(cuda.threadIdx.x, product.c_size, product.block_size):
            array_c[i] = 0
        copy_wait()
        product.execute(0.5, shared_a, shared_b, 1, shared_c)
        cuda.syncthreads()
        copy(shared_c, make_tensor(c, product.get_layout_gmem_c()))
        copy_wait()

    a, b, c = matrices(*size, np.float64)
    c_gpu = cuda.to_device(c.ravel())
    kernel[1, 64](a.ravel(), np.ascontiguousarray(b.T).ravel(), c_gpu)
    assert error_of(c_gpu.copy_to_host().reshape(c.shape), 0.5 * a @ b) < 1e-14
