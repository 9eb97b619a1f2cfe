"""Times the subjects of a row, which take turns."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import TypeAlias

from gpumath.bench._rows import Row
from gpumath.bench._subjects import Call, Subjects
from gpumath.bindings import core

__all__ = ["Timer", "cpu_ms", "gpu_ms", "host_ms", "measured"]

Timer: TypeAlias = Callable[[Call], float]

_ROUND_SECONDS = 0.1
_HOST_CALLS = 200  # so few that the queue of a GPU does not fill up
# Threads of other libraries stay awake for a while after a call, and would take cores from the next
# library: those of OpenBLAS for about 0.1 s, as measured, and those of Intel's OpenMP for 0.2 s.
_UNTIL_THREADS_SLEEP = 0.2


def measured(row: Row, subjects: Subjects, timer: Timer, rounds: int) -> dict[str, float | None]:
    """Return the median milliseconds of each subject; None where it refuses the row."""
    with warnings.catch_warnings():
        # Some libraries warn of what they measure here, such as half precision.
        warnings.simplefilter("ignore")
        return _medians(row, subjects, timer, rounds)


def _medians(row: Row, subjects: Subjects, timer: Timer, rounds: int) -> dict[str, float | None]:
    calls: dict[str, Call] = {}
    for name, make in subjects.items():
        try:
            call = make(row)
            call()
        except Exception as error:
            # What another library refuses, and by which exception, is its own affair.
            if name == "gpumath" and not isinstance(error, MemoryError | NotImplementedError):
                raise
            continue
        calls[name] = call
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            times[name].append(timer(call))
    medians = {name: statistics.median(all_[1:]) for name, all_ in times.items()}
    return {name: medians.get(name) for name in subjects}


def cpu_ms(call: Call) -> float:
    """Return the median time of the calls that fit into one round."""
    time.sleep(_UNTIL_THREADS_SLEEP)
    times: list[float] = []
    end = time.perf_counter() + _ROUND_SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def gpu_ms(call: Call) -> float:
    """Return the GPU time of one call, from as many calls as take a while."""
    start, end = core.Event(timing=True), core.Event(timing=True)
    count = 3
    elapsed = 0.0
    for _ in range(2):
        call()  # The GPU is busy with this call while the others are submitted.
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        elapsed = start.elapsed_ms(end) / count
        if elapsed > 0.5:
            break
        count = 20
    return elapsed


def host_ms(call: Call, *, on_gpu: bool) -> float:
    """Return the time of a call without the GPU's work, which is not waited for meanwhile."""
    if not on_gpu:
        time.sleep(_UNTIL_THREADS_SLEEP)
    times: list[float] = []
    end = time.perf_counter() + _ROUND_SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(_HOST_CALLS):
            call()
        times.append((time.perf_counter() - start) / _HOST_CALLS)
        if on_gpu:
            core.Device(0).synchronize()
    return statistics.median(times) * 1e3
