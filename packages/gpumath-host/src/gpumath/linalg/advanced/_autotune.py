"""Measures algorithms on the GPU."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpumath._host.progress import with_progress
from gpumath.bindings import core, driver

__all__ = ["median_times"]

_WARM_UP = 2
# How often the cache is filled before a run: the host enqueues the run meanwhile, or its time on
# the GPU would be that of the host.
_FILLINGS = 4
# Algorithms whose time is within this ratio of the shortest one are measured so many times more, if
# that is shorter than this, in milliseconds: longer times hardly vary.
_CLOSE = 1.1
_MORE = 4
_SHORT = 1.0


def median_times(
    runs: Sequence[Callable[[], Any]], iterations: int, device_id: int, stream: int
) -> list[float]:
    """Return the median time of each of ``runs`` on a stream of the GPU, in milliseconds.

    They take turns in random order, so that a clock that changes is the same for all. Before each
    the cache of the GPU is filled with something else, as it would be in a program: a product after
    itself would find its operands there. The fastest ones of short runs, which differ by little,
    are measured more often than the others.
    """
    start, end = (core.Event(device_id, timing=True) for _ in range(2))
    device = driver.device_get(device_id)
    cache = driver.device_get_attribute(driver.DeviceAttribute.L2_CACHE_SIZE, device)
    size = max(2 * cache, 1 << 20)
    filler = core.allocate(size, device_id=device_id, stream=stream)
    times: list[list[float]] = [[] for _ in runs]

    def measure(numbers: Sequence[int], turns: int) -> None:
        for _ in with_progress(range(turns), "autotune"):
            for number in random.sample(numbers, len(numbers)):
                for _ in range(_FILLINGS):
                    driver.memset_d8_async(filler.device_ptr, 0, size, stream)
                start.record(stream)
                runs[number]()
                end.record(stream)
                end.synchronize()
                times[number].append(start.elapsed_ms(end))

    for run in runs:
        for _ in range(_WARM_UP):
            run()
    with _primary_context(device):
        measure(range(len(runs)), iterations)
        found = [statistics.median(some) for some in times]
        close = [number for number, time in enumerate(found) if time <= _CLOSE * min(found)]
        if len(close) > 1 and min(found) < _SHORT:
            measure(close, _MORE * iterations)
    filler.free()
    return [statistics.median(some) for some in times]


@contextmanager
def _primary_context(device: int) -> Iterator[None]:
    """Make a device's primary context the current one: a thread may have another, or none."""
    context = driver.device_primary_ctx_retain(device)
    try:
        driver.ctx_push_current(context)
        try:
            yield
        finally:
            driver.ctx_pop_current()
    finally:
        driver.device_primary_ctx_release(device)
