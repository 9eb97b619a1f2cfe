"""A memory manager on cuda.core's memory resources, which take cuda.core's streams only."""

import cupy as cp
import nvmath
from cuda.core import Device, Stream

device = Device(cp.cuda.Device().id)
device.set_current()


class Manager(nvmath.BaseCUDAMemoryManagerAsync):
    def __init__(self, device_id, logger):
        self.device_id, self.logger = device_id, logger
        self.streams = []

    def memalloc_async(self, size, stream):
        assert isinstance(stream, Stream), type(stream)
        self.streams.append(stream)
        buffer = device.memory_resource.allocate(size, stream=stream)
        return nvmath.MemoryPointer(int(buffer.handle), size, buffer.close)


manager = Manager(device.device_id, None)
a = cp.random.standard_normal((64, 4099)) + 0j  # a prime length needs a workspace
own = cp.cuda.Stream(non_blocking=True)
own.synchronize()
cp.cuda.Device().synchronize()
for stream in (None, own):
    result = nvmath.fft.fft(a, axes=[1], options={"allocator": manager}, stream=stream)
    cp.cuda.Device().synchronize()
    assert cp.allclose(result, cp.fft.fft(a))
assert len(manager.streams) >= 2
