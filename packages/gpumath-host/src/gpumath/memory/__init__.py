"""Arrays in device, pinned and unified memory, and the protocols of what allocates memory.

An ``allocator`` in the options of an operation is any object with the method of
`BaseCUDAMemoryManager` or of `BaseCUDAMemoryManagerAsync`.
"""

from gpumath._host.arrays import empty, from_dlpack
from gpumath._host.memory import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath.bindings.core import Array, MemoryPointer

__all__ = [
    "Array",
    "BaseCUDAMemoryManager",
    "BaseCUDAMemoryManagerAsync",
    "MemoryPointer",
    "empty",
    "from_dlpack",
]
