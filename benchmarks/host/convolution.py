"""Measures convolutions beside SciPy on the CPU, or beside cupyx.scipy.signal on a GPU (--gpu).

A row is two shapes, an element type and a function. The last column is gpumath's time over the
other's; the worst rows are named at the end.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft

sys.path.append(str(Path(__file__).parent))
from _timing import finish, medians, report

ROWS: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    ("convolve", (100,), (10,)),
    ("convolve", (1000,), (50,)),
    ("convolve", (10_000,), (100,)),
    ("convolve", (100_000,), (1000,)),
    ("convolve", (1_000_000,), (50,)),
    ("convolve", (1_000_000,), (1000,)),
    ("convolve", (1_000_000,), (500_000,)),
    ("convolve", (64, 64), (5, 5)),
    ("convolve", (512, 512), (3, 3)),
    ("convolve", (1024, 1024), (31, 31)),
    ("convolve", (64, 64, 64), (9, 9, 9)),
    ("fftconvolve", (1000,), (1000,)),
    ("fftconvolve", (100_000,), (100_000,)),
    ("fftconvolve", (512, 512), (512, 512)),
    ("fftconvolve", (64, 10_000), (1, 1000)),
    ("oaconvolve", (10_000,), (100,)),
    ("oaconvolve", (1_000_000,), (100,)),
    ("oaconvolve", (1_000_000,), (10_000,)),
    ("oaconvolve", (16, 200_000), (1, 500)),
    ("oaconvolve", (2048, 2048), (31, 31)),
]
LARGE_ROWS: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    ("convolve", (4096, 4096), (3, 3)),
    ("convolve", (4096, 4096), (63, 63)),
    ("fftconvolve", (10_000_000,), (1000,)),
    ("fftconvolve", (4096, 4096), (4096, 4096)),
    ("fftconvolve", (64, 1_000_000), (1, 1000)),
    ("oaconvolve", (10_000_000,), (1000,)),
    ("oaconvolve", (100_000_000,), (10_000,)),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each row")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex64"])
    parser.add_argument("--functions", nargs="+", default=["convolve", "fftconvolve", "oaconvolve"])
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    xp: Any = np
    if arguments.gpu:
        import cupy
        import cupyx.scipy.signal as peer

        xp = cupy
    else:
        import scipy.signal as peer
    rng = np.random.default_rng()
    found: dict[str, dict[str, float]] = {}
    rows = ROWS + (LARGE_ROWS if arguments.gpu else [])
    rows = [row for row in rows if row[0] in arguments.functions]
    for (name, first, second), dtype in product(rows, arguments.dtypes):
        in1, in2 = (
            xp.asarray(rng.standard_normal(shape).astype(dtype)) for shape in (first, second)
        )
        axes = {"axes": 1} if 1 in second else {}
        own, other = getattr(fft, name), getattr(peer, name)
        calls = {
            "gpumath": lambda own=own, a=in1, b=in2, kw=axes: own(a, b, **kw),
            "cupyx" if arguments.gpu else "SciPy": lambda f=other, a=in1, b=in2, kw=axes: f(
                a, b, **kw
            ),
        }
        times = medians(calls, arguments.seconds, arguments.gpu)
        row = f"{name} {dtype} {first} * {second}"
        found[row] = report(row, times, *calls)
    title = f"Convolutions {'on a GPU' if arguments.gpu else 'on the CPU'}"
    finish(found, title, arguments.gpu, arguments.json)


if __name__ == "__main__":
    main()
