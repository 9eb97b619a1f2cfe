"""Kernels around `gpumath.device.FFT`: each thread loads its points, transforms and stores them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from gpumath import device


def transform_on_gpu(fft: Any, x: np.ndarray, *, in_shared_memory: bool = False) -> np.ndarray:
    """Return the transforms of rows, one row after the other, in double precision.

    Parameters
    ----------
    in_shared_memory : bool, default: False
        Whether the points are in shared memory, and not in the arrays of the threads.
    """
    real_out = fft.fft_type == "c2r"
    shape = (len(x), fft.size // 2 + 1 if fft.fft_type == "r2c" else fft.size)
    out = np.zeros(shape, np.float64 if real_out else np.complex128)
    batching = fft.implicit_type_batching
    if fft.execution == "Thread":
        kernel, grid, block, dynamic = _of_threads(fft), len(x) // batching, (1, 1, 1), 0
    else:
        kernel = _in_shared_memory(fft) if in_shared_memory else _of_blocks(fft)
        grid, block = len(x) // fft.ffts_per_block, tuple(fft.block_dim)
        points = fft.ffts_per_block * fft.size * np.dtype(fft.value_type.dtype).itemsize
        dynamic = max(fft.shared_memory_size, points if in_shared_memory else 0)
    on_gpu = cuda.to_device(np.ascontiguousarray(x)), cuda.to_device(out)
    # Or else the threads of some blocks have more registers together than there are.
    cuda.jit(kernel, launch_bounds=math.prod(block))[grid, block, 0, dynamic](*on_gpu)
    return on_gpu[1].copy_to_host()


def _of_threads(fft: Any) -> Callable[..., None]:
    load, store = _access(fft)
    batching, count, results = fft.implicit_type_batching, fft.input_length, fft.output_length

    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=fft.value_type)
        row = cuda.blockIdx.x * batching
        for i in range(count):
            load(data, i, x, row, i)
        fft.execute(data)
        for i in range(results):
            store(data, i, y, row, i)

    return kernel


def _of_blocks(fft: Any) -> Callable[..., None]:
    load, store = _access(fft)
    batching = fft.implicit_type_batching
    rows = fft.ffts_per_block // batching

    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=fft.value_type)
        shared = cuda.shared.array(shape=0, dtype=fft.value_type)
        row = (cuda.blockIdx.x * rows + cuda.threadIdx.y) * batching
        for i in range(fft.input_elements_per_thread):
            index = cuda.threadIdx.x + i * fft.stride
            if index < fft.input_length:
                load(data, i, x, row, index)
        fft.execute(data, shared)
        for i in range(fft.output_elements_per_thread):
            index = cuda.threadIdx.x + i * fft.stride
            if index < fft.output_length:
                store(data, i, y, row, index)

    return kernel


def _in_shared_memory(fft: Any) -> Callable[..., None]:
    """Return a kernel of complex transforms in single or double precision."""

    def kernel(x: Any, y: Any) -> None:
        shared = cuda.shared.array(shape=0, dtype=fft.value_type)
        row = cuda.blockIdx.x * fft.ffts_per_block + cuda.threadIdx.y
        start = cuda.threadIdx.y * fft.size
        for i in range(cuda.threadIdx.x, fft.size, cuda.blockDim.x):
            shared[start + i] = x[row, i]
        cuda.syncthreads()
        fft.execute(shared)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, fft.size, cuda.blockDim.x):
            y[row, i] = shared[start + i]

    return kernel


def _access(fft: Any) -> tuple[Any, Any]:
    """Return the functions that load and store point ``i`` of a thread's array.

    Half precision holds two transforms in an element: two real parts, then two imaginary ones.
    Real points stand one after the other, two in the place of a complex one.
    """
    half = fft.implicit_type_batching == 2
    half4, pair = device.float16x4, fft.value_type

    def load(data: Any, i: Any, x: Any, row: Any, index: Any) -> None:
        data[i] = x[row, index]

    def load_half(data: Any, i: Any, x: Any, row: Any, index: Any) -> None:
        a, b = x[row, index], x[row + 1, index]
        data[i] = half4(a.real, b.real, a.imag, b.imag)

    def load_real(data: Any, i: Any, x: Any, row: Any, index: Any) -> None:
        new = x[row, index]
        data[i // 2] = pair(data[i // 2].x, new) if i % 2 else pair(new, 0.0)

    def load_real_half(data: Any, i: Any, x: Any, row: Any, index: Any) -> None:
        a, b, old = x[row, index], x[row + 1, index], data[i // 2]
        data[i // 2] = half4(old.x, old.y, a, b) if i % 2 else half4(a, b, 0.0, 0.0)

    def store(data: Any, i: Any, y: Any, row: Any, index: Any) -> None:
        y[row, index] = data[i]

    def store_half(data: Any, i: Any, y: Any, row: Any, index: Any) -> None:
        new = data[i]
        y[row, index] = complex(np.float64(new.x), np.float64(new.z))
        y[row + 1, index] = complex(np.float64(new.y), np.float64(new.w))

    def store_real(data: Any, i: Any, y: Any, row: Any, index: Any) -> None:
        y[row, index] = data[i // 2].y if i % 2 else data[i // 2].x

    def store_real_half(data: Any, i: Any, y: Any, row: Any, index: Any) -> None:
        new = data[i // 2]
        y[row, index] = new.z if i % 2 else new.x
        y[row + 1, index] = new.w if i % 2 else new.y

    loads = (load, load_half, load_real, load_real_half)
    stores = (store, store_half, store_real, store_real_half)
    chosen = (
        loads[half + 2 * (fft.fft_type == "r2c")],
        stores[half + 2 * (fft.fft_type == "c2r")],
    )
    return cuda.jit(device=True)(chosen[0]), cuda.jit(device=True)(chosen[1])
