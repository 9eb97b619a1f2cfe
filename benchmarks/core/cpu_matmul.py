"""Time products of matrices on the CPU, beside NumPy's, on the same threads.

    python benchmarks/core/cpu_matmul.py [--threads 1] [--kinds square thin] [--dtypes float32]

Prints a line for each cell, and the worst cells. NumPy's threads are limited by the environment, so
the process starts itself again with the variables of the common BLAS libraries. Both compute into
new memory; rounds alternate, and the least time of each counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

SQUARES = [1, 2, 4, 8, 16, 24, 32, 48, 64, 100, 128, 200, 256, 384, 512, 1000, 1024, 2048, 4096]
THIN = [
    (4, 4096, 4), (1, 4096, 1), (8, 4096, 8), (16, 4096, 16), (32, 4096, 32), (2, 100000, 3),
    (4096, 4, 4096), (1000, 1, 1000), (4096, 4096, 1), (1, 4096, 4096), (1000, 1000, 1),
    (1, 1000, 1000), (64, 64, 1), (1, 64, 64), (4096, 64, 8), (8, 64, 4096), (4096, 4096, 8),
    (100000, 8, 8), (8, 100000, 8), (300, 300, 2),
]  # fmt: skip
BATCHES = [(10000, 4, 4, 4), (1000, 16, 16, 16), (100, 64, 64, 64), (16, 200, 200, 200)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=["square", "thin", "batch"])
    parser.add_argument("--dtypes", nargs="*", default=["float32", "float64"])
    parser.add_argument("--orders", nargs="*", default=["CC"])
    parser.add_argument("--most", type=int, default=4096, help="largest square")
    arguments = parser.parse_args()
    wanted = str(arguments.threads)
    if any(os.environ.get(name) != wanted for name in VARIABLES):
        os.environ.update(dict.fromkeys(VARIABLES, wanted))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    import numpy as np

    from gpumath import linalg

    execution = None
    if arguments.threads != len(os.sched_getaffinity(0)):
        execution = linalg.ExecutionCPU(num_threads=arguments.threads)
    shapes: list[tuple[int, ...]] = []
    if "square" in arguments.kinds:
        shapes += [(n, n, n) for n in SQUARES if n <= arguments.most]
    if "thin" in arguments.kinds:
        shapes += THIN
    if "batch" in arguments.kinds:
        shapes += BATCHES
    rng = np.random.default_rng()
    results: list[tuple[float, str]] = []
    for dtype in arguments.dtypes:
        for orders in arguments.orders:
            for *batch, m, k, n in shapes:
                a, b = (
                    operand(rng, (*batch, *shape), dtype, order)
                    for shape, order in zip([(m, k), (k, n)], orders, strict=True)
                )
                own, numpy = alternate(
                    lambda a=a, b=b: linalg.matmul(a, b, execution=execution),
                    lambda a=a, b=b: np.matmul(a, b),
                )
                name = f"{dtype} {orders} {(*batch, m, k, n)}"
                results.append((own / numpy, name))
                print(f"{name:45} {own * 1e6:12.1f} {numpy * 1e6:12.1f} µs {own / numpy:6.2f}")
    results.sort(reverse=True)
    print("worst:", *(f"{ratio:.2f} {name}" for ratio, name in results[:8]), sep="\n  ")
    ratios = [ratio for ratio, _ in results]
    print(f"median {ratios[len(ratios) // 2]:.2f}, of {len(ratios)} cells")


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


def alternate(*calls: Callable[[], object], least: float = 0.15) -> list[float]:
    """Return the least time of each call, in seconds."""
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    start = time.perf_counter()
    repeats = [1] * len(calls)
    rounds = 0
    while time.perf_counter() - start < least * len(calls) or rounds < 3:
        for index, call in enumerate(calls):
            begin = time.perf_counter()
            for _ in range(repeats[index]):
                call()
            elapsed = time.perf_counter() - begin
            best[index] = min(best[index], elapsed / repeats[index])
            # About a millisecond a round.
            repeats[index] = max(1, min(1000, int(1e-3 / best[index])))
        rounds += 1
    return best


if __name__ == "__main__":
    main()
