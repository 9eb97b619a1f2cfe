"""Measures contiguous lines of one length after another on one thread of the CPU.

    python benchmarks/core/cpu_lines.py [--points N ...] [--seconds S]

The table has nanoseconds for a line, forward, of a batch of 256 KB: the least of all calls, because
whatever else runs on the machine only adds to it. gpumath and SciPy take turns of 10 ms.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np
import scipy
import scipy.fft

from gpumath.bindings.core import FftPlan

BATCH_BYTES = 1 << 18
POINTS = (50, 64, 100, 128, 200, 256, 360, 500, 512, 1000, 1024, 2048, 4096)
TYPES = (np.complex64, np.complex128, np.float32, np.float64)


def least_ns(calls: list[Callable[[], object]], seconds: float) -> list[float]:
    """Return the least time of each call, in turns of 10 ms."""
    least = [float("inf")] * len(calls)
    for _ in range(max(1, round(seconds / 0.01 / len(calls)))):
        for index, call in enumerate(calls):
            end = time.perf_counter() + 0.01
            while (start := time.perf_counter()) < end:
                call()
                least[index] = min(least[index], time.perf_counter() - start)
    return [value * 1e9 for value in least]


def measure(points: int, dtype: type, seconds: float) -> list[float]:
    """Return the times of a line, by gpumath and by SciPy, in ns."""
    is_real = np.dtype(dtype).kind == "f"
    lines = max(1, BATCH_BYTES // np.dtype(dtype).itemsize // points)
    random = np.random.default_rng()
    operand = random.standard_normal((lines, points)).astype(dtype)
    if not is_real:
        operand += 1j * random.standard_normal((lines, points))
    theirs = scipy.fft.rfft if is_real else scipy.fft.fft
    result = np.empty_like(theirs(operand))
    kind = "R2C" if is_real else "C2C"
    plan = FftPlan(operand, axes=(1,), kind=kind, execution="cpu", num_threads=1)

    def ours() -> None:
        plan.execute(operand, result, direction=-1)

    times = least_ns([ours, lambda: theirs(operand, workers=1)], seconds)
    return [value / lines for value in times]


def main() -> None:
    """Measure all lengths, and print the table."""
    parser = argparse.ArgumentParser(description="contiguous lines on one thread of the CPU")
    parser.add_argument("--points", type=int, nargs="+", default=POINTS)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each cell")
    options = parser.parse_args()
    engine = FftPlan(np.zeros(8, np.complex64), execution="cpu").engine
    print(f"{platform.machine()}, engine {engine!r}, NumPy {np.__version__}, ", end="")
    print(f"SciPy {scipy.__version__}, Python {platform.python_version()}")
    names = [np.dtype(dtype).name for dtype in TYPES]
    print("| points |" + "".join(f" {name} | SciPy |" for name in names))
    print("|---|" + "---|---|" * len(names))
    for points in options.points:
        cells = [measure(points, dtype, options.seconds) for dtype in TYPES]
        print(f"| {points} |" + "".join(f" {a:.0f} | {b:.0f} |" for a, b in cells), flush=True)


if __name__ == "__main__":
    main()
