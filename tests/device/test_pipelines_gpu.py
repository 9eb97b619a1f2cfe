"""Products of large matrices by pipelines on a GPU, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import nvrtc
from gpumath.device import Precision
from tests.helpers.callbacks import require_numba

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
ROWS, COLUMNS = "row_major", "col_major"


@pytest.fixture(scope="module", autouse=True)
def _compilers() -> None:
    require_numba()
    if nvrtc.version() < (13, 0):
        pytest.skip("NVRTC 13.0 is not there")


def product(size: Any, precision: Any, arrangement: Any, threads: int, **more: Any) -> Any:
    return device.Matmul(
        *(size, precision, more.pop("data_type", "real")),
        arrangement=arrangement,
        alignment=(16, 16, 16),
        block_dim=(threads, 1, 1),
        with_pipeline=True,
        enable_input_streaming=True,
        **more,
    )


def random(shape: Any, dtype: Any, arrangement: str = ROWS) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        values = RNG.integers(0, 9, shape)
    else:
        values = RNG.uniform(-1, 1, shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * RNG.uniform(-1, 1, shape)
    return np.asarray(values, dtype, order="C" if arrangement == ROWS else "F")


class BatchLast:
    """A view of an array of three dimensions whose first one is last."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        changes = {
            name: (*numbers[1:], numbers[0])
            for name, numbers in (("shape", self.array.shape), ("strides", self.array.strides))
        }
        return self.array.__cuda_array_interface__ | changes


def error_of(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize(
    ("size", "precision", "arrangement", "threads", "strategy", "depth", "tolerance"),
    [
        ((128, 128, 64), (np.float16, np.float16, np.float32), "rcr", 256, "heuristic", 3, 1e-5),
        ((64, 64, 32), (np.float16, np.float16, np.float32), "crr", 128, "fixed", 2, 1e-5),
        ((16, 16, 16), (np.float64,) * 3, "rcr", 128, "fixed", 2, 1e-14),  # more threads than work
        ((32, 64, 16), (np.float32,) * 3, "rrc", 64, "fixed", 0, 1e-5),
        ((64, 128, 64), (np.int8, np.int8, np.int32), "rcr", 128, "heuristic", 4, 0),
    ],
)
def test_a_product(
    size: Any,
    precision: Any,
    arrangement: str,
    threads: int,
    strategy: Any,
    depth: int,
    tolerance: float,
) -> None:
    from numba import cuda

    from gpumath.device import make_tensor

    m, n, k = size
    names = tuple({"r": ROWS, "c": COLUMNS}[letter] for letter in arrangement)
    matmul = product(size, Precision(*precision), names, threads)
    rows, columns, inner = 2 * m, 3 * n, 6 * k
    a = random((rows, inner), precision[0], names[0])
    b = random((inner, columns), precision[1], names[1])
    c = random((rows, columns), precision[2], names[2])
    a_gpu, b_gpu, c_gpu = map(cuda.to_device, (a, b, c))
    pipeline = matmul.suggest_device_pipeline(depth, a_gpu, b_gpu, block_size_strategy=strategy)
    assert pipeline.block_dim >= matmul.block_dim
    lines = columns if names[2] == ROWS else rows

    @cuda.jit(extensions=device.pipeline_extensions, launch_bounds=(pipeline.block_dim.x, 1))
    def multiply(c: Any, pipeline: Any) -> None:
        shared = cuda.shared.array(0, np.byte, alignment=pipeline.buffer_alignment)
        row, column = cuda.blockIdx.x, cuda.blockIdx.y
        tile = pipeline.get_tile(shared, row, column)
        accumulator = matmul.suggest_accumulator()
        tile.execute(accumulator)
        c_tile = make_tensor(c[row * m :, column * n :], matmul.get_layout_gmem_c(lines))
        accumulator.partition_and_store(c_tile)
        tile._del()

    multiply[(2, 3), pipeline.block_dim, 0, pipeline.buffer_size](c_gpu, pipeline)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert error_of(c_gpu.copy_to_host(), exact) <= tolerance


def test_the_epilogue_of_nvmath() -> None:
    from numba import cuda

    from gpumath.device import axpby, make_tensor

    m, n, k = 128, 128, 32
    matmul = product(
        (m, n, k), Precision(np.float16, np.float16, np.float32), (ROWS, COLUMNS, ROWS), 128
    )
    a, b = random((2 * m, 4 * k), np.float16), random((4 * k, n), np.float16, COLUMNS)
    c = random((2 * m, n), np.float32)

    @cuda.jit(extensions=device.pipeline_extensions, launch_bounds=[128, 1])
    def multiply(alpha: Any, beta: Any, c: Any, device_pipeline: Any) -> None:
        smem = cuda.shared.array(
            shape=(0,), dtype=np.byte, alignment=device_pipeline.buffer_alignment
        )
        block = cuda.blockIdx
        c_tile = c[block.x * m : (block.x + 1) * m, block.y * n : (block.y + 1) * n]
        gmem_c = make_tensor(c_tile, matmul.get_layout_gmem_c(n))
        tile_pipeline = device_pipeline.get_tile(smem, block.x, block.y)
        accumulator = matmul.suggest_accumulator()
        tile_pipeline.execute(accumulator)
        if accumulator.is_thread_active():
            d_frag = accumulator.make_partition_and_copy(gmem_c)
            axpby(alpha, accumulator.get_results(), beta, d_frag)
            accumulator.partition_and_copy(d_frag, gmem_c)
        tile_pipeline._del()

    a_gpu, b_gpu, c_gpu = map(cuda.to_device, (a, b, c))
    pipeline = matmul.suggest_device_pipeline(2, a_gpu, b_gpu)
    assert pipeline.block_dim == (128, 1, 1)
    multiply[(2, 1), pipeline.block_dim, 0, pipeline.buffer_size](2.0, 3.0, c_gpu, pipeline)
    wanted = 2 * (a.astype(np.float64) @ b.astype(np.float64)) + 3 * c.astype(np.float64)
    assert error_of(c_gpu.copy_to_host(), wanted) < 1e-5


def test_batches_by_one_block() -> None:
    """A block adds up products of several matrices, then it clears and computes another one."""
    from numba import cuda

    from gpumath.device import make_tensor

    m, n, k, batches = 64, 64, 32, 3
    matmul = product(
        (m, n, k), Precision(np.float16, np.float16, np.float32), (ROWS, ROWS, ROWS), 128
    )
    a, b = random((batches, m, 3 * k), np.float16), random((batches, 3 * k, 2 * n), np.float16)

    @cuda.jit(extensions=device.pipeline_extensions, launch_bounds=(256, 1))
    def multiply(total: Any, last: Any, pipeline: Any) -> None:
        shared = cuda.shared.array(0, np.byte, alignment=pipeline.buffer_alignment)
        column = cuda.blockIdx.y
        tile = pipeline.get_tile(shared, (0, 0), (column, 0))
        accumulator = matmul.suggest_accumulator()
        tile.execute(accumulator)
        for batch in range(1, batches):
            pipeline.reset_tile(tile, (0, batch), (column, batch))
            tile.execute(accumulator)
        layout = matmul.get_layout_gmem_c(2 * n)
        accumulator.partition_and_store(make_tensor(total[:, column * n :], layout))
        accumulator.clear()
        pipeline.reset_tile(tile, (0, 1), (column, 1))
        tile.execute(accumulator)
        accumulator.partition_and_store(make_tensor(last[:, column * n :], layout))
        tile._del()

    a_gpu, b_gpu = (BatchLast(cuda.to_device(x)) for x in (a, b))
    total, last = (cuda.device_array((m, 2 * n), np.float32) for _ in range(2))
    pipeline = matmul.suggest_device_pipeline(2, a_gpu, b_gpu)
    assert pipeline.a_strides == (3 * k, 1, m * 3 * k)
    multiply[(1, 2), pipeline.block_dim, 0, pipeline.buffer_size](total, last, pipeline)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert error_of(last.copy_to_host(), exact[1]) < 1e-5
    assert error_of(total.copy_to_host(), exact.sum(0)) < 1e-5


def test_refusals_of_matrices() -> None:
    from numba import cuda

    matmul = product((64, 64, 32), np.float16, (ROWS, COLUMNS, ROWS), 128)

    def gpu(*shape: int, dtype: Any = np.float16, order: str = "C") -> Any:
        return cuda.device_array(shape, dtype, order=order)

    fits = gpu(96, 64, order="F")
    for a, b, message in (
        (gpu(64, 90), fits, r"a has the shape \(64, 90\); multiples of .*\(64, 32\), are needed"),
        (gpu(64), fits, r"a has the shape \(64,\)"),
        (gpu(64, 0), fits, "an array with elements"),
        (gpu(64, 96, dtype=np.float32), fits, "a has elements of 4 bytes; 2 bytes"),
        (gpu(64, 96, order="F"), fits, r"strides \(1, 64\).*contiguous rows are needed"),
        (gpu(64, 96), gpu(96, 64), "b has .*contiguous columns are needed"),
        (gpu(64, 97)[:, 1:], fits, "no multiples of 16 bytes"),
        (gpu(64, 64), fits, "do not fit together"),
    ):
        with pytest.raises(ValueError, match=message):
            matmul.suggest_device_pipeline(2, a, b)
    with pytest.raises(ValueError, match="pipeline_depth is 4; at most the number of tiles, 3"):
        matmul.suggest_device_pipeline(4, gpu(64, 96), fits)


def test_a_pipeline_is_freed_with_its_object() -> None:
    from numba import cuda

    matmul = product(
        (64, 64, 32), Precision(np.float16, np.float16, np.float32), (ROWS, COLUMNS, ROWS), 128
    )
    a, b = (
        cuda.device_array((64, 64), np.float16),
        cuda.device_array((64, 64), np.float16, order="F"),
    )
    # Memory that is freed is given out again. How much the GPU has left, others decide, too.
    addresses = {matmul.suggest_device_pipeline(2, a, b)._address for _ in range(500)}
    assert len(addresses) < 50
