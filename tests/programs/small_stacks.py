"""Work on the CPU in threads of Python that have small stacks."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from gpumath import fft, linalg
from gpumath.linalg import advanced
from tests.programs.support.entry import main

ONE_THREAD = linalg.ExecutionCPU(num_threads=1)

# Rows, depths and columns of products that are computed in different ways.
PRODUCTS = [
    (4, 5000, 4), (40, 100, 200), (300, 300, 300), (500, 3000, 8), (1, 1000, 1000), (1000, 4, 1000),
    (64, 4000, 64),
]  # fmt: skip

Work = tuple[str, Any, np.ndarray]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    values = rng.standard_normal(shape)
    if dtype.startswith("c"):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def products(rng: np.random.Generator, dtype: str) -> Iterator[Work]:
    for rows, depth, columns in PRODUCTS:
        shapes = ((rows, depth), (depth, columns), (rows, columns))
        for orders in itertools.product("CF", repeat=3):
            a, b, out = (
                np.asarray(numbers(rng, shape, dtype), order=order)
                for shape, order in zip(shapes, orders, strict=True)
            )
            work = partial(linalg.matmul, a, b, out=out, execution=ONE_THREAD)
            yield f"matmul {a.shape} {orders}", work, a @ b
    a, b = numbers(rng, (4, 5000), dtype), numbers(rng, (5000, 4), dtype)
    yield "advanced", partial(advanced.matmul, a, b), a @ b
    if not dtype.startswith("c"):
        rectified = partial(advanced.matmul, a, b, epilog=advanced.MatmulEpilog.RELU)
        yield "epilog", rectified, np.maximum(a @ b, 0)


def structured_products(rng: np.random.Generator, dtype: str) -> Iterator[Work]:
    for side, columns in [(300, 4), (700, 500)]:
        a, b = numbers(rng, (side, side), dtype), numbers(rng, (side, columns), dtype)
        lower = np.tril(a)
        for kind, whole in [
            (linalg.SymmetricMatrixQualifier, lower + np.tril(a, -1).T),
            (linalg.TriangularMatrixQualifier, lower),
        ]:
            qualifiers = np.full(2, linalg.GeneralMatrixQualifier.create())
            qualifiers[0] = kind.create()
            work = partial(linalg.matmul, a, b, qualifiers=qualifiers, execution=ONE_THREAD)
            yield f"{kind.__name__} {side}", work, whole @ b


def transforms(rng: np.random.Generator, dtype: str) -> Iterator[Work]:
    if dtype.startswith("c"):
        for points in (97, 101, 1009, 4096, 5000, 10007, 1 << 18):
            x = numbers(rng, (points,), dtype)
            yield f"fft {points}", partial(fft.fft, x), np.fft.fft(x)
            many = numbers(rng, (min(points, 2000), 9), dtype)
            expected = np.fft.fft(many, axis=0)
            yield f"fft {many.shape}", partial(fft.fft, many, axes=[0]), expected
        return
    for points in (64, 97, 1009, 5000, 65536):
        x = numbers(rng, (points,), dtype)
        yield f"rfft {points}", partial(fft.rfft, x), np.fft.rfft(x)
        yield f"dct {points}", partial(fft.dct, x), scipy.fft.dct(x)
        yield f"dst {points}", partial(fft.dst, x, type=4), scipy.fft.dst(x, type=4)


def convolutions(rng: np.random.Generator, dtype: str) -> Iterator[Work]:
    for shape, window in [((200, 200), (31, 31)), ((100_000,), (5000,)), ((64, 64), (3, 3))]:
        x, w = numbers(rng, shape, dtype), numbers(rng, window, dtype)
        expected = scipy.signal.convolve(x, w, method="fft")
        yield f"convolve {shape}", partial(fft.convolve, x, w), expected


def right_on_a_small_stack(kibibytes: int) -> Any:
    """Do all of it, each in a thread of its own; return how much it was, and what was wrong."""
    rng = np.random.default_rng()
    works = [
        (f"{name} {dtype}", work, expected)
        for dtype in ("f4", "f8", "c8", "c16")
        for kind in (products, structured_products, transforms, convolutions)
        for name, work, expected in kind(rng, dtype)
    ]
    threading.stack_size(kibibytes << 10)
    results: list[np.ndarray] = []
    for _, work, _ in works:
        thread = threading.Thread(target=lambda work=work: results.append(np.asarray(work())))
        thread.start()
        thread.join()
    errors = {
        name: float(np.linalg.norm(result - expected) / np.linalg.norm(expected))
        for (name, _, expected), result in zip(works, results, strict=True)
    }
    return len(works), {name: error for name, error in errors.items() if not error < 1e-3}


if __name__ == "__main__":
    main(globals())
