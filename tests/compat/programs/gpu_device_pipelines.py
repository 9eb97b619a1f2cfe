"""A product of large matrices by a pipeline, inside a Numba kernel."""

import numpy as np
from numba import cuda
from nvmath.device import Matmul
from nvmath.device.common import axpby, make_tensor
from nvmath.device.cublasdx_backend import MAX_ALIGNMENT
from nvmath.device.cublasdx_numba import pipeline_extensions

m, n, k = 512, 384, 256
tile_m, tile_n, tile_k, depth = 128, 128, 32, 2
product = Matmul(
    size=(tile_m, tile_n, tile_k), precision=(np.float16, np.float16, np.float32),
    data_type="real", arrangement=("row_major", "col_major", "row_major"),
    alignment=MAX_ALIGNMENT, execution="Block", block_size=128,
    with_pipeline=True, enable_input_streaming=True,
)  # fmt: skip


@cuda.jit(extensions=pipeline_extensions, launch_bounds=[128, 1])
def multiply(alpha, beta, c, device_pipeline):
    smem = cuda.shared.array(shape=(0,), dtype=np.byte, alignment=device_pipeline.buffer_alignment)
    row, column = cuda.blockIdx.x, cuda.blockIdx.y
    tile = c[row * tile_m : (row + 1) * tile_m, column * tile_n : (column + 1) * tile_n]
    gmem_c = make_tensor(tile, product.get_layout_gmem_c(n))
    tile_pipeline = device_pipeline.get_tile(smem, row, column)
    accumulator = product.suggest_accumulator()
    tile_pipeline.execute(accumulator)
    if accumulator.is_thread_active():
        fragment = accumulator.make_partition_and_copy(gmem_c)
        axpby(alpha, accumulator.get_results(), beta, fragment)
        accumulator.partition_and_copy(fragment, gmem_c)
    tile_pipeline._del()


rng = np.random.default_rng()
a = rng.uniform(-1, 1, (m, k)).astype(np.float16)
b = np.asfortranarray(rng.uniform(-1, 1, (k, n)).astype(np.float16))
c = rng.uniform(-1, 1, (m, n)).astype(np.float32)
on_gpu = cuda.to_device(c)
pipeline = product.suggest_device_pipeline(depth, cuda.to_device(a), cuda.to_device(b))
grid = (m // tile_m, n // tile_n)
multiply[grid, pipeline.block_dim, 0, pipeline.buffer_size](2.0, 3.0, on_gpu, pipeline)
expected = 2 * (a.astype(float) @ b.astype(float)) + 3 * c
assert np.linalg.norm(on_gpu.copy_to_host() - expected) < 1e-5 * np.linalg.norm(expected)
