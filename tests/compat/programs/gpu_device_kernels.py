"""Transforms, products and random numbers inside Numba kernels."""

import numba
import numpy as np
from numba import cuda
from nvmath.device import FFT, Matmul, random

rng = np.random.default_rng()
fft = FFT(
    fft_type="c2c", size=128, precision=np.float32, direction="forward",
    elements_per_thread=8, ffts_per_block=2, execution="Block",
)  # fmt: skip


@cuda.jit
def transform(data):
    own = cuda.local.array(shape=(fft.storage_size,), dtype=fft.value_type)
    shared = cuda.shared.array(shape=(0,), dtype=fft.value_type)
    row = cuda.threadIdx.y
    index = cuda.threadIdx.x
    for i in range(fft.elements_per_thread):
        own[i] = data[row, index]
        index += fft.stride
    fft.execute(own, shared)
    index = cuda.threadIdx.x
    for i in range(fft.elements_per_thread):
        data[row, index] = own[i]
        index += fft.stride


values = (rng.standard_normal((2, 128)) + 1j * rng.standard_normal((2, 128))).astype(np.complex64)
data = cuda.to_device(values)
transform[1, fft.block_dim, 0, fft.shared_memory_size](data)
expected = np.fft.fft(values.astype(complex))
assert np.linalg.norm(data.copy_to_host() - expected) < 1e-5 * np.linalg.norm(expected)

m, n, k = 32, 16, 24
product = Matmul(
    size=(m, n, k), precision=np.float32, data_type="real",
    arrangement=("row_major", "row_major", "row_major"), execution="Block", block_size=128,
)  # fmt: skip


@cuda.jit
def multiply(a, b, c):
    shared_a = cuda.shared.array(shape=(m, k), dtype=np.float32)
    shared_b = cuda.shared.array(shape=(k, n), dtype=np.float32)
    shared_c = cuda.shared.array(shape=(m, n), dtype=np.float32)
    start = cuda.threadIdx.x
    for i in range(start, m * k, 128):
        shared_a[i // k, i % k] = a[i // k, i % k]
    for i in range(start, k * n, 128):
        shared_b[i // n, i % n] = b[i // n, i % n]
    for i in range(start, m * n, 128):
        shared_c[i // n, i % n] = np.float32(0)
    cuda.syncthreads()
    product.execute(np.float32(1), shared_a, shared_b, np.float32(0), shared_c)
    cuda.syncthreads()
    for i in range(start, m * n, 128):
        c[i // n, i % n] = shared_c[i // n, i % n]


a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
c = cuda.device_array((m, n), np.float32)
multiply[1, product.block_dim](a, b, c)
assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4)

compiled = random.Compile(cc=None)


@cuda.jit(link=compiled.files, extensions=compiled.extension)
def set_up(states):
    i = cuda.grid(1)
    random.init(numba.uint64(1234), numba.uint64(i), numba.uint64(0), states[i])


@cuda.jit(link=compiled.files, extensions=compiled.extension)
def draw(states, out):
    i = cuda.grid(1)
    numbers = random.uniform4(states[i])
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = numbers.x, numbers.y, numbers.z, numbers.w


states = random.StatesPhilox4_32_10(4096)
set_up[32, 128](states)
drawn = cuda.device_array((4096, 4), np.float32)
draw[32, 128](states, drawn)
assert abs(float(drawn.copy_to_host().mean()) - 0.5) < 0.02
