"""A memory manager on CuPy's pool, which counts."""

import cupy as cp
import nvmath


class Manager(nvmath.BaseCUDAMemoryManager):
    def __init__(self, device_id, logger):
        self.device_id, self.logger = device_id, logger
        self.sizes = []

    def memalloc(self, size):
        self.sizes.append(size)
        memory = cp.cuda.alloc(size)
        return nvmath.MemoryPointer(memory.ptr, size, finalizer=lambda: memory)


manager = Manager(0, None)
a = cp.random.standard_normal((64, 4099)) + 0j
with nvmath.fft.FFT(a, axes=[1], options=nvmath.fft.FFTOptions(allocator=manager)) as transform:
    transform.plan()
    for _ in range(3):
        assert cp.allclose(transform.execute(), cp.fft.fft(a))
    assert len(manager.sizes) == 1
    transform.execute(release_workspace=True)
    transform.execute()
    assert len(manager.sizes) == 2
