"""Memory pointers and the protocols of memory managers."""

import nvmath
from nvmath.memory import BaseCUDAMemoryManager, MemoryPointer


class Manager(nvmath.BaseCUDAMemoryManager):
    def __init__(self, device_id, logger):
        self.device_id, self.logger = device_id, logger
        self.freed = []

    def memalloc(self, size):
        return MemoryPointer(0x7000, size, finalizer=lambda: self.freed.append(size))


class AsyncManager(nvmath.BaseCUDAMemoryManagerAsync):
    def __init__(self, device_id, logger):
        self.device_id, self.logger = device_id, logger

    def memalloc_async(self, size, stream):
        return nvmath.MemoryPointer(0x7000, size, None)


assert nvmath.MemoryPointer is MemoryPointer
manager = Manager(0, None)
assert isinstance(manager, BaseCUDAMemoryManager)
assert not isinstance(manager, nvmath.BaseCUDAMemoryManagerAsync)
pointer = manager.memalloc(64)
assert (pointer.device_ptr, pointer.size) == (0x7000, 64)
pointer.free()
try:
    pointer.free()
except RuntimeError:
    pass
else:
    raise AssertionError("freed twice")
dropped = manager.memalloc(32)
del dropped
assert manager.freed == [64, 32]

# Without a finalizer there is nothing to free, any number of times.
borrowed = AsyncManager(0, None).memalloc_async(16, None)
borrowed.free()
borrowed.free()

options = nvmath.fft.FFTOptions(allocator=manager)
assert options.allocator is manager
