"""Apply a small layer to batches of vectors: a product of matrices with its epilogue in one kernel.

python examples/device/05_small_products.py
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import core

if core.Device.count() == 0:
    print("there is no GPU, so the kernel does not run")
    sys.exit()

from numba import cuda

M, N, K, BATCHES = 32, 48, 24, 2000

product = device.Matmul(
    (M, N, K),
    np.float32,
    "real",
    execution="Block",
    arrangement=("row_major", "row_major", "row_major"),
    block_dim=(128, 1, 1),
)
A_SIZE, B_SIZE, C_SIZE = product.a_size, product.b_size, product.c_size


@cuda.jit
def layer(inputs: Any, weights: Any, bias: Any, outputs: Any) -> None:
    """Return gelu(inputs @ weights + bias); the product stays in shared memory."""
    a = cuda.shared.array(A_SIZE, product.a_value_type)
    b = cuda.shared.array(B_SIZE, product.b_value_type)
    c = cuda.shared.array(C_SIZE, product.c_value_type)
    batch, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    for i in range(thread, M * K, threads):
        a[i] = inputs[batch, i // K, i % K]
    for i in range(thread, K * N, threads):
        b[i] = weights[i // N, i % N]
    cuda.syncthreads()
    product.execute(1.0, a, b, 0.0, c)
    cuda.syncthreads()
    for i in range(thread, M * N, threads):
        x = c[i] + bias[i % N]
        outputs[batch, i // N, i % N] = x * math.erfc(-x / math.sqrt(np.float32(2))) / 2


rng = np.random.default_rng()
inputs = rng.standard_normal((BATCHES, M, K)).astype(np.float32)
weights = (rng.standard_normal((K, N)) / math.sqrt(K)).astype(np.float32)
bias = rng.standard_normal(N).astype(np.float32)
outputs = cuda.device_array((BATCHES, M, N), np.float32)
layer[BATCHES, product.block_dim](*map(cuda.to_device, (inputs, weights, bias)), outputs)

x = inputs.astype(np.float64) @ weights + bias
wanted = x * np.vectorize(math.erfc)(-x / math.sqrt(2)) / 2
error = np.abs(outputs.copy_to_host() - wanted).max()
print(f"{BATCHES} products of {M} x {K} and {K} x {N}, with bias and GELU")
print(f"largest error: {error:.1e}")
assert error < 1e-5
