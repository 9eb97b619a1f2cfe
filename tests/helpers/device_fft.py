"""Kernels around `gpumath.device.FFT`: each thread loads its points, transforms and stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from gpumath import device

Loader = Callable[..., Any]


def transform_on_gpu(fft: Any, x: np.ndarray, *, shared: bool = False) -> np.ndarray:
    """Return the transforms of rows, one row after the other, in double precision."""
    real_in, real_out = fft.fft_type == "r2c", fft.fft_type == "c2r"
    shape = (len(x), fft.size // 2 + 1 if fft.fft_type == "r2c" else fft.size)
    out = np.zeros(shape, np.float64 if real_out else np.complex128)
    kernel = cuda.jit(_kernel(fft, real_in, real_out, shared))
    batching = fft.implicit_type_batching
    if fft.execution == "Thread":
        grid, block, dynamic = len(x) // batching, 1, 0
    else:
        grid, block = len(x) // fft.ffts_per_block, tuple(fft.block_dim)
        dynamic = fft.shared_memory_size if shared else 0
    on_gpu = cuda.to_device(np.ascontiguousarray(x)), cuda.to_device(out)
    kernel[grid, block, 0, dynamic](*on_gpu)
    return on_gpu[1].copy_to_host()


def _kernel(fft: Any, real_in: bool, real_out: bool, shared: bool) -> Callable[..., None]:
    """Return a kernel from rows x to rows y, of which a block or a thread takes one or more."""
    value = fft.value_type
    batching = fft.implicit_type_batching
    load, store = _access(batching, real_in, real_out)
    in_length = fft.input_length
    out_length = fft.output_length
    in_count, out_count = fft.input_elements_per_thread, fft.output_elements_per_thread
    rows = 1 if fft.execution == "Thread" else fft.ffts_per_block // batching
    stride = fft.stride

    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=value)
        row = (cuda.blockIdx.x * rows + cuda.threadIdx.y) * batching
        for i in range(in_count):
            index = cuda.threadIdx.x + i * stride
            if index < in_length:
                load(data, i, x, row, index)
        if shared:
            memory = cuda.shared.array(shape=0, dtype=value)
            fft.execute(data, memory)
        else:
            fft.execute(data)
        for i in range(out_count):
            index = cuda.threadIdx.x + i * stride
            if index < out_length:
                store(data, i, y, row, index)

    return kernel


def _access(batching: int, real_in: bool, real_out: bool) -> tuple[Loader, Loader]:
    """Return the functions that load and store point ``i`` of a thread.

    Half precision holds two transforms in an element: two real parts, then two imaginary ones.
    Real points stand one after the other, two in the place of a complex one.
    """
    half4 = device.float16x4
    single = batching == 1

    @cuda.jit(device=True)
    def load(data: Any, i: Any, x: Any, row: Any, index: Any) -> None:
        if real_in:
            old = data[i // 2]
            if single:
                z = complex(old)
                new = x[row, index]
                data[i // 2] = complex(z.real, new) if i % 2 else complex(new, 0)
            elif i % 2:
                data[i // 2] = half4(old.x, old.y, x[row, index], x[row + 1, index])
            else:
                data[i // 2] = half4(x[row, index], x[row + 1, index], old.z, old.w)
        elif single:
            data[i] = x[row, index]
        else:
            a, b = x[row, index], x[row + 1, index]
            data[i] = half4(a.real, b.real, a.imag, b.imag)

    @cuda.jit(device=True)
    def store(data: Any, i: Any, y: Any, row: Any, index: Any) -> None:
        if real_out:
            old = data[i // 2]
            if single:
                y[row, index] = old.y if i % 2 else old.x
            else:
                y[row, index] = old.z if i % 2 else old.x
                y[row + 1, index] = old.w if i % 2 else old.y
        elif single:
            y[row, index] = data[i]
        else:
            old = data[i]
            y[row, index] = complex(float(old.x), float(old.z))
            y[row + 1, index] = complex(float(old.y), float(old.w))

    return load, store
