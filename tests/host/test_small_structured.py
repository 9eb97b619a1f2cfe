"""Small products of matrices with a structure on the CPU, against NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core
from tests.helpers.structured import (
    DTYPES,
    GENERAL,
    KINDS,
    ORDERS,
    UPPER,
    Kind,
    check,
    matrix,
    numbers,
    qualifiers,
)

# Around the limits between the ways to compute: vectors, copies of parts, and plans.
SIDES = [1, 2, 7, 16, 31, 33, 64, 65, 129, 255, 257]
WIDTHS = [1, 2, 3, 4, 8, 9, 40, 130]


def check_both_sides(kind: Kind, dtype: str, side: int, width: int, batch: tuple[int, ...]) -> None:
    """Check products where the matrix with a structure is on the left, and on the right."""
    rng = np.random.default_rng()
    orders = [str(order) for order in rng.choice(ORDERS[:-1], 2)]
    a = kind.stored(rng, (*batch, side, side), dtype, orders[0])
    whole = kind.whole(a)
    for is_right in (False, True):
        shape = (*batch, width, side) if is_right else (*batch, side, width)
        b = matrix(rng, shape, dtype, orders[1])
        known = qualifiers(GENERAL, kind) if is_right else qualifiers(kind, GENERAL)
        factors, (x, y) = ((b, a), (b, whole)) if is_right else ((a, b), (whole, b))
        result = linalg.matmul(*factors, qualifiers=known)
        assert result.flags.c_contiguous
        wide = np.matmul(x.astype(np.complex128), y.astype(np.complex128))
        check(result, wide, np.matmul(np.abs(x), np.abs(y)), side)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS[1:], ids=str)
def test_every_size(kind: Kind, dtype: str) -> None:
    rng = np.random.default_rng()
    for side in SIDES:
        for width in rng.choice(WIDTHS, 3, replace=False):
            check_both_sides(kind, dtype, side, int(width), ())
    check_both_sides(kind, dtype, 2100, 2, ())
    for batch in [(3,), (2, 3)]:
        check_both_sides(kind, dtype, int(rng.choice(SIDES[:6])), int(rng.choice(WIDTHS)), batch)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS[1:], ids=str)
def test_batches(kind: Kind, dtype: str) -> None:
    """Products of a batch are computed together, planned or not."""
    rng = np.random.default_rng()
    for count, sides in [(70, (1, 2, 3, 5)), (40, (8, 13, 24, 32, 33)), (3000, (1, 2, 4))]:
        for side in sides:
            check_both_sides(kind, dtype, side, int(rng.integers(1, 9)), (count,))
    # One matrix with a structure for all, or one other factor.
    for side in (3, 17):
        a, b = kind.stored(rng, (side, side), dtype, "C"), numbers(rng, (50, side, 4), dtype)
        whole = kind.whole(a)
        result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL))
        check(result, whole @ b, np.abs(whole) @ np.abs(b), side)
        many = kind.stored(rng, (50, side, side), dtype, "F")
        whole = kind.whole(many)
        result = linalg.matmul(many, b[0], qualifiers=qualifiers(kind, GENERAL))
        check(result, whole @ b[0], np.abs(whole) @ np.abs(b[0]), side)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("count", "side"), [(40, 3), (30, 20), (1000, 5)])
def test_zeros_of_triangles_in_a_batch_do_not_count(count: int, side: int, upper: bool) -> None:
    rng = np.random.default_rng()
    kind = Kind("tr", UPPER) if upper else Kind("tr")
    a = np.abs(numbers(rng, (count, side, side), "float32")) + 0.1
    for layout in ((0, 1, 2), (0, 2, 1), (1, 0, 2)):
        b = np.ones((count, side, 4), "float32").transpose(layout).copy()
        b = b.transpose(tuple(int(axis) for axis in np.argsort(layout)))
        entry, row = int(rng.integers(count)), int(rng.integers(side))
        b[entry, row, 2] = np.inf
        result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL))
        reached = np.arange(side) <= row if upper else np.arange(side) >= row
        finite = np.ones((count, side, 4), bool)
        finite[entry, :, 2] = ~reached
        np.testing.assert_array_equal(np.isfinite(result), finite)


@pytest.mark.parametrize("side", [1000, 300_000, 1_000_003])
def test_long_diagonals(side: int) -> None:
    rng = np.random.default_rng()
    kind, of = KINDS[10], rng.choice(DTYPES)
    a, b = numbers(rng, (side,), of), numbers(rng, (side, 1), of)
    result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL))
    wide = a[:, None].astype(np.complex128) * b
    check(result, wide, np.abs(wide), 1)


@pytest.mark.parametrize("kind", KINDS[1:], ids=str)
def test_vectors(kind: Kind) -> None:
    rng = np.random.default_rng()
    for side in (1, 5, 40):
        a = kind.stored(rng, (side, side), "complex128", "C")
        x, whole = numbers(rng, (side,), "complex128"), kind.whole(a)
        result = linalg.matmul(a, x, qualifiers=qualifiers(kind, GENERAL))
        check(result, whole @ x, np.abs(whole) @ np.abs(x), side)
        result = linalg.matmul(x, a, qualifiers=qualifiers(GENERAL, kind))
        check(result, x @ whole, np.abs(x) @ np.abs(whole), side)


def test_small_products_need_no_plan() -> None:
    rng = np.random.default_rng()
    core.plan_cache_clear()
    for kind in KINDS:
        check_both_sides(kind, "float64", 9, 4, ())
        check_both_sides(kind, "complex64", 5, 3, (2,))
    a, b = numbers(rng, (4, 4), "float32"), numbers(rng, (3, 3), "float32")
    assert core.plan_cache_info().misses == 0
    # What does not fit, or has two structures, is left to a plan.
    with pytest.raises(ValueError, match="4"):
        linalg.matmul(a, b, qualifiers=qualifiers(Kind("tr"), GENERAL))
    with pytest.raises(ValueError, match="square"):
        linalg.matmul(a[:2], a, qualifiers=qualifiers(Kind("sy"), GENERAL))
    both = qualifiers(Kind("tr"), Kind("dg"))
    expected = np.tril(a).astype(float) * a[0]
    np.testing.assert_allclose(linalg.matmul(a, a[0], qualifiers=both), expected, rtol=1e-6)
    assert core.plan_cache_info().misses == 1


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("side", "width"), [(6, 1), (6, 4), (30, 7), (30, 50), (300, 30)])
def test_zeros_of_a_triangle_do_not_count(side: int, width: int, bad: float) -> None:
    rng = np.random.default_rng()
    a = np.abs(numbers(rng, (side, side), "float64")) + 0.1
    for upper in (False, True):
        kind = Kind("tr", UPPER) if upper else Kind("tr")
        row = int(rng.integers(side))
        b: Any = np.ones((side, width))
        b[row, -1] = bad
        result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL))
        # Only the rows whose sums have that element.
        reached = np.arange(side) <= row if upper else np.arange(side) >= row
        np.testing.assert_array_equal(np.isfinite(result[:, -1]), ~reached)
        assert np.isfinite(result[:, :-1]).all()
        result = linalg.matmul(b.T, a, qualifiers=qualifiers(GENERAL, kind))
        reached = np.arange(side) >= row if upper else np.arange(side) <= row
        np.testing.assert_array_equal(np.isfinite(result[-1]), ~reached)
