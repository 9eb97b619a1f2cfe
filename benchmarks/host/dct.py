"""Measures cosine and sine transforms beside SciPy on the CPU, or beside cupyx.scipy.fft (--gpu).

A row is a function, a type, a shape and axes. The last column is gpumath's time over the other's.
Both use one thread on the CPU, unless --threads says otherwise. With --random, the rows are random
functions, lengths and numbers of lines, half of the lines across the memory.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft

sys.path.append(str(Path(__file__).parent))
from _timing import finish, medians, report

Shape = tuple[str, tuple[int, ...], dict[str, Any]]

SHAPES: list[Shape] = [
    ("dct", (1024,), {}),
    ("dct", (1000, 1000), {}),
    ("dct", (1000, 1000), {"axis": 0}),
    ("dct", (100_000, 8), {}),
    ("dct", (1_000_000,), {}),
    ("dst", (64, 10_007), {}),
    ("idst", (300, 50, 40), {"axis": 1}),
    ("dctn", (512, 512), {}),
    ("dctn", (64, 64, 64), {}),
]
CPU_SHAPES: list[Shape] = [
    ("dct", (2,), {}),
    ("dct", (8,), {}),
    ("dct", (127,), {}),
    ("dct", (99_991,), {}),
    ("dct", (300_000, 2), {}),
    ("dct", (100_000, 3), {}),
    ("dct", (3000, 127), {}),
    ("dct", (2500, 100), {}),
    ("dct", (1001, 999), {}),
    ("dct", (999, 1001), {"axis": 0}),
    ("dct", (7, 1001), {}),
    ("dct", (16, 65_536), {}),
    ("dct", (16, 65_536), {"axis": 0}),
    ("dct", (65_536, 3), {"axis": 0}),
    ("idct", (300, 50, 40), {"axis": 0}),
    ("dst", (40, 50, 300), {"axis": 1}),
    ("dctn", (8, 8), {}),
]
# Short lines, primes and their neighbours, lines across, and a few long lines.
FURTHER_SHAPES: list[Shape] = [
    *(("dct", (20_000 // points, points), {}) for points in (*range(2, 14), 49, 50, 99, 101, 128)),
    *(("dst", (200, points), {}) for points in (189, 255, 257, 300, 499, 529, 567, 1009)),
    *(("dct", (points, 200), {"axis": 0}) for points in (9, 50, 101, 127, 255, 256, 1001)),
    *(("dst", (1, points), {}) for points in (9, 53, 99, 343, 511, 4001)),
    *(("dct", (lines, 30_000), {}) for lines in (2, 9)),
    *(("dct", (65_536, lines), {"axis": 0}) for lines in (2, 5, 9)),
]
LARGE_SHAPES: list[Shape] = [
    ("dct", (64, 1 << 20), {}),
    ("dct", (8192, 8192), {"axis": 0}),
    ("dctn", (8192, 8192), {}),
    ("dctn", (256, 256, 256), {}),
]

# Elements of a random array.
FEWEST_RANDOM, MOST_RANDOM = 64, 1 << 16
FEWEST_RANDOM_ON_GPU, MOST_RANDOM_ON_GPU = 10_000, 30_000_000
FUNCTIONS = ["dct", "dst", "idct", "idst"]


def random_rows(
    dtypes: Sequence[str], types: Sequence[int], seconds: float, fewest: int, most: int
) -> Iterator[tuple[Shape, str, int]]:
    """Yield random arrays of three dimensions and the axis of their lines."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        numbers = exp(random.uniform(log(fewest), log(most)))
        points = int(exp(random.uniform(log(2), log(numbers / 2))))
        lines = numbers / points
        beside = int(exp(random.uniform(0, log(lines)))) if random.random() < 0.5 else 1
        shape = (int(lines / beside), points, beside)
        row = (random.choice(FUNCTIONS), shape, {"axis": 1})
        yield row, random.choice(dtypes), random.choice(types)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each row")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="of the thread; for one thread")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    parser.add_argument("--types", nargs="+", type=int, default=[1, 2, 3, 4])
    parser.add_argument("--further", action="store_true", help="other lengths, for the CPU")
    parser.add_argument("--gpu-alone", action="store_true", help="never wait for the host")
    parser.add_argument("--random", type=float, metavar="SECONDS", help="of random arrays")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    xp: Any = np
    workers = {} if arguments.gpu else {"workers": arguments.threads}
    if arguments.gpu:
        import cupy
        import cupyx.scipy.fft as peer

        xp = cupy
    else:
        import scipy.fft as peer
    rng = xp.random.default_rng()
    found: dict[str, dict[str, float]] = {}
    shapes = SHAPES + (LARGE_SHAPES if arguments.gpu else CPU_SHAPES)
    if arguments.further:
        shapes = FURTHER_SHAPES
    # CuPy has the types 2 and 3 only.
    types = [kind for kind in arguments.types if not arguments.gpu or kind in (2, 3)]
    rows: Iterator[tuple[Shape, str, int]] = product(shapes, arguments.dtypes, types)
    if arguments.random is not None:
        fewest, most = FEWEST_RANDOM, MOST_RANDOM
        if arguments.gpu:
            fewest, most = FEWEST_RANDOM_ON_GPU, MOST_RANDOM_ON_GPU
        rows = random_rows(arguments.dtypes, types, arguments.random, fewest, most)
    for (name, shape, where), dtype, kind in rows:
        x = rng.standard_normal(shape).astype(dtype)
        own, other = getattr(fft, name), getattr(peer, name)
        calls = {
            "gpumath": lambda f=own, x=x, k=kind, kw={**where, **workers}: f(x, k, **kw),
            "cupyx"
            if arguments.gpu
            else "SciPy": lambda f=other, x=x, k=kind, kw={**where, **workers}: f(x, k, **kw),
        }
        how = {"cpu_time": arguments.cpu_time, "gpu_alone": arguments.gpu_alone}
        times = medians(calls, arguments.seconds, arguments.gpu, **how)
        axes = f" {where}" if where else ""
        row = f"{name} {kind} {dtype} {shape}{axes}"
        found[row] = report(row, times)
    title = f"Cosine and sine transforms {'on a GPU' if arguments.gpu else 'on the CPU'}"
    finish(found, title, arguments.gpu, arguments.json)


if __name__ == "__main__":
    main()
