"""What a user writes who brings device memory; checked by mypy and pyright, never run."""

from typing import Any

import numpy as np

from gpumath import fft, memory


class Manager:
    """Memory for gpumath from somewhere else."""

    def memalloc(self, size: int) -> memory.MemoryPointer:
        return memory.MemoryPointer(0, size, None)


class StreamOrderedManager:
    """Memory from somewhere else, in the order of a stream."""

    def memalloc_async(self, size: int, stream: Any) -> memory.MemoryPointer:
        return memory.MemoryPointer(0, size, None)


managers: list[memory.BaseCUDAMemoryManager | memory.BaseCUDAMemoryManagerAsync] = [
    Manager(),
    StreamOrderedManager(),
]
options = fft.FFTOptions(allocator=managers[0], blocking=True)
with fft.FFT(np.ones(8, np.complex64), options=options, execution="cuda") as transform:
    transform.plan()
    transform.execute()

array: memory.Array = memory.empty((2, 3), "float32", kind="managed", stream=1)
array.prefetch("cpu")
array.advise("read_mostly", on=False)
shape: tuple[int, ...] = array.shape
borrowed: memory.Array = memory.from_dlpack(np.ones(3), stream=2)
view = np.asarray(array)

# A mistake that the checkers must find: an unused suppression is an error too.
fft.FFTOptions(allocator=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
