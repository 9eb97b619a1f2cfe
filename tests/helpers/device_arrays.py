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


class DeviceMemory:
    """Blocks of device memory that one test uses; arrays are in column-major order."""

    def __init__(self) -> None:
        self._blocks: list[core.MemoryPointer] = []

    def empty(self, size: int) -> int:
        """Return the address of so many bytes, which any stream may use at once."""
        self._blocks.append(core.allocate(max(size, 1)))
        core.synchronize_stream(0)
        return self._blocks[-1].device_ptr

    def put(self, values: Any) -> int:
        """Return the address of a copy of an array."""
        array = np.asfortranarray(values)
        address = self.empty(array.nbytes)
        core.copy(address, array.ctypes.data, array.nbytes)
        core.synchronize_stream(0)
        return address

    def zeros(self, count: int, dtype: Any) -> int:
        """Return the address of so many elements that are 0."""
        return self.put(np.zeros(count, dtype))

    def get(self, address: int, shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
        """Return a copy of an array in device memory."""
        array = np.empty(shape, dtype, order="F")
        core.copy(array.ctypes.data, address, array.nbytes)
        core.synchronize_stream(0)
        return array

    def free(self) -> None:
        """Free all of it."""
        core.synchronize_stream(0)
        for block in self._blocks:
            block.free()
