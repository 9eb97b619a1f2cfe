"""Compares time and error of the CPU engine with scipy.fft, with equal threads, in twelve cases.

    python benchmarks/core/cpu_fft.py [--threads N] [--rounds N]

The two libraries take turns, so that a disturbance of the machine affects both. A round yields the
median of its calls; the table has the median of the rounds. An error is the root mean square of the
difference to a transform in long double precision, relative to that transform. The column "scaled"
is the time with ``norm="forward"`` relative to that without. The exit status is 1 if any case is
slower than SciPy or has more than twice its error.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
import scipy.fft

from gpumath.bench import _report
from gpumath.bindings.core import FftPlan

ROUND_SECONDS = 0.15
PRIME = 1_000_003


@dataclass(frozen=True)
class Case:
    """A shape and the axes that are transformed."""

    name: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]


CASES = (
    Case("16 × 1024", (16, 1024), (1,)),
    Case("4096 × 256", (4096, 256), (1,)),
    Case("2^20", (2**20,), (0,)),
    Case("1000003", (PRIME,), (0,)),
    Case("1024 × 1024", (1024, 1024), (0, 1)),
    Case("128 × 128 × 128", (128, 128, 128), (0, 1, 2)),
)


def median_ms(call: Callable[[], object]) -> float:
    """Return the median time, in milliseconds, of the calls that fit in one round."""
    times: list[float] = []
    end = time.perf_counter() + ROUND_SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Return the root mean square of the difference, relative to the reference."""
    difference = np.abs(got.astype(np.clongdouble) - expected)
    return float(np.sqrt(np.sum(difference**2) / np.sum(np.abs(expected) ** 2)))


def reference(operand: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the transform in long double precision."""
    return np.asarray(scipy.fft.fftn(operand.astype(np.clongdouble), axes=axes))


def measure(case: Case, dtype: type, threads: int, rounds: int) -> tuple[float, ...]:
    """Return the times in ms of gpumath, of gpumath with scaling and of SciPy, and both errors."""
    random = np.random.default_rng()
    parts = random.standard_normal((2, *case.shape))
    operand = (parts[0] + 1j * parts[1]).astype(dtype)
    output = np.empty_like(operand)
    plan = FftPlan(operand, axes=case.axes, execution="cpu", num_threads=threads)

    def ours() -> np.ndarray:
        plan.execute(operand, output, direction=-1)
        return output

    def scaled() -> None:
        plan.execute(operand, output, direction=-1, norm="forward")

    def theirs() -> np.ndarray:
        return np.asarray(scipy.fft.fftn(operand, axes=case.axes, workers=threads))

    expected = reference(operand, case.axes)
    errors = [relative_error(call(), expected) for call in (ours, theirs)]
    turns = [[median_ms(call) for call in (ours, scaled, theirs)] for _ in range(rounds)]
    times = [statistics.median(column) for column in zip(*turns, strict=True)]
    return (*times, *errors)


def main() -> int:
    """Measure all cases, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description="the CPU engine against scipy.fft")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    engine = FftPlan(np.zeros(8, np.complex64), execution="cpu").engine
    print(f"{platform.machine()}, {options.threads} threads, engine {engine!r}, ", end="")
    print(f"NumPy {np.__version__}, SciPy {scipy.__version__}, Python {platform.python_version()}")
    print(f"{'transform':<16} {'type':<10} {'gpumath ms':>11} {'SciPy ms':>9} {'ratio':>6}", end="")
    print(f" {'scaled':>6} {'error':>9} {'SciPy':>9}")
    failures = 0
    rows: list[tuple[str, dict[str, float]]] = []
    for dtype in (np.complex64, np.complex128):
        for case in CASES:
            times = measure(case, dtype, options.threads, options.rounds)
            ours, scaled, theirs, error, other = times
            failed = ours > theirs or error > 2 * other
            failures += failed
            found = {"gpumath": ours, "gpumath, scaled": scaled, "SciPy": theirs}
            rows.append((f"{case.name} {dtype.__name__}", found))
            print(f"{case.name:<16} {dtype.__name__:<10} {ours:11.4f} {theirs:9.4f}", end="")
            print(f" {ours / theirs:6.2f} {scaled / ours:6.2f} {error:9.2e} {other:9.2e}", end="")
            print("  missed" if failed else "", flush=True)
    if options.json:
        figures = _report.figures(
            rows, title="Transforms on the CPU", unit="ms", gpu=False, threads=options.threads
        )
        _report.save(options.json, figures)
    print(f"{failures} of {2 * len(CASES)} missed" if failures else "all met")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
