"""Transform images in both directions in one kernel: no image goes through memory in between.

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
TURN_SHAPE = (SIZE, SIZE + 1)

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
    turn = cuda.shared.array(TURN_SHAPE, np.complex64)
    image, line = cuda.blockIdx.x, cuda.threadIdx.y
    for i in range(fft.elements_per_thread):
        values[i] = images[image, line, cuda.threadIdx.x + i * fft.stride]
    fft.execute(values)
    for i in range(fft.elements_per_thread):
        turn[line, cuda.threadIdx.x + i * fft.stride] = values[i]
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        values[i] = turn[cuda.threadIdx.x + i * fft.stride, line]
    cuda.syncthreads()
    fft.execute(values)
    for i in range(fft.elements_per_thread):
        turn[cuda.threadIdx.x + i * fft.stride, line] = values[i]
    cuda.syncthreads()
    for i in range(fft.elements_per_thread):
        column = cuda.threadIdx.x + i * fft.stride
        spectra[image, line, column] = turn[line, column]


rng = np.random.default_rng()
images = rng.standard_normal((IMAGES, SIZE, SIZE, 2)).astype(np.float32).view(np.complex64)[..., 0]
spectra = cuda.device_array_like(images)
transform[IMAGES, fft.block_dim](cuda.to_device(images), spectra)

wanted = np.fft.fft2(images.astype(np.complex128))
error = np.linalg.norm(spectra.copy_to_host() - wanted) / np.linalg.norm(wanted)
print(f"{IMAGES} images of {SIZE} x {SIZE}, {fft.block_dim.x * fft.block_dim.y} threads each")
print(f"error relative to NumPy: {error:.1e}")
assert error < 1e-6
