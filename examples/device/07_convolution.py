"""Filter rows in one kernel: a forward transform, a product in frequency space, an inverse one.

The transforms are in the older form, which kernels call as functions; `device.FFT` is newer.

python examples/device/07_convolution.py
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import core
from gpumath.device import fft

if core.Device.count() == 0:
    print("there is no GPU, so the kernel does not run")
    sys.exit()

from numba import cuda

SIZE, ROWS = 128, 10_000
OPERATORS: dict[str, Any] = {
    "fft_type": "c2c",
    "size": SIZE,
    "precision": np.float32,
    "execution": "Block",
    "ffts_per_block": 1,
    "elements_per_thread": 2,
    "compiler": "numba",
}
forward: Any = fft(direction="forward", **OPERATORS)
inverse: Any = fft(direction="inverse", **OPERATORS)
VALUE_TYPE, STORAGE_SIZE = forward.value_type, forward.storage_size
STRIDE, ELEMENTS = forward.stride, forward.elements_per_thread


@cuda.jit(link=forward.files + inverse.files)
def convolve(data: Any, weights: Any) -> None:
    """Filter a row by each block."""
    thread_data = cuda.local.array(shape=(STORAGE_SIZE,), dtype=VALUE_TYPE)
    shared_memory = cuda.shared.array(shape=(0,), dtype=VALUE_TYPE)
    row = cuda.blockIdx.x
    for i in range(ELEMENTS):
        thread_data[i] = data[row, cuda.threadIdx.x + i * STRIDE]
    forward(thread_data, shared_memory)
    for i in range(ELEMENTS):
        thread_data[i] = thread_data[i] * weights[cuda.threadIdx.x + i * STRIDE] / SIZE
    inverse(thread_data, shared_memory)
    for i in range(ELEMENTS):
        data[row, cuda.threadIdx.x + i * STRIDE] = thread_data[i]


rng = np.random.default_rng()
x = (rng.normal(size=(ROWS, SIZE)) + 1j * rng.normal(size=(ROWS, SIZE))).astype(np.complex64)
low_pass = (np.abs(np.fft.fftfreq(SIZE)) < 0.1).astype(np.float32)
on_gpu = cuda.to_device(x)
convolve[ROWS, forward.block_dim, 0, forward.shared_memory_size](on_gpu, low_pass)

wanted = np.fft.ifft(np.fft.fft(x.astype(np.complex128)) * low_pass)
error = np.linalg.norm(on_gpu.copy_to_host() - wanted) / np.linalg.norm(wanted)
print(f"{ROWS} rows of {SIZE} points on {device.current_device_sm()}, relative error {error:.1e}")
assert error < 1e-5
