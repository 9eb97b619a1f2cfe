"""Memory that others hold while a graph runs, which shows writes into memory that was freed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from gpumath.bindings import core, driver
from tests.helpers.captures import primary_context

_BLOCKS = 2  # of each size, pool and stream


@contextmanager
def memory_canaries(size: int, stream: Any) -> Iterator[None]:
    """Hold blocks of every pool with all bits set: NaN in every type. At the end, check them.

    Blocks of ``size`` bytes lie where a workspace of that size was returned to its pool, on the
    default stream or on ``stream``. The smaller ones lie where a plan kept its tables.
    """
    sizes = [max(size, 1), 1 << 20, 1 << 16, 1 << 12]
    handle = core.stream_handle(stream)
    owners: list[Any] = []
    blocks: list[tuple[int, int]] = []
    for count in sizes * _BLOCKS:
        for used in (0, handle):
            for block, address in _allocated(count, used):
                owners.append(block)
                blocks.append((address, count))
    with primary_context():
        raw = [driver.mem_alloc(count) for count in sizes * _BLOCKS]
    blocks += zip(raw, sizes * _BLOCKS, strict=True)
    pattern = np.full(max(sizes), 0xFF, np.uint8)
    core.Device(0).synchronize()
    for address, count in blocks:
        core.copy(address, pattern.ctypes.data, count)
    core.synchronize_stream(0)
    try:
        yield
        found = np.empty_like(pattern)
        for address, count in blocks:
            core.copy(found.ctypes.data, address, count)
            core.synchronize_stream(0)
            assert (found[:count] == 0xFF).all(), "the graph has written to memory of others"
    finally:
        with primary_context():
            for address in raw:
                driver.mem_free(address)


def _allocated(count: int, stream: int) -> Iterator[tuple[Any, int]]:
    """A block of each pool there is, for work on a stream, and its address."""
    own = core.allocate(count, stream=stream)
    yield own, own.device_ptr
    if find_spec("cupy"):
        import cupy

        with cupy.cuda.Stream.from_external(_Handle(stream)) if stream else cupy.cuda.Stream.null:
            block = cupy.cuda.alloc(count)
        yield block, block.ptr
    if find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            used = torch.cuda.ExternalStream(stream) if stream else torch.cuda.default_stream()
            with torch.cuda.stream(used):
                tensor = torch.empty(count, dtype=torch.uint8, device="cuda")
            yield tensor, tensor.data_ptr()


class _Handle:
    def __init__(self, stream: int) -> None:
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream
