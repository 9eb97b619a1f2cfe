"""
A large product by a pipeline
=============================

Multiply matrices of half precision at the speed of the tensor cores: while a block multiplies
tiles, the GPU's unit for copies brings the next ones. The rate is compared with that of cuBLAS.

Run it with::

    python examples/device/08_pipelined_gemm.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import core, cublas
from gpumath.bindings.cublas import ComputeType, DataType, GemmAlgo, Operation

if core.Device.count() == 0 or core.Device(0).compute_capability < (9, 0):
    print("there is no GPU that copies by itself, of Hopper or newer, so the kernel does not run")
    sys.exit()

from numba import cuda

from gpumath.device import make_tensor

N = 8192  # of the matrices
TILE_M, TILE_N, TILE_K, DEPTH = 128, 256, 64, 4
GROUP = 16  # Blocks that run at once compute this many rows of tiles, and share what they read.

product = device.Matmul(
    (TILE_M, TILE_N, TILE_K),
    device.Precision(np.float16, np.float16, np.float32),
    "real",
    arrangement=("row_major", "col_major", "row_major"),
    alignment=(16, 16, 16),
    block_dim=(256, 1, 1),
    static_block_dim=True,
    with_pipeline=True,
    enable_input_streaming=True,
)
rng = np.random.default_rng()
a, b = (rng.uniform(-1, 1, (N, N)).astype(np.float16) for _ in range(2))
a_gpu, b_gpu = cuda.to_device(a), cuda.to_device(np.asfortranarray(b))
c_gpu, reference = (cuda.device_array((N, N), np.float32) for _ in range(2))

pipeline = product.suggest_device_pipeline(DEPTH, a_gpu, b_gpu, block_size_strategy="heuristic")
THREADS = pipeline.block_dim.x


@cuda.jit(extensions=device.pipeline_extensions, launch_bounds=(THREADS, 1))
def multiply(c: Any, pipeline: Any) -> None:
    """Compute a tile of c by each block."""
    shared = cuda.shared.array(0, np.byte, alignment=pipeline.buffer_alignment)
    group, block = divmod(cuda.blockIdx.x, GROUP * (N // TILE_N))
    row, column = group * GROUP + block % GROUP, block // GROUP
    tile = pipeline.get_tile(shared, row, column)
    accumulator = product.suggest_accumulator()
    tile.execute(accumulator)
    c_tile = c[row * TILE_M :, column * TILE_N :]
    accumulator.partition_and_store(make_tensor(c_tile, product.get_layout_gmem_c(N)))


def milliseconds(run: Callable[[], object], times: int = 10) -> float:
    """Return the GPU's time for one run: the best of some averages."""
    run()
    averages: list[float] = []
    for _ in range(3):
        start, end = cuda.event(), cuda.event()
        start.record()
        for _ in range(times):
            run()
        end.record()
        end.synchronize()
        averages.append(start.elapsed_time(end) / times)
    return min(averages)


BLOCKS = (N // TILE_M) * (N // TILE_N)
configured = multiply[BLOCKS, THREADS, 0, pipeline.buffer_size]
own = milliseconds(lambda: configured(c_gpu, pipeline))

# cuBLAS counts by columns: the transpose of c is that of b times that of a.
handle = cublas.create()
one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
addresses = [matrix.device_ctypes_pointer.value for matrix in (b_gpu, a_gpu, reference)]
gemm = [
    *(handle, Operation.T, Operation.N, N, N, N, one.ctypes.data),
    *(addresses[0], DataType.R_16F, N, addresses[1], DataType.R_16F, N, zero.ctypes.data),
    *(addresses[2], DataType.R_32F, N, ComputeType.COMPUTE_32F, GemmAlgo.DEFAULT),
]
theirs = milliseconds(lambda: cublas.gemm_ex(*gemm))
cublas.destroy(handle)

result, wanted = c_gpu.copy_to_host(), reference.copy_to_host()
error = np.linalg.norm(result - wanted) / np.linalg.norm(wanted)
rows = rng.integers(N, size=4)
exact = a[rows].astype(np.float64) @ b
exact_error = np.linalg.norm(result[rows] - exact) / np.linalg.norm(exact)
for name, time in (("pipeline", own), ("cuBLAS", theirs)):
    print(f"{name:8} {time:.3f} ms, {2e-9 * N**3 / time:.0f} TFLOPS")
print(f"the pipeline reaches {theirs / own:.0%} of cuBLAS' rate")
print(f"difference from cuBLAS {error:.1e}, from float64 {exact_error:.1e}")
assert error < 1e-5
assert exact_error < 1e-5
