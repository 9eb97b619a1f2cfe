"""Lets kernels have as much shared memory as the GPU has, which Numba does not."""

from __future__ import annotations

from array import array
from typing import Any

from gpumath.bindings import driver
from gpumath.bindings.driver import DeviceAttribute, FunctionAttribute
from gpumath.bindings.errors import FunctionNotFoundError

__all__ = ["allow_large_shared_memory"]


def allow_large_shared_memory(module: Any) -> None:
    """Allow the kernels of a module that Numba has loaded to be launched with over 48 KB.

    Drivers older than CUDA 12.4 cannot say which kernels these are, and leave them at 48 KB.
    """
    library = int(module.handle)
    try:
        count = driver.library_get_kernel_count(library)
    except FunctionNotFoundError:
        return
    kernels = array("Q", [0] * count)
    driver.library_enumerate_kernels(kernels, len(kernels), library)
    device = driver.ctx_get_device()
    attribute = DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    limit = driver.device_get_attribute(attribute, device)
    for kernel in kernels:
        own = driver.kernel_get_attribute(FunctionAttribute.SHARED_SIZE_BYTES, kernel, device)
        largest = FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.kernel_set_attribute(largest, limit - own, kernel, device)
