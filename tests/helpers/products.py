"""Products of matrices in tests: sizes, operands in every order, and the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows of a, columns of a, columns of b: empty, single, odd, prime, thin and large.
SIZES = [
    (0, 3, 4),
    (3, 4, 0),
    (3, 0, 4),
    (0, 0, 0),
    (1, 0, 1),
    (1, 1, 1),
    (1, 7, 1),
    (17, 1, 19),
    (2, 1000, 3),
    (4, 4096, 4),
    (301, 5, 2),
    (2, 5, 301),
    (16, 16, 16),
    (64, 64, 64),
    (97, 101, 103),
    (513, 127, 260),
]
DTYPES = ["float32", "float64"]
ORDERS = ["C", "F", "rows", "columns"]


def matrix(shape: tuple[int, int], dtype: str, order: str = "C") -> np.ndarray:
    """Return a matrix with fresh values, in C or Fortran order, or with gaps between its lines."""
    rows, columns = shape
    base_shape = {"rows": (rows, columns + 3), "columns": (columns, rows + 5)}.get(order, shape)
    base = np.random.default_rng().uniform(-1, 1, base_shape).astype(dtype)
    if order == "rows":
        return base[:, 2 : columns + 2]
    if order == "columns":
        return base[:, 1 : rows + 1].T
    return np.asarray(base, order=order)  # type: ignore[call-overload]  # "C" or "F"


def check_product(result: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Compare a result with the product in double precision, by the bound of rounding errors."""
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert result.shape == expected.shape
    assert result.dtype == a.dtype
    size = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    bound = (a.shape[1] + 2) * np.finfo(a.dtype).eps * size
    assert (np.abs(result - expected) <= bound).all(), np.abs(result - expected).max()


def nan_like(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array without a number in it."""
    return np.full(shape, np.nan, dtype)
