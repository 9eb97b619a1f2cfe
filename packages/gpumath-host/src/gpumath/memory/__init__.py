"""Arrays in device, pinned, unified and host memory, and the protocols of memory managers.

The ``allocator`` in the options of an operation is a memory manager: any object with the method of
`BaseCUDAMemoryManager` or of `BaseCUDAMemoryManagerAsync`.
"""

from gpumath._host.arrays import empty, from_dlpack
from gpumath._host.memory_managers import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath.bindings.core import Array, MemoryPointer

__all__ = [
    "Array",
    "BaseCUDAMemoryManager",
    "BaseCUDAMemoryManagerAsync",
    "MemoryPointer",
    "empty",
    "from_dlpack",
]
