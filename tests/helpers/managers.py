"""Memory managers as users write them, on the core's pool."""

from __future__ import annotations

from typing import Any

from gpumath import memory
from gpumath.bindings import core


class Counted:
    """Memory of the core's pool, which counts what is in use."""

    def __init__(self) -> None:
        self.in_use = 0
        self.requests: list[int] = []
        self.streams: list[Any] = []

    def pointer(self, size: int, stream: Any) -> memory.MemoryPointer:
        block = core.allocate(size, stream=stream)
        self.in_use += 1
        self.requests.append(size)

        def give_back() -> None:
            self.in_use -= 1
            block.free()

        return memory.MemoryPointer(block.device_ptr, size, give_back)


class Manager(Counted):
    """A manager that knows no streams."""

    def memalloc(self, size: int) -> memory.MemoryPointer:
        return self.pointer(size, 0)


class AsyncManager(Counted):
    """A manager whose memory follows the order of a stream."""

    def memalloc_async(self, size: int, stream: Any) -> memory.MemoryPointer:
        self.streams.append(stream)
        return self.pointer(size, stream)
