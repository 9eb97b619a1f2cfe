"""Time products of matrices on the CPU, beside NumPy's, on the same threads.

    python benchmarks/core/cpu_matmul.py [--threads 1] [--kinds square thin] [--dtypes float32]
        [--orders CC FC] [--most 1024] [--only 100000x8x8] [--json FILE]

Prints a line for each cell, and the worst cells. An order has a letter for each operand: C or F.
The process confines itself to as many cores as threads, which gpumath's threads follow. NumPy's are
limited by the environment, so the process starts itself again with the variables of the common BLAS
libraries. Both compute into new memory and take turns, and the least time of each counts: the
processor's time of the calling thread, or with several threads the time that passes, while each
waits until the other's threads sleep. OPENBLAS_CORETYPE chooses the kernels of NumPy's OpenBLAS:
SkylakeX those for AVX-512, Haswell those for AVX2.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

SQUARES = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 100, 128, 200, 256, 384, 512, 1000, 1024, 2048, 4096]
ODD = [3, 5, 7, 13, 17, 31, 33, 61, 97, 101, 127, 251, 509, 1021]
THIN = [
    (4, 4096, 4), (1, 64, 1), (1, 4096, 1), (1, 100000, 1), (8, 4096, 8), (16, 4096, 16),
    (32, 4096, 32), (2, 100000, 3), (4096, 4, 4096), (1000, 1, 1000), (1000, 7, 1000),
    (4096, 4096, 1), (1, 4096, 4096), (1000, 1000, 1), (1, 1000, 1000), (64, 64, 1), (1, 64, 64),
    (4096, 64, 8), (8, 64, 4096), (4096, 4096, 8), (8, 4096, 4096), (1000, 1000, 2),
    (1000, 1000, 3), (1000, 1000, 4), (1000, 1000, 6), (1000, 1000, 8), (1000, 1000, 16),
    (1000, 1000, 32), (2, 1000, 1000), (5, 1000, 1000), (16, 1000, 1000), (100000, 8, 8),
    (100000, 3, 3), (8, 100000, 8), (300, 300, 2), (101, 103, 5), (5, 103, 101), (7, 7, 1009),
    (1009, 7, 7), (100, 2, 100), (64, 64, 2), (64, 64, 4), (64, 64, 8), (4, 64, 64), (16, 16, 2),
]  # fmt: skip
BATCHES = [
    (10000, 2, 2, 2), (10000, 3, 3, 3), (10000, 4, 4, 4), (10000, 8, 8, 8), (1000, 16, 16, 16),
    (100, 64, 64, 64), (16, 200, 200, 200),
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=["square", "odd", "thin", "batch"])
    parser.add_argument("--dtypes", nargs="*", default=["float32", "float64"])
    parser.add_argument("--orders", nargs="*", default=["CC"])
    parser.add_argument("--most", type=int, default=4096, help="largest square")
    parser.add_argument("--only", nargs="*", help="these products, such as 1000x1000x2")
    parser.add_argument("--least", type=float, default=0.1, help="seconds for each subject")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    confine(parser, arguments.threads)
    measure(arguments)


def confine(parser: argparse.ArgumentParser, threads: int) -> None:
    """Give this process as many cores as threads, and NumPy as many threads."""
    if any(os.environ.get(name) != str(threads) for name in VARIABLES):
        os.environ.update(dict.fromkeys(VARIABLES, str(threads)))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < threads:
        parser.error(f"--threads is {threads}, but there are {len(cores)} cores")
    os.sched_setaffinity(0, cores[-threads:])


def shapes_of(arguments: argparse.Namespace) -> list[tuple[int, ...]]:
    if arguments.only:
        return [tuple(map(int, text.split("x"))) for text in arguments.only]
    kinds: dict[str, list[tuple[int, ...]]] = {
        "square": [(n, n, n) for n in SQUARES if n <= arguments.most],
        "odd": [(n, n, n) for n in ODD if n <= arguments.most],
        "thin": list(THIN),
        "batch": list(BATCHES),
    }
    return [shape for kind in arguments.kinds for shape in kinds[kind]]


def measure(arguments: argparse.Namespace) -> None:
    import numpy as np

    from gpumath import linalg
    from gpumath.bench import _report

    rng = np.random.default_rng()
    results: list[tuple[float, str]] = []
    rows = []
    for dtype in arguments.dtypes:
        for orders in arguments.orders:
            for *batch, m, k, n in shapes_of(arguments):
                a, b = (
                    operand(rng, (*batch, *shape), dtype, order)
                    for shape, order in zip([(m, k), (k, n)], orders, strict=True)
                )
                own, numpy = alternate(
                    lambda a=a, b=b: linalg.matmul(a, b),
                    lambda a=a, b=b: np.matmul(a, b),
                    least=arguments.least,
                    threads=arguments.threads,
                )
                name = f"{dtype} {orders} {' × '.join(map(str, (*batch, m, k, n)))}"
                results.append((own / numpy, name))
                rows.append((name, {"gpumath": own * 1e6, "NumPy": numpy * 1e6}))
                times = f"{own * 1e6:12.2f} {numpy * 1e6:12.2f} µs {own / numpy:6.2f}"
                print(f"{name:45} {times}", flush=True)
    results.sort(reverse=True)
    ratios = [ratio for ratio, _ in results]
    slow = sum(ratio > 1.1 for ratio in ratios)
    print("worst:", *(f"{ratio:.2f} {name}" for ratio, name in results[: max(slow, 8)]), sep="\n  ")
    print(f"median {ratios[len(ratios) // 2]:.2f}, {slow} of {len(ratios)} cells beyond 1.1")
    if arguments.json:
        title = "Products on the CPU"
        found = _report.figures(rows, title=title, unit="µs", gpu=False, threads=arguments.threads)
        _report.save(arguments.json, found)


def operand(rng: object, shape: tuple[int, ...], dtype: str, order: str) -> object:
    """Return random numbers in C order, or with the last two dimensions in Fortran order."""
    import numpy as np

    assert isinstance(rng, np.random.Generator)
    turned = shape if order == "C" else (*shape[:-2], shape[-1], shape[-2])
    values = rng.standard_normal(turned)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(turned)
    array = values.astype(dtype)
    return array if order == "C" else array.swapaxes(-1, -2)


def alternate(*calls: Callable[[], object], least: float, threads: int) -> list[float]:
    """Return the least time of each call, in seconds."""
    clock, pause, turn = time.thread_time, 0.0, 1e-3
    if threads > 1:
        # Some systems take 20 ms or so until threads that slept have a core each.
        clock, pause, turn = time.perf_counter, 0.2, max(least / 3, 0.05)
    best = [float("inf")] * len(calls)
    start, rounds = clock(), 0
    while rounds < 3 or (threads == 1 and clock() - start < 2 * least):
        for index, call in enumerate(calls):
            time.sleep(pause)
            begin = clock()
            call()
            once = max(clock() - begin, 1e-7)
            repeats = max(1, min(1000, int(2e-4 / once)))
            while True:
                before = clock()
                for _ in range(repeats):
                    call()
                after = clock()
                # The clock of a thread may stand still for a moment.
                if after > before:
                    best[index] = min(best[index], (after - before) / repeats)
                if after - begin > turn:
                    break
        rounds += 1
    return best


if __name__ == "__main__":
    main()
