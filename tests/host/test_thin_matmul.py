"""Products on the CPU with few rows or columns, and small batches, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core
from tests.helpers.products import DTYPES, ORDERS, check_product, matrix


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_many_short_rows(columns: int, depth: int, dtype: str) -> None:
    for rows in [1, 15, 16, 17, 333, 20_011]:
        for orders in ["CC", "CF", "FC"]:
            a = matrix((rows, depth), dtype, orders[0])
            b = matrix((depth, columns), dtype, orders[1])
            check_product(linalg.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_few_rows_and_columns_with_long_sums(order: str, dtype: str) -> None:
    rng = np.random.default_rng()
    for columns in range(1, 6):
        for rows in range(1, 10):
            depth = int(rng.choice([64, 377, 1000, 3071, 9001]))
            a = matrix((depth, rows), dtype, order)
            b = matrix((depth, columns), dtype)
            check_product(linalg.matmul(a.T, b), a.T, b)
            left = matrix((rows, depth), dtype, order)
            check_product(linalg.matmul(left, b), left, b)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_few_complex_columns(dtype: str) -> None:
    rng = np.random.default_rng()
    precision = 1e-5 if dtype == "complex64" else 1e-13
    for rows, columns in [(1, 1), (1, 3), (3, 1), (2, 2), (3, 4), (8, 2), (9, 3)]:
        a, b = (
            (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
            for shape in [(2003, rows), (2003, columns)]
        )
        expected = a.astype(complex).T.conj() @ b.astype(complex)
        found = linalg.matmul(a.T.conj(), b)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2003 * precision)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_that_are_none_and_infinite(dtype: str) -> None:
    # Where NumPy's product of float64 has a NaN, this one has, and nowhere else.
    for rows, depth, columns in [(20, 3, 3), (3, 5000, 2), (1, 5000, 3), (8, 600, 700)]:
        a, b = matrix((rows, depth), dtype), matrix((depth, columns), dtype)
        a[-1, depth // 2], b[0, 0] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            expected = a.astype(float) @ b.astype(float)
        np.testing.assert_array_equal(np.isnan(linalg.matmul(a, b)), np.isnan(expected))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(2, 300, 20_011), (8, 2100, 1033), (31, 40, 33_000)], ids=str)
def test_few_rows_and_a_wide_matrix(size: tuple[int, int, int], dtype: str) -> None:
    rows, depth, columns = size
    for order in ORDERS:
        a, b = matrix((rows, depth), dtype), matrix((depth, columns), dtype, order)
        check_product(linalg.matmul(a, b), a, b)
        check_product(linalg.matmul(b.T, a.T), b.T, a.T)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_a_vector_and_a_matrix_of_every_small_width(dtype: str) -> None:
    rng = np.random.default_rng()
    for columns in (*range(1, 70), *map(int, rng.integers(70, 290, 30))):
        depth = int(rng.integers(5, 700))
        real, imaginary = rng.uniform(-1, 1, (2, depth, columns + 9))
        b = (real + 1j * imaginary if "complex" in dtype else real).astype(dtype)
        # Rows follow each other, or there are gaps between them.
        gap = int(rng.integers(10))
        b = b[:, gap : gap + columns] if gap else np.ascontiguousarray(b[:, :columns])
        a = rng.uniform(-1, 1, (1, 2 * depth)).astype(dtype)[:, :: rng.choice([1, 2])][:, :depth]
        wide = np.result_type(dtype, np.float64)
        bound = depth * 4 * np.finfo(dtype).eps
        c = rng.uniform(-1, 1, (1, columns)).astype(dtype)
        expected = 0.5 * (a.astype(wide) @ b.astype(wide))
        for found in (linalg.matmul(a, b, alpha=0.5), linalg.matmul(b.T, a.T, alpha=0.5).T):
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
        found = linalg.matmul(a, b, c, alpha=0.5, beta=2.0)
        np.testing.assert_allclose(found, expected + 2 * c, rtol=0, atol=bound + 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_threads_share_the_lines_of_a_matrix_beside_a_vector(dtype: str) -> None:
    rng = np.random.default_rng()
    for depth, columns in [(3000, 700), (1000, 1003), (5001, 333), (700, 2)]:
        real, imaginary = rng.uniform(-1, 1, (2, depth + 1, columns))
        both = (real + 1j * imaginary if "complex" in dtype else real).astype(dtype)
        b, a = both[:-1], rng.uniform(-1, 1, (1, depth)).astype(dtype)
        wide = np.result_type(dtype, np.float64)
        expected, bound = a.astype(wide) @ b.astype(wide), depth * 8 * np.finfo(dtype).eps
        for threads in (1, 2, 3, 7):
            execution = linalg.ExecutionCPU(num_threads=threads)
            every_second = np.full((1, 2 * columns), 7, dtype)
            out = every_second[:, ::2]
            for found in (
                linalg.matmul(a, b, execution=execution),
                linalg.matmul(b.T, a.T, execution=execution).T,
                linalg.matmul(a, b, out=out, execution=execution),
                linalg.matmul(a, b, both[-1:], beta=-1.0, execution=execution) + both[-1:],
            ):
                np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
            assert (every_second[:, 1::2] == 7).all()


@pytest.fixture
def empty_cache() -> Iterator[None]:
    core.plan_cache_clear()
    yield
    core.plan_cache_clear()


def batches() -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Return small batches, each with whether a step leads from each matrix to the next."""
    rng = np.random.default_rng()
    a, b = rng.uniform(-1, 1, (6, 5, 4, 3)), rng.uniform(-1, 1, (6, 5, 3, 2))
    return [
        (a, b, True),
        (a[0], b[0], True),
        (a[0, 0], b, True),
        (a, b[0, 0], True),
        (a[0, 0, 0], b, True),
        (a, b[0, 0, :, 0], True),
        (a[::-1, ::-1], b[::-1, ::-1], True),
        (a[:, :1], b[:, :1], True),
        (a[0].transpose(1, 2, 0).copy().transpose(2, 0, 1), b[0], True),
        (a.swapaxes(2, 3), a, True),
        (a.astype(np.float32)[..., ::2], b.astype(np.float32)[..., :2, ::-1], True),
        (a + 1j, b - 1j, True),
        (a.swapaxes(0, 1), b.swapaxes(0, 1), False),
        (a[:, ::2], b[:, ::2], False),
        (a, b[0], False),
        (a[:, :1], b, False),
    ]


@pytest.mark.usefixtures("empty_cache")
def test_small_batches_need_no_plan_if_a_step_leads_to_each_matrix() -> None:
    for a, b, has_step in batches():
        core.plan_cache_clear()
        found = linalg.matmul(a, b)
        expected = np.matmul(a.astype(complex), b.astype(complex))
        assert (found.shape, found.dtype) == (expected.shape, a.dtype)
        assert found.flags.c_contiguous
        tolerance = 1e-5 if a.dtype == np.float32 else 1e-14
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert core.plan_cache_info().size == int(not has_step), (a.strides, b.strides)


def test_batches_that_do_not_fit() -> None:
    a = np.ones((2, 3, 4))
    for b in [np.ones((3, 4, 5)), np.ones((2, 3, 5)), np.ones((2, 4, 5), np.float32)]:
        with pytest.raises(ValueError, match="b"):
            linalg.matmul(a, b)
    assert linalg.matmul(a[:0], np.ones((0, 4, 5))).shape == (0, 3, 5)
