"""Products on the CPU, by the library that the environment chooses."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from gpumath import linalg
from gpumath.bindings import core
from tests.helpers.structured import KINDS, check, matrix, numbers, qualifiers
from tests.programs.support.entry import main

# Large enough that the library computes, of odd extents, and with several blocks.
SIZES = [(67, 129, 83), (64, 64, 64), (1, 300, 500), (1100, 40, 90), (30, 2500, 45)]


def products() -> Any:
    """Check products of every type and order, and return the engine."""
    rng = np.random.default_rng()
    engines = set()
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for rows, depth, columns in SIZES:
            orders = [str(order) for order in rng.choice(["C", "F", "rows", "columns", "steps"], 3)]
            a = matrix(rng, (rows, depth), dtype, orders[0])
            b = matrix(rng, (depth, columns), dtype, orders[1])
            c = matrix(rng, (rows, columns), dtype, orders[2])
            out = matrix(rng, (rows, columns), dtype, str(rng.choice(["C", "F", "rows"])))
            kinds = KINDS[rng.integers(2)], KINDS[rng.integers(2)]
            alpha, beta = (number.item() for number in numbers(rng, (2,), dtype))
            if rng.random() < 0.3:
                beta = 0
                c[...] = np.nan
            given: Any = {"alpha": alpha, "beta": beta, "qualifiers": qualifiers(*kinds)}
            execution = linalg.ExecutionCPU(num_threads=int(rng.integers(1, 4)))
            result = linalg.matmul(a, b, c, out=out, execution=execution, **given)
            assert result is out
            x, y = (kind.whole(each) for kind, each in zip(kinds, (a, b), strict=True))
            addend = np.where(beta == 0, 0, beta * c.astype(np.complex128))
            size = abs(alpha) * (np.abs(x) @ np.abs(y)) + np.abs(addend)
            check(result, alpha * (x @ y) + addend, size, depth)
            engines.add(core.StructuredMatmulPlan(a, b).engine)
            engines.add(core.MatmulPlan(a, b, execution="cpu").engine)
    (engine,) = engines
    return engine


def nan_times_zero() -> Any:
    """Return in how many elements NaN has got lost that NumPy has."""
    lost = 0
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for rows, depth, columns in [*SIZES, (3, 4, 5), (300, 300, 300)]:
            a, b = np.ones((rows, depth), dtype), np.ones((depth, columns), dtype)
            a[rows // 2, depth // 3] = np.nan
            b[depth // 2, columns // 3] = np.nan
            for beta in (None, 2):
                c = None if beta is None else np.ones((rows, columns), dtype)
                found = np.isnan(linalg.matmul(a, b, c, alpha=0, beta=beta))
                lost += int((found != np.isnan(0 * (a @ b))).sum())
    return lost


def threads() -> Any:
    """Return how many threads the library of the environment has before and after a product."""
    library = ctypes.CDLL(os.environ["GPUMATH_BLAS_CPU_LIBRARY"])
    names = ("scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads")
    count = next(getattr(library, name) for name in names if hasattr(library, name))
    before = count()
    a = np.ones((200, 200))
    assert (linalg.matmul(a, a) == 200).all()
    return before, count()


def refusal() -> Any:
    """Return class and text of what a product raises."""
    a = np.ones((200, 200))
    try:
        linalg.matmul(a, a)
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error", ""


def small_refusal() -> Any:
    """Return the class of what a small product raises."""
    try:
        linalg.matmul(np.ones((2, 2)), np.ones((2, 2)))
    except Exception as error:
        return type(error).__name__
    return "no error"


if __name__ == "__main__":
    main(globals())
