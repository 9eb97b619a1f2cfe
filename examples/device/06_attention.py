"""Attention in one kernel: two products of matrices with a softmax between them.

python examples/device/06_attention.py
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

QUERIES, KEYS, WIDTH, HEADS = 32, 32, 64, 256
THREADS = 128

# Inputs of 16 bits, sums of 32. The second matrix of the first product is K^T: K by columns.
precision = device.Precision(np.float16, np.float16, np.float32)
scores_of = device.Matmul(
    (QUERIES, KEYS, WIDTH),
    precision,
    "real",
    arrangement=("row_major", "col_major", "row_major"),
    block_dim=(THREADS, 1, 1),
)
values_of = device.Matmul(
    (QUERIES, WIDTH, KEYS),
    precision,
    "real",
    arrangement=("row_major", "row_major", "row_major"),
    block_dim=(THREADS, 1, 1),
)
SCALE = 1 / math.sqrt(WIDTH)


@cuda.jit
def attention(q: Any, k: Any, v: Any, out: Any) -> None:
    """Compute softmax(q k^T / sqrt(width)) v, a block for each head."""
    queries = cuda.shared.array(QUERIES * WIDTH, np.float16)
    keys = cuda.shared.array(KEYS * WIDTH, np.float16)
    values = cuda.shared.array(KEYS * WIDTH, np.float16)
    scores = cuda.shared.array(QUERIES * KEYS, np.float32)
    weights = cuda.shared.array(QUERIES * KEYS, np.float16)
    result = cuda.shared.array(QUERIES * WIDTH, np.float32)
    head, thread = cuda.blockIdx.x, cuda.threadIdx.x
    for i in range(thread, QUERIES * WIDTH, THREADS):
        queries[i] = q[head, i // WIDTH, i % WIDTH]
    for i in range(thread, KEYS * WIDTH, THREADS):
        keys[i] = k[head, i // WIDTH, i % WIDTH]
        values[i] = v[head, i // WIDTH, i % WIDTH]
    cuda.syncthreads()
    scores_of.execute(SCALE, queries, keys, 0.0, scores)
    cuda.syncthreads()
    if thread < QUERIES:
        largest = scores[thread * KEYS]
        for i in range(1, KEYS):
            largest = max(largest, scores[thread * KEYS + i])
        total = np.float32(0)
        for i in range(KEYS):
            scores[thread * KEYS + i] = math.exp(scores[thread * KEYS + i] - largest)
            total += scores[thread * KEYS + i]
        for i in range(KEYS):
            weights[thread * KEYS + i] = scores[thread * KEYS + i] / total
    cuda.syncthreads()
    values_of.execute(1.0, weights, values, 0.0, result)
    cuda.syncthreads()
    for i in range(thread, QUERIES * WIDTH, THREADS):
        out[head, i // WIDTH, i % WIDTH] = result[i]


rng = np.random.default_rng()
q, k, v = (rng.standard_normal((HEADS, n, WIDTH)).astype(np.float16) for n in (QUERIES, KEYS, KEYS))
out = cuda.device_array((HEADS, QUERIES, WIDTH), np.float32)
attention[HEADS, THREADS](*map(cuda.to_device, (q, k, v)), out)

scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) * SCALE
weights = np.exp(scores - scores.max(axis=2, keepdims=True))
weights /= weights.sum(axis=2, keepdims=True)
error = np.abs(out.copy_to_host() - weights @ v.astype(np.float64)).max()
print(f"{HEADS} heads, {QUERIES} queries, {KEYS} keys, {WIDTH} wide")
print(f"largest error: {error:.1e}")
assert error < 3e-3
