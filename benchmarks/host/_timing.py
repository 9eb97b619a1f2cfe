"""Times subjects side by side: on the CPU by the clock, on a GPU by events."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpumath.bench import _report

Call = Callable[[], object]


def medians(
    calls: Mapping[str, Call],
    seconds: float,
    on_gpu: bool,
    *,
    cpu_time: bool = False,
    gpu_alone: bool = False,
) -> dict[str, float]:
    """Return the median seconds of each call; all of them run in every round.

    With ``cpu_time`` they are those that this thread computed, which others on a busy machine
    disturb less. With ``gpu_alone`` a GPU never waits for the host.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    of_gpu = _gpu_seconds_alone if gpu_alone else _gpu_seconds
    measure = of_gpu if on_gpu else _cpu_seconds if cpu_time else _seconds
    for call in calls.values():
        measure(call, 1)
    repeats = {name: _repeats(measure, call) for name, call in calls.items()}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times.values())) < 3:
        for name, call in calls.items():
            times[name].append(measure(call, repeats[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def _repeats(measure: Callable[[Call, int], float], call: Call) -> int:
    """Return how often to run a call, so that it takes about two milliseconds."""
    return max(1, min(1000, int(2e-3 / measure(call, 1))))


def _seconds(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _cpu_seconds(call: Call, repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - start) / repeats


def _gpu_seconds(call: Call, repeats: int) -> float:
    import cupy

    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3 / repeats


# Bytes that a GPU writes in a fifth of a millisecond or so.
_FILLER = 1 << 29


def _gpu_seconds_alone(call: Call, repeats: int) -> float:
    """Measure calls that are enqueued while the GPU is busy with something else."""
    import cupy

    repeats = min(repeats, 8)
    begin = time.perf_counter()
    call()
    host = (time.perf_counter() - begin) * repeats
    filler = cupy.empty(_FILLER, cupy.uint8)
    for _ in range(int(2 * host / 2e-4) + 1):
        filler.fill(0)
    return _gpu_seconds(call, repeats)


def report(row: str, times: Mapping[str, float]) -> dict[str, float]:
    """Print one row, and return its times in µs, for a file."""
    found = {name: seconds * 1e6 for name, seconds in times.items()}
    cells = "".join(f"  {name} {time:11.1f} us" for name, time in found.items())
    print(f"{row:44s}{cells}  ratio {_report.ratio(found) or 0:5.2f}", flush=True)
    return found


def finish(
    rows: Mapping[str, Mapping[str, float]], title: str, gpu: bool, path: Path | None
) -> None:
    """Print the worst rows, and write all to a file if one was asked for."""
    ratios = {name: _report.ratio(times) or 0.0 for name, times in rows.items()}
    for name in sorted(ratios, key=ratios.__getitem__, reverse=True)[:5]:
        print(f"worst: {ratios[name]:.2f}  {name}")
    if path:
        found = _report.figures(rows.items(), title=title, unit="µs", gpu=gpu)
        _report.save(path, found)
