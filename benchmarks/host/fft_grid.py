"""Measures random transforms: any axes, extents, kinds and element types, beside other libraries.

`python -m gpumath.bench` has the same rows each time; these are others for each seed. Rows above a
limit are measured again, with more turns, the worst ones first, in as much time at most. On a GPU,
the natural layout is compared with its bound: as long as the optimized layout may take, and one
pass over the result at 80 % of the bandwidth of a copy.
"""

from __future__ import annotations

import argparse
import logging
import math
import random
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from gpumath import memory
from gpumath.bench import _report
from gpumath.bench._measure import cpu_ms, gpu_ms, measured
from gpumath.bench._rows import Fft
from gpumath.bench._subjects import Subjects, cpu_subjects, forget_plans, gpu_subjects
from gpumath.bindings import core

LIMIT = 1.05
MOST = {"cpu": 1 << 22, "cuda": 1 << 26}  # elements of an operand
Times = dict[str, float | None]


def main() -> None:
    """Measure rows until the time is over, and print the worst ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execution", choices=MOST, default="cuda")
    parser.add_argument("--threads", type=int, default=core.usable_cores(), help="on the CPU")
    parser.add_argument("--seconds", type=float, default=30.0, help="for the first turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="turns of each library")
    parser.add_argument("--worst", type=int, default=12, help="how many rows to print")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    on_gpu = options.execution == "cuda"
    subjects = gpu_subjects() if on_gpu else cpu_subjects(options.threads)
    choose = random.Random(options.seed)
    logging.disable()  # some libraries log what they refuse
    rows: dict[Fft, Times] = {}
    end = time.perf_counter() + options.seconds
    with suppress(KeyboardInterrupt):  # which ends the measurements early
        while time.perf_counter() < end:
            row = random_row(choose, on_gpu)
            rows[row] = times_of(row, subjects, options.rounds, on_gpu)
        above = {row: excess(row, times) for row, times in rows.items()}
        for row in sorted(rows, key=lambda row: above[row], reverse=True):
            if above[row] <= 1 or time.perf_counter() > end + options.seconds:
                break
            rows[row] = times_of(row, subjects, 7 * options.rounds, on_gpu)
    found = _report.figures(
        [(row.name, times) for row, times in rows.items()],
        title="Random transforms",
        unit="ms",
        gpu=on_gpu,
        threads=options.threads,
    )
    if options.json:
        _report.save(options.json, found)
    print_summary(rows, options.worst)


def random_row(choose: random.Random, on_gpu: bool) -> Fft:
    """Return a row of 1 to 5 dimensions, of which 1 to 3 are transformed."""
    most = MOST["cuda" if on_gpu else "cpu"]
    while True:
        dimensions = choose.randint(1, 5)
        size = 2 ** choose.uniform(10, math.log2(most))
        shares = [choose.gammavariate(1, 1) for _ in range(dimensions)]
        shape = tuple(extent(choose, size ** (part / sum(shares))) for part in shares)
        axes = choose.sample(range(dimensions), choose.randint(1, min(3, dimensions)))
        kind = choose.choice(["C2C", "C2C", "R2C", "C2R"])
        real, of_complex = choose.choice(
            [("float32", "complex64")] * 3
            + [("float64", "complex128")] * 2
            + [("float16", "complex32")] * on_gpu
        )
        view = "slice" if choose.random() < 0.1 else ""
        row = Fft(shape, tuple(sorted(axes)), kind, real if kind == "R2C" else of_complex, view)
        lengths = [shape[axis] for axis in axes]
        is_half = real == "float16"  # whose lengths are powers of two
        if math.prod(shape) > most or min(lengths) < 2:
            continue
        if is_half and (kind == "C2R" or any(length & (length - 1) for length in lengths)):
            continue
        return row


def extent(choose: random.Random, about: float) -> int:
    """Return a power of two, a product of small primes, a prime or any number near this one."""
    near = max(1, round(about))
    match choose.randrange(4):
        case 0:
            return 2 ** round(math.log2(near))
        case 1:
            return min(_smooth_numbers(), key=lambda number: abs(number - near))
        case 2:
            return next(n for n in range(near, 2 * near + 3) if _is_prime(n))
        case _:
            return near


@cache
def _smooth_numbers() -> list[int]:
    found = [1]
    for prime in (2, 3, 5, 7):
        for number in found:  # which grows meanwhile
            if number * prime <= MOST["cuda"]:
                found.append(number * prime)
    return found


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, math.isqrt(number) + 1))


def times_of(row: Fft, subjects: Subjects, rounds: int, on_gpu: bool) -> Times:
    """Return the milliseconds of each subject."""
    times = measured(row, subjects, gpu_ms if on_gpu else cpu_ms, rounds)
    forget_plans("cuda" if on_gpu else "cpu")
    return times


def excess(row: Fft, times: Times) -> float:
    """Return the larger one of the ratios of both layouts to what they may take."""
    return max((_report.ratio(times) or 0) / LIMIT, natural_ratio(row, times) or 0)


def natural_ratio(row: Fft, times: Times) -> float | None:
    """Return the time of the natural layout in units of its bound."""
    natural, ours, compared = times.get("gpumath, natural"), times["gpumath"], _report.ratio(times)
    if not (natural and ours and compared):
        return None
    return natural / (LIMIT * ours / compared + pass_ms(row))


def pass_ms(row: Fft) -> float:
    """Return how long it takes to read and write the result at 80 % of a copy's bandwidth."""
    shape = list(row.shape)
    last = row.axes[-1]
    bytes_each = {"16": 2, "32": 4, "64": 8, "128": 16}[row.dtype.lstrip("complexfat")]
    if row.kind == "R2C":
        shape[last] = shape[last] // 2 + 1
        bytes_each *= 2
    elif row.kind == "C2R":
        shape[last] = 2 * (shape[last] - 1)
        bytes_each //= 2
    return 2 * math.prod(shape) * bytes_each / (0.8 * copied_bytes_per_ms())


@cache
def copied_bytes_per_ms() -> float:
    """Return how many bytes a copy within the GPU reads and writes in a millisecond."""
    count = 1 << 30
    source, target = memory.empty((count,), "uint8"), memory.empty((count,), "uint8")
    return 2 * count / gpu_ms(lambda: core.copy(target.ptr, source.ptr, count))


def print_summary(rows: dict[Fft, Times], worst: int) -> None:
    """Print how the ratios are distributed, and the rows with the largest ones."""
    for title, ratios, most in (
        ("gpumath, of the fastest other", {r: _report.ratio(t) for r, t in rows.items()}, LIMIT),
        ("natural, of its bound", {r: natural_ratio(r, t) for r, t in rows.items()}, 1.0),
    ):
        found = sorted(ratio for ratio in ratios.values() if ratio)
        if found:
            parts = ", ".join(f"{found[int(q * (len(found) - 1))]:.2f}" for q in (0.1, 0.5, 0.9, 1))
            above = sum(ratio > most for ratio in found)
            print(f"{title}: {len(found)} rows; 10, 50, 90, 100 % at {parts}; {above} above {most}")
    for row in sorted(rows, key=lambda row: excess(row, rows[row]), reverse=True)[:worst]:
        times = ", ".join(f"{name} {value:.4f}" for name, value in rows[row].items() if value)
        own, natural = _report.ratio(rows[row]) or 0, natural_ratio(row, rows[row]) or 0
        print(f"{own:.2f}  {natural:.2f}  {row.name}: {times}")


if __name__ == "__main__":
    main()
