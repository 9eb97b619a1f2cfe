"""
Two-dimensional transforms in one kernel
========================================

Transform images by rows and by columns; no image goes through memory in between.

Run it with::

    python examples/device/04_fft_2d.py
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import core

if core.Device.count() == 0:
    print("there is no GPU, so the kernel does not run")
    sys.exit()

from numba import cuda

SIZE, IMAGES = 64, 512
# One element more in each line keeps threads that read a column on different banks.
LINE = SIZE + 1

# A block transforms an image: all its rows at once, then all its columns.
fft = device.FFT(
    SIZE,
    np.float32,
    "c2c",
    "Block",
    direction="forward",
    ffts_per_block=SIZE,
    elements_per_thread=8,
)


@cuda.jit
def transform(images: Any, spectra: Any) -> None:
    """Rows in registers, a turn through shared memory, columns in registers."""
    values = cuda.local.array(fft.storage_size, fft.value_type)
    # The threads exchange points through it, and then lines for columns.
    shared = cuda.shared.array(0, fft.value_type)
    image, line = cuda.blockIdx.x, cuda.threadIdx.y
    for i in range(fft.elements_per_thread):
        values[i] = images[image, line, cuda.threadIdx.x + i * fft.stride]
    fft.execute(values, shared)
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        shared[line * LINE + cuda.threadIdx.x + i * fft.stride] = values[i]
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        values[i] = shared[(cuda.threadIdx.x + i * fft.stride) * LINE + line]
    cuda.syncthreads()
    fft.execute(values, shared)
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        shared[(cuda.threadIdx.x + i * fft.stride) * LINE + line] = values[i]
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        column = cuda.threadIdx.x + i * fft.stride
        spectra[image, line, column] = shared[line * LINE + column]


rng = np.random.default_rng()
images = rng.standard_normal((IMAGES, SIZE, SIZE, 2)).astype(np.float32).view(np.complex64)[..., 0]
spectra = cuda.device_array_like(images)
threads = fft.block_dim
assert threads is not None
assert fft.shared_memory_size is not None
bytes_of_lines = SIZE * LINE * images.itemsize
shared_bytes = max(fft.shared_memory_size, bytes_of_lines)
transform[IMAGES, threads, 0, shared_bytes](cuda.to_device(images), spectra)

wanted = np.fft.fft2(images.astype(np.complex128))
error = np.linalg.norm(spectra.copy_to_host() - wanted) / np.linalg.norm(wanted)
print(f"{IMAGES} images of {SIZE} x {SIZE}, {threads.x * threads.y} threads each")
print(f"error relative to NumPy: {error:.1e}")
assert error < 1e-6
