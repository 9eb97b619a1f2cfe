"""Measures convolutions beside SciPy on the CPU, or beside CuPy and PyTorch on a GPU (--gpu).

A row is two shapes, an element type and a function; on a GPU, the rows of `filters` are images and
small filters, with results of the image's shape. The last column is gpumath's time over that of
the fastest other; the worst rows are named at the end. With --methods the others are gpumath's own
methods, so that the ratio is what the choice between them costs. With --random, the rows are random
lines and filters; with --random-images, they are random arrays of one to three dimensions.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import product
from math import exp, log, prod
from pathlib import Path
from typing import Any

from scipy.fft import set_workers

from gpumath import fft

sys.path.append(str(Path(__file__).parent))
from _timing import Call, finish, medians, report

Row = tuple[str, tuple[int, ...], tuple[int, ...]]

ROWS: list[Row] = [
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
LARGE_ROWS: list[Row] = [
    ("convolve", (4096, 4096), (3, 3)),
    ("convolve", (4096, 4096), (63, 63)),
    ("fftconvolve", (10_000_000,), (1000,)),
    ("fftconvolve", (4096, 4096), (4096, 4096)),
    ("fftconvolve", (64, 1_000_000), (1, 1000)),
    ("oaconvolve", (10_000_000,), (1000,)),
    ("oaconvolve", (100_000_000,), (10_000,)),
]


FILTERS = [
    ("filters", (size, size), (taps, taps))
    for size in (64, 256, 1024, 4096)
    for taps in (3, 5, 7, 15, 31)
]


# Elements of the longer array of a random row.
FEWEST_RANDOM, MOST_RANDOM = 100_000, 40_000_000
# A filter with more elements takes cupyx.scipy.signal.convolve2d far too long.
MOST_TAPS_OF_CONVOLVE2D = 100


def random_lines(dtypes: Sequence[str], seconds: float, most: int) -> Iterator[tuple[Row, str]]:
    """Yield lines and filters of random lengths, and an element type for each."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        largest = max(min(most, MOST_RANDOM), FEWEST_RANDOM)
        numbers = exp(random.uniform(log(FEWEST_RANDOM), log(largest)))
        lines = random.choice([1, 1, 4, 24, 600])
        points = int(numbers / lines)
        taps = int(exp(random.uniform(log(4), log(points))))
        yield ("fftconvolve", (lines, points), (1, taps)), random.choice(dtypes)


def random_images(
    functions: Sequence[str], dtypes: Sequence[str], seconds: float, most: int
) -> Iterator[tuple[Row, str]]:
    """Yield a function, arrays of one to three dimensions and filters, all random.

    Half of the arrays of two and three dimensions are several that share a filter.
    """
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        numbers = exp(random.uniform(log(100), log(min(most, MOST_RANDOM))))
        dimensions = random.choice([1, 2, 2, 3])
        side = numbers ** (1 / dimensions)
        shape = [max(2, int(side * exp(random.uniform(-0.7, 0.7)))) for _ in range(dimensions)]
        share = random.choice([0.1, 0.5, 1.0])
        taps = [max(2, int(exp(random.uniform(0, log(n * share + 1))))) for n in shape]
        if dimensions > 1 and random.random() < 0.5:
            taps[0] = 1
        yield (random.choice(functions), tuple(shape), tuple(taps)), random.choice(dtypes)


def axes_of(name: str, filters: Any) -> dict[str, Any]:
    """Return the axes to name: all but the first if all the arrays along it share a filter."""
    if name == "convolve" or filters.shape[0] > 1:
        return {}
    return {"axes": tuple(range(1, filters.ndim))}


def of_methods(name: str, in1: Any, in2: Any) -> dict[str, Call]:
    """Return the calls of gpumath's methods."""
    axes = axes_of(name, in2)
    mode = "same" if name == "filters" else "full"
    return {
        "gpumath": lambda: fft.convolve(in1, in2, mode, **axes),
        "direct": lambda: fft.convolve(in1, in2, mode, "direct", **axes),
        "fft": lambda: fft.convolve(in1, in2, mode, "fft", **axes),
    }


def subjects(name: str, in1: Any, in2: Any, on_gpu: bool) -> dict[str, Call]:
    """Return the calls of a row."""
    axes = axes_of(name, in2)
    if not on_gpu:
        from scipy import signal

        own, other = getattr(fft, name), getattr(signal, name)
        return {"gpumath": lambda: own(in1, in2, **axes), "SciPy": lambda: other(in1, in2, **axes)}
    from cupyx.scipy import ndimage, signal

    if name == "filters":
        return {
            "gpumath": lambda: fft.convolve(in1, in2, "same"),
            "cupyx convolve2d": lambda: signal.convolve2d(in1, in2, "same"),
            "cupyx ndimage": lambda: ndimage.convolve(in1, in2, mode="constant"),
            "cupyx fftconvolve": lambda: signal.fftconvolve(in1, in2, "same"),
            **of_torch(in1, in2),
        }
    own = getattr(fft, name)
    # CuPy chooses a method for lines only.
    other = signal.fftconvolve if name == "convolve" and in1.ndim > 1 else getattr(signal, name)
    calls = {"gpumath": lambda: own(in1, in2, **axes), "cupyx": lambda: other(in1, in2, **axes)}
    if name == "convolve" and in1.ndim == 2 and in2.size <= MOST_TAPS_OF_CONVOLVE2D:
        calls["cupyx convolve2d"] = lambda: signal.convolve2d(in1, in2)
    return calls


def of_torch(in1: Any, in2: Any) -> dict[str, Call]:
    """Return the call of PyTorch's correlation of real images, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return {}
    if in1.dtype.kind == "c":
        return {}
    image, taps = (torch.from_dlpack(array)[None, None] for array in (in1, in2))
    padding = in2.shape[0] // 2
    return {"PyTorch conv2d": lambda: torch.nn.functional.conv2d(image, taps, padding=padding)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each row")
    parser.add_argument("--cpu-time", action="store_true", help="of the thread; on one core")
    parser.add_argument("--gpu-alone", action="store_true", help="never wait for the host")
    parser.add_argument("--workers", type=int, default=1, help="threads of SciPy's transforms")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex64"])
    parser.add_argument("--functions", nargs="+", default=["convolve", "fftconvolve", "oaconvolve"])
    parser.add_argument("--methods", action="store_true", help="compare gpumath's methods")
    parser.add_argument("--random", type=float, metavar="SECONDS", help="of random lines")
    parser.add_argument("--random-images", type=float, metavar="SECONDS", help="of random arrays")
    parser.add_argument("--most", type=int, default=1 << 30, help="elements of the largest array")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    xp: Any = importlib.import_module("cupy" if arguments.gpu else "numpy")
    rng = xp.random.default_rng()
    found: dict[str, dict[str, float]] = {}
    rows = ROWS + (LARGE_ROWS + FILTERS if arguments.gpu else [])
    rows = [row for row in rows if row[0] in arguments.functions and prod(row[1]) <= arguments.most]
    cells: Iterator[tuple[Row, str]] = product(rows, arguments.dtypes)
    if arguments.random is not None:
        cells = random_lines(arguments.dtypes, arguments.random, arguments.most)
    if arguments.random_images is not None:
        how_long, most = arguments.random_images, arguments.most
        cells = random_images(arguments.functions, arguments.dtypes, how_long, most)
    for (name, first, second), dtype in cells:
        in1, in2 = (rng.standard_normal(shape).astype(dtype) for shape in (first, second))
        if arguments.methods:
            calls = of_methods(name, in1, in2)
        else:
            calls = subjects(name, in1, in2, arguments.gpu)
        with nullcontext() if arguments.gpu else set_workers(arguments.workers):
            how = {"cpu_time": arguments.cpu_time, "gpu_alone": arguments.gpu_alone}
            times = medians(calls, arguments.seconds, arguments.gpu, **how)
        row = f"{name} {dtype} {first} * {second}"
        found[row] = report(row, times)
    title = f"Convolutions {'on a GPU' if arguments.gpu else 'on the CPU'}"
    finish(found, title, arguments.gpu, arguments.json)


if __name__ == "__main__":
    main()
