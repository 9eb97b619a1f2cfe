"""The elements of any array, read and written at their addresses: its library takes no part."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gpumath.bindings import core


def read(array: Any) -> np.ndarray:
    """Copy of the elements, once all work of the device is done."""
    view = core.TensorView(array)
    return np.array(_elements(view, _memory(view)))


def write(array: Any, values: Any) -> None:
    """Overwrite the elements, and nothing between them, once all work of the device is done."""
    view = core.TensorView(array)
    memory = _memory(view)
    _elements(view, memory)[...] = values
    if view.device == "cuda":
        low, size = view.span
        _copy(low, memory.ctypes.data, size, view.device_id)


def write_memory(array: Any, values: np.ndarray) -> None:
    """Overwrite all that the array spans, once all work of the device is done."""
    view = core.TensorView(array)
    low, size = view.span
    values = np.ascontiguousarray(values)
    assert values.nbytes == size
    if view.device == "cuda":
        core.Device(view.device_id or 0).synchronize()
        _copy(low, values.ctypes.data, size, view.device_id)
    else:
        ctypes.memmove(low, values.ctypes.data, size)


def memory_of(array: Any) -> np.ndarray:
    """Return a copy of all bytes that the array spans; wait for all work of the device first."""
    return np.array(_memory(core.TensorView(array)))


def gaps_of(array: Any) -> np.ndarray:
    """Return the bytes that `memory_of` returns, with zeros in the place of the elements."""
    view = core.TensorView(array)
    memory = memory_of(array)
    _elements(view, memory)[...] = 0
    return memory


def _memory(view: core.TensorView) -> np.ndarray:
    """Bytes that the array spans: its own in host memory, a copy of those on a device."""
    low, size = view.span
    if view.device == "cpu":
        return np.frombuffer((ctypes.c_char * size).from_address(low), np.uint8)
    memory = np.empty(size, np.uint8)
    core.Device(view.device_id or 0).synchronize()
    _copy(memory.ctypes.data, low, size, view.device_id)
    return memory


def _elements(view: core.TensorView, memory: np.ndarray) -> np.ndarray:
    strides = [stride * view.itemsize for stride in view.strides]
    return np.ndarray(view.shape, view.dtype, memory, view.ptr - view.span[0], strides)


def _copy(destination: int, source: int, size: int, device_id: int | None) -> None:
    if size == 0:
        return
    core.copy(destination, source, size, device_id=device_id or 0)
    core.synchronize_stream(0, device_id=device_id or 0)
