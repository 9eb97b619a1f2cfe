"""Products on the CPU that are small, or of few rows or columns, against NumPy in float64."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core
from tests.helpers.structured import DTYPES, ORDERS, check, matrix, numbers

NARROW = [
    (300, 70, 8), (100, 2, 100), (1009, 7, 7), (257, 1100, 3), (40, 2000, 7), (500, 33, 2),
    (64, 64, 5), (2049, 16, 6), (33, 4100, 31), (18, 5, 9), (71, 300, 4),
]  # fmt: skip


def reference(a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    """Return the product in double precision, and the sums of its terms' absolute values."""
    wide = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
    return wide, np.matmul(np.abs(a).astype(float), np.abs(b).astype(float))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", NARROW, ids=str)
def test_narrow_products(size: tuple[int, int, int], dtype: str) -> None:
    rng = np.random.default_rng()
    for rows, depth, columns in (size, size[::-1]):
        for _ in range(4):
            orders = [str(order) for order in rng.choice(ORDERS[:-1], 4)]
            a = matrix(rng, (rows, depth), dtype, orders[0])
            b = matrix(rng, (depth, columns), dtype, orders[1])[::-1]
            expected, terms = reference(a, b)
            check(linalg.matmul(a, b), expected, terms, depth)
            c = matrix(rng, (rows, columns), dtype, orders[2])
            out = matrix(rng, (rows, columns), dtype, orders[3])
            expected, terms = 2 * expected - 3.0 * c, 2 * terms + 3 * np.abs(c)
            check(linalg.matmul(a, b, c, alpha=2, beta=-3, out=out), expected, terms, depth)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_beside_the_result_is_written(dtype: str) -> None:
    rng = np.random.default_rng()
    for rows, depth, columns in [(40, 6, 3), (9, 30, 5), (3, 7, 40), (17, 4, 8)]:
        a, b = (numbers(rng, shape, dtype) for shape in ((rows, depth), (depth, columns)))
        orders: tuple[Literal["C", "F"], ...] = ("C", "F")
        for order in orders:
            whole = np.full((rows + 2, columns + 2), 7, dtype, order=order)
            linalg.matmul(a, b, out=whole[1:-1, 1:-1])
            whole[1:-1, 1:-1] = 7
            assert (whole == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_products_need_no_plan(dtype: str) -> None:
    rng = np.random.default_rng()
    core.plan_cache_clear()
    for shapes in [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((1, 9), (9, 1)),
    ]:
        a, b = (numbers(rng, tuple(2 * n for n in shape), dtype)[::-1] for shape in shapes)
        expected, terms = reference(a, b)
        result = linalg.matmul(a, b)
        assert type(result) is np.ndarray
        assert result.flags.c_contiguous
        assert result.flags.owndata
        check(result, expected, terms, a.shape[-1])
        row = np.broadcast_to(a[:1], a.shape)
        check(linalg.matmul(row, b), *reference(row, b), a.shape[-1])
    assert core.plan_cache_info().misses == 0


def test_what_is_not_simple_takes_the_longer_way() -> None:
    a = np.arange(6.0).reshape(2, 3)
    longer = [a.view(type("Own", (np.ndarray,), {})), a[None], a[:0]]
    for operand in longer:
        result = linalg.matmul(operand, np.eye(3))
        np.testing.assert_array_equal(np.asarray(result), np.asarray(operand))
    bytes_ = np.zeros(a.nbytes + 1, np.uint8)
    misaligned = bytes_[1:].view(float).reshape(a.shape)
    for other in (a.astype(">f8"), a.astype("f4"), a.astype(int), misaligned, a[:, :2], a[0, 0]):
        with pytest.raises((ValueError, TypeError)):
            linalg.matmul(other, np.eye(3))
