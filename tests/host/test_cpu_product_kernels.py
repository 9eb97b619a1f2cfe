"""The CPU's own kernels for small and narrow products: every tail, and nothing beside the matrices.

Operands and results are parts of arrays whose other elements are NaN: what a kernel reads too much
shows up in the result, and what it writes too much shows up around it.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpumath import linalg

DTYPES = ["float32", "float64", "complex64", "complex128"]
# Around multiples of 2, 4, 8 and 16 elements, which vectors have.
COLUMNS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 97]
ROWS = [*range(1, 14), 16, 17]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_tail(dtype: str) -> None:
    rng = np.random.default_rng()
    for columns in COLUMNS:
        for rows in ROWS:
            depth = int(rng.integers(1, 40))
            a, b = framed(rng, (rows, depth), dtype), framed(rng, (depth, columns), dtype)
            check(linalg.matmul(a, b), a, b)
            # Transposed factors, a result in an array of the caller's, and one to add to it.
            out, c = framed(rng, (rows, columns), dtype), framed(rng, (rows, columns), dtype)
            left, right = (np.asfortranarray(x) if rng.random() < 0.5 else x for x in (a, b))
            linalg.matmul(left, right, c, alpha=0.5, beta=-2.0, out=out)
            check(out, a, b, c, 0.5, -2.0)
            check_frame(out)
            linalg.matmul(a, b, c, alpha=1, beta=3, out=out)
            check(out, a, b, c, 1, 3)
            check_frame(out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_few_wide_rows(dtype: str) -> None:
    rng = np.random.default_rng()
    for rows, depth in product(range(1, 6), repeat=2):
        for columns in [*rng.choice(range(60, 300), 4), 1030]:
            a, b = framed(rng, (rows, depth), dtype), framed(rng, (depth, columns), dtype)
            check(linalg.matmul(a, b), a, b)
            check(linalg.matmul(b.T, a.T), b.T, a.T)
            out = framed(rng, (rows, columns), dtype)
            linalg.matmul(a, b, out=out)
            check(out, a, b)
            check_frame(out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3, 41])
def test_batches(count: int, dtype: str) -> None:
    """Small products of a batch are computed together; of depth 1 and of up to 32 rows, too."""
    rng = np.random.default_rng()
    for rows, depth, columns in [(1, 1, 1), (5, 1, 9), (300, 1, 2), (17, 20, 33), (31, 32, 30)]:
        a, b = framed(rng, (count, rows, depth), dtype), framed(rng, (count, depth, columns), dtype)
        out = framed(rng, (count, rows, columns), dtype)
        linalg.matmul(a, b, out=out)
        check(out, a, b)
        check_frame(out)
        check(linalg.matmul(np.asfortranarray(a), b), a, b)
        check(linalg.matmul(a, b[:1]), a, b[:1])
        check(linalg.matmul(a[0], b), a[0], b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(1, 3000, 1), (4, 2049, 3), (7, 1500, 8), (300, 33, 2)], ids=str)
def test_long_and_narrow(size: tuple[int, int, int], dtype: str) -> None:
    rng = np.random.default_rng()
    rows, depth, columns = size
    for left, right in [((rows, depth), (depth, columns)), ((columns, depth), (depth, rows))]:
        for order in "CF":
            a, b = framed(rng, left, dtype), framed(rng, right, dtype)
            out = framed(rng, (left[0], right[1]), dtype)
            linalg.matmul(np.asarray(a, order=order), b, out=out)  # type: ignore[call-overload]
            check(out, a, b)
            check_frame(out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "size",
    [
        (810, 700, 50),
        (90, 8, 3000),
        (130, 40, 131),
        (9, 2100, 150),
        (20, 3, 70_000),
        (20, 40_000, 9),
    ],
    ids=str,
)
def test_every_order(size: tuple[int, int, int], dtype: str) -> None:
    """What is large is computed in parts, and what is not in the order of a kernel is copied."""
    rng = np.random.default_rng()
    m, k, n = size
    for orders in product("CF", repeat=3):
        a, b, out = (
            framed(rng, shape, dtype) if order == "C" else framed(rng, shape[::-1], dtype).T
            for shape, order in zip([(m, k), (k, n), (m, n)], orders, strict=True)
        )
        linalg.matmul(a, b, out=out)
        check(out, a, b)
        check_frame(out if orders[2] == "C" else out.T)
        c = framed(rng, (m, n), dtype)
        linalg.matmul(a, b, c, alpha=0.5, beta=-2.0, out=out)
        check(out, a, b, c, 0.5, -2.0)
        check_frame(out if orders[2] == "C" else out.T)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_of_small_products(dtype: str, threads: int) -> None:
    """They are computed many at a time, and the many end where the batch does."""
    rng = np.random.default_rng()
    execution = linalg.ExecutionCPU(num_threads=threads)
    for count in [1, 2, 63, 700, 4099]:
        m, k, n = (int(extent) for extent in rng.integers(1, 10, 3))
        a, b = framed(rng, (count, m, k), dtype), framed(rng, (count, k, n), dtype)
        check(linalg.matmul(a, b, execution=execution), a, b)
        check(linalg.matmul(a, b[0], execution=execution), a, b[0])
        turned = np.asarray(a, order="F")
        out = np.moveaxis(framed(rng, (m, n, count), dtype), -1, 0)
        linalg.matmul(turned, b, out=out, execution=execution)
        check(out, a, b)
        a, b = framed(rng, (3, count, m, k), dtype), framed(rng, (count, k, n), dtype)
        check(linalg.matmul(a, b, execution=execution), a, b)
    a, b = framed(rng, (600, 16, 16), dtype), framed(rng, (600, 16, 16), dtype)
    check(linalg.matmul(a, b, execution=execution), a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinity_and_nan_stay_in_their_rows_and_columns(dtype: str) -> None:
    rng = np.random.default_rng()
    for size in [(9, 5, 3), (17, 20, 33), (64, 64, 64), (3, 2000, 5)]:
        rows, depth, columns = size
        a = rng.uniform(1, 2, (rows, depth)).astype(dtype)
        b = rng.uniform(1, 2, (depth, columns)).astype(dtype)
        a[rows // 2, 0], b[depth // 2, columns // 2] = np.inf, np.nan
        expected = np.full((rows, columns), "finite")
        expected[rows // 2], expected[:, columns // 2] = "inf", "nan"
        result = linalg.matmul(a, b)
        np.testing.assert_array_equal(np.isnan(result), expected == "nan")
        np.testing.assert_array_equal(np.isposinf(result), expected == "inf")


def framed(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return random numbers with NaN around the last two dimensions."""
    whole = np.full((*shape[:-2], shape[-2] + 2, shape[-1] + 3), np.nan, dtype)
    part = whole[..., 1:-1, 1:-2]
    part[...] = rng.uniform(-1, 1, shape)
    if np.iscomplexobj(part):
        part.imag[...] = rng.uniform(-1, 1, shape)
    return part


def check_frame(part: np.ndarray) -> None:
    whole = part.base
    assert whole is not None
    assert np.isnan(whole).sum() == whole.size - part.size, "memory of others has changed"


def check(
    result: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray | None = None,
    alpha: float = 1,
    beta: float = 0,
) -> None:
    """Compare with NumPy in double precision, by the bound of rounding errors."""
    wide = "complex128" if np.iscomplexobj(a) else "float64"
    expected = alpha * np.matmul(a.astype(wide), b.astype(wide))
    size = abs(alpha) * np.matmul(np.abs(a), np.abs(b)).astype("float64")
    if c is not None:
        expected += beta * c.astype(wide)
        size += abs(beta) * np.abs(c)
    assert result.shape == expected.shape
    assert result.dtype == a.dtype
    # The reference of double precision has errors of its own.
    bound = 2 * (a.shape[-1] + 4) * np.finfo(a.dtype).eps * size
    assert (np.abs(result - expected) <= bound).all(), (a.shape, b.shape)
