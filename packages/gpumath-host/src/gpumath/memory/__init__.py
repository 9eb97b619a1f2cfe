"""Device memory and the protocols of what allocates it.

An ``allocator`` in the options of an operation is any object with the method of
`BaseCUDAMemoryManager` or of `BaseCUDAMemoryManagerAsync`.
"""

from gpumath._host.memory import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath.bindings.core import MemoryPointer

__all__ = ["BaseCUDAMemoryManager", "BaseCUDAMemoryManagerAsync", "MemoryPointer"]
