"""Operands of every library in every memory, for tests of what works with what."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from gpumath import memory
from gpumath.bindings import core

Index = tuple[Any, ...]

_TITLES = {
    "numpy": "NumPy",
    "cupy": "CuPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "numba": "Numba's CUDA target",
}


def library(name: str) -> Any:
    """Import an array library, or skip the test."""
    title = _TITLES[name]
    if find_spec(name) is None:
        pytest.skip(f"{title} is not installed")
    if name == "jax":
        # Otherwise it takes three quarters of the device's memory for itself.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if name != "numba":
        return import_module(name)
    try:
        return import_module("numba.cuda")
    except Exception as error:  # whatever a broken installation raises
        pytest.skip(f"{title} cannot be imported: {error}")


@dataclass(frozen=True)
class Source:
    """A library and a kind of memory that its operands are in."""

    library: str
    memory: str

    def __str__(self) -> str:
        """Name of the test's variant."""
        return f"{self.library}_{self.memory}"

    @property
    def is_on_gpu(self) -> bool:
        """Whether transforms run on the GPU by default."""
        return self.memory in ("cuda", "device", "managed")

    def operand(self, base: np.ndarray, index: Index) -> Any:
        """Operand with the elements of ``base[index]``, and its gaps where the library can."""
        if self.library == "numpy":
            return base[index]
        if self.library == "gpumath":
            return _own_array(base[index], self.memory)
        module = library(self.library)
        if self.library == "cupy":
            return module.asarray(base)[index]
        if self.library == "torch":
            return module.from_numpy(base).to(self.memory)[index]
        if self.library == "jax":
            module.config.update("jax_enable_x64", True)
            platform = "cpu" if self.memory == "cpu" else "gpu"
            try:
                device = module.devices(platform)[0]
            except RuntimeError:
                pytest.skip("this JAX has no CUDA device")
            return module.device_put(base, device)[index]
        values = base[index]
        if values.size == 0 or values.ndim == 0:
            return module.to_device(np.ascontiguousarray(values).reshape(values.shape))
        # Numba takes no lone ellipsis.
        return module.to_device(base)[index] if index != (...,) else module.to_device(base)


def _own_array(values: np.ndarray, kind: Any) -> memory.Array:
    steps = [max(stride // values.itemsize, 0) for stride in values.strides]
    array = core.Array(values.shape, values.dtype, kind=kind, strides=steps)
    if array.size:
        low, size = core.TensorView(array).span
        staged = np.zeros(size, np.uint8)
        np.ndarray(values.shape, values.dtype, staged.data, 0, values.strides)[...] = values
        if kind == "host":
            np.asarray(array)[...] = values
        else:
            core.copy(low, staged.ctypes.data, size)
            core.synchronize_stream(0)
    return array


ON_HOST = [
    Source("numpy", "cpu"),
    Source("torch", "cpu"),
    Source("jax", "cpu"),
    Source("gpumath", "host"),
]
NEAR_GPU = [
    Source("cupy", "cuda"),
    Source("torch", "cuda"),
    Source("jax", "cuda"),
    Source("numba", "cuda"),
    Source("gpumath", "device"),
    Source("gpumath", "managed"),
    Source("gpumath", "pinned"),
]

STREAMS = ["none", "legacy", "handle", "core", "cupy", "torch", "numba"]


def stream_of(name: str) -> Any:
    """A new stream of a library, or what else can stand for one."""
    if name == "none":
        return None
    if name == "legacy":
        return 1
    if name in ("handle", "core"):
        stream = core.Stream()
        if name == "core":
            return stream
        _KEPT.append(stream)
        return stream.handle
    module = library(name)
    if name == "cupy":
        return module.cuda.Stream(non_blocking=True)
    if name == "torch":
        return module.cuda.Stream()
    return module.stream()


_KEPT: list[Any] = []


def numpy_of(result: Any) -> np.ndarray:
    """Copy of a result, once all work of the device is done."""
    if core.Device.count():
        core.Device().synchronize()
    if type(result).__module__.partition(".")[0] == "torch":
        return np.array(result.cpu().numpy())
    if type(result).__module__.partition(".")[0] == "cupy":
        return np.array(result.get())
    if not isinstance(result, memory.Array):
        return np.array(result)
    if result.kind != "device":
        return np.array(result)
    low, size = core.TensorView(result).span
    staged = np.empty(size, np.uint8)
    if size:
        core.copy(staged.ctypes.data, low, size)
        core.synchronize_stream(0)
    strides = [result.itemsize * stride for stride in result.strides]
    return np.ndarray(result.shape, result.dtype, staged.data, result.ptr - low, strides)
