"""Copies of NumPy arrays in device memory, for functions that take addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath.bindings import core


class DeviceArray:
    """Device memory with the elements of an array, in the order in which it holds them.

    The object itself can be passed where a function takes an address.
    """

    def __init__(self, values: Any) -> None:
        self._shaped = np.array(values)
        self._block = core.allocate(max(self._shaped.nbytes, 1))
        self.set(self._shaped)

    def __index__(self) -> int:
        return self._block.device_ptr

    def set(self, values: np.ndarray) -> None:
        """Overwrite the elements by those of an array of the same layout."""
        assert (values.dtype, values.strides) == (self._shaped.dtype, self._shaped.strides)
        core.copy(int(self._block.device_ptr), values.ctypes.data, values.nbytes)
        core.synchronize_stream(0)

    def get(self) -> np.ndarray:
        """Return the elements once the default stream's work is done."""
        values = np.empty_like(self._shaped)
        core.copy(values.ctypes.data, self._block.device_ptr, values.nbytes)
        core.synchronize_stream(0)
        return values


def workspace(size: int) -> DeviceArray:
    """Device memory of so many bytes."""
    return DeviceArray(np.zeros(max(size, 1), np.uint8))
