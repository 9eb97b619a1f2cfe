"""Transforms inside Numba kernels, where there is a GPU, and their traits."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    from numba import cuda

    if not cuda.is_available():
        return
    device = importlib.import_module(f"{env.package}.device")
    yield from traits(device)
    yield from refusals(device)
    yield from blocks(env, device, cuda)
    yield from in_shared_memory(env, device, cuda)
    yield from threads_of_half_precision(env, device, cuda)
    yield from real_input(env, device, cuda)


def traits(device: Any) -> Results:
    cc = device.ComputeCapability(9, 0)
    names = (
        *("size", "fft_type", "execution", "direction", "ffts_per_block", "elements_per_thread"),
        *("storage_size", "shared_memory_size", "stride", "implicit_type_batching"),
    )
    for title, options in {
        "block": {"size": 256, "precision": np.float32, "fft_type": "c2c", "direction": "forward"},
        "half": {"size": 60, "precision": np.float16, "fft_type": "c2c", "direction": "inverse"},
        "real": {"size": 96, "precision": np.float64, "fft_type": "c2r", "ffts_per_block": 2},
        "folded": {
            "size": 96,
            "precision": np.float64,
            "fft_type": "r2c",
            "real_fft_options": {"complex_layout": "packed", "real_mode": "folded"},
        },
    }.items():
        fft = device.FFT(**options, execution="Block", sm=cc)
        for name in names:
            yield f"{title} {name}", getattr(fft, name), None
        yield f"{title} block_dim", list(fft.block_dim), None
        yield f"{title} valid", sorted(fft.valid("elements_per_thread", "ffts_per_block")), None
        yield f"{title} real_dtype", np.dtype(fft.value_type.real_dtype).name, None
    thread = device.FFT(16, np.float32, "c2c", "Thread", sm=cc, direction="forward")
    yield "thread", [thread.block_dim is None, thread.shared_memory_size is None], None
    code, symbol = device.compile_fft_execute(thread, device.CodeType("lto", cc))
    yield "code", [code.code_type.kind, len(code.data) > 1000, bool(symbol)], None
    yield "version", list(device.ISAVersion.from_integer(12030)), None
    yield "dim", list(device.Dim3(2)), None


def refusals(device: Any) -> Results:
    cc = device.ComputeCapability(9, 0)
    good = {
        "size": 64,
        "precision": np.float32,
        "fft_type": "c2c",
        "execution": "Block",
        "direction": "forward",
        "sm": cc,
    }
    for title, changes in {
        "size": {"size": 0},
        "precision": {"precision": np.int32},
        "type": {"fft_type": "z2z"},
        "execution": {"execution": "Grid"},
        "direction": {"direction": "up"},
        "elements": {"elements_per_thread": -1},
        "transforms": {"ffts_per_block": 0},
        "options": {"real_fft_options": {"complex_layout": "natural"}},
    }.items():
        yield f"refused {title}", raised(lambda c=changes: device.FFT(**good | c)), None
    fft = device.FFT(**good)
    yield "refused knob", raised(lambda: fft.valid("size")), None
    yield "refused outside", raised(lambda: fft.execute(1)), None


def blocks(env: Environment, device: Any, cuda: Any) -> Results:
    forward, inverse = (
        device.FFT(
            *(128, np.float32, "c2c", "Block"),
            direction=direction,
            ffts_per_block=2,
            elements_per_thread=8,
        )
        for direction in ("forward", "inverse")
    )
    value_type, storage = forward.value_type, forward.storage_size

    @cuda.jit
    def kernel(x: Any, w: Any) -> None:
        data = cuda.local.array(shape=(storage,), dtype=value_type)
        shared = cuda.shared.array(shape=(0,), dtype=value_type)
        row = cuda.blockIdx.x * forward.ffts_per_block + cuda.threadIdx.y
        for i in range(forward.elements_per_thread):
            data[i] = x[row, cuda.threadIdx.x + i * forward.stride]
        forward.execute(data, shared)
        for i in range(forward.elements_per_thread):
            data[i] = data[i] * w[cuda.threadIdx.x + i * forward.stride] / forward.size
        inverse.execute(data, shared)
        for i in range(forward.elements_per_thread):
            x[row, cuda.threadIdx.x + i * forward.stride] = data[i]

    x, w = env.complex(6, 128), env.real(128)
    on_gpu = cuda.to_device(x)
    kernel[3, tuple(forward.block_dim), 0, forward.shared_memory_size](on_gpu, w)
    yield "convolved", on_gpu.copy_to_host(), np.fft.ifft(np.fft.fft(x.astype(complex)) * w)


def in_shared_memory(env: Environment, device: Any, cuda: Any) -> Results:
    fft = device.FFT(64, np.float64, "c2c", "Block", direction="forward")

    @cuda.jit
    def kernel(x: Any) -> None:
        shared = cuda.shared.array(shape=(64,), dtype=fft.value_type)
        for i in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
            shared[i] = x[i]
        cuda.syncthreads()
        fft.execute(shared)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
            x[i] = shared[i]

    x = env.complex(64, dtype=np.complex128)
    on_gpu = cuda.to_device(x)
    kernel[1, tuple(fft.block_dim)](on_gpu)
    yield "in shared memory", on_gpu.copy_to_host(), np.fft.fft(x)


def threads_of_half_precision(env: Environment, device: Any, cuda: Any) -> Results:
    fft = device.FFT(8, np.float16, "c2c", "Thread", direction="forward")

    @cuda.jit
    def kernel(x: Any) -> None:
        data = cuda.local.array(shape=(fft.storage_size,), dtype=fft.value_type)
        for i in range(8):
            data[i] = device.float16x4(x[0, i, 0], x[1, i, 0], x[0, i, 1], x[1, i, 1])
        fft.execute(data)
        for i in range(8):
            x[0, i, 0], x[1, i, 0] = data[i].x, data[i].y
            x[0, i, 1], x[1, i, 1] = data[i].z, data[i].w

    x = env.real(2, 8, 2).astype(np.float16)
    on_gpu = cuda.to_device(x)
    kernel[1, 1](on_gpu)
    wide = x.astype(np.float64)
    wanted = np.fft.fft(wide[..., 0] + 1j * wide[..., 1])
    error = np.abs(on_gpu.copy_to_host() - np.stack([wanted.real, wanted.imag], -1)).max()
    yield "half precision is near", error < 2e-2, None


def real_input(env: Environment, device: Any, cuda: Any) -> Results:
    fft = device.FFT(16, np.float32, "r2c", "Thread")

    @cuda.jit
    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=(fft.storage_size,), dtype=fft.value_type)
        for i in range(8):
            data[i] = device.float32x2(x[2 * i], x[2 * i + 1])
        fft.execute(data)
        for i in range(9):
            y[i] = data[i]

    x, y = env.real(16), np.zeros(9, np.complex64)
    kernel[1, 1](x, y)
    yield "real", y, np.fft.rfft(x)


if __name__ == "__main__":
    main(run)
