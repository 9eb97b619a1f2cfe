"""Layouts that the CPU engine has ways of their own for, with and without a batch to share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

from gpumath import fft
from tests.helpers.references import random_values

# Lines whose points take turns, two to many in a row, rows that fill the vectors and that do not,
# lengths that are no multiple of the points that move together.
TURNS = [
    ((3, 48, 40, 3), (1, 2)),
    ((40, 50, 2), (1,)),
    ((33, 63, 5), (1,)),
    ((2, 37, 21, 7), (2,)),
    ((16, 1024, 3), (0, 1)),
    ((17, 128, 15), (1,)),
    ((18, 2048, 3), (1,)),
]
# Rows with factors of 5 and 7, which single precision takes together; the last ones fill no vector.
ROWS = [((67, 50), (1,)), ((4, 33, 75), (2,)), ((6, 19, 98, 35), (2, 3)), ((5, 100), (1,))]
# Blocks whose rows are a large power of two apart, which displace each other in a cache.
CROWDED = [((32, 64, 128), (0, 2)), ((128, 128, 128), (0, 2)), ((32, 16, 16, 64), (0, 2, 3))]


@pytest.mark.parametrize(("shape", "axes"), TURNS + ROWS + CROWDED)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("threads", [1, 2])
def test_values(shape: tuple[int, ...], axes: tuple[int, ...], dtype: type, threads: int) -> None:
    values = random_values(shape, dtype)
    forward = scipy.fft.fftn(values.astype(np.complex128), axes=axes)
    execution = {"name": "cpu", "num_threads": threads}
    tolerance = 1e-5 if dtype is np.complex64 else 1e-12

    def check(result: np.ndarray, expected: np.ndarray) -> None:
        assert np.abs(result - expected).max() < tolerance * np.abs(expected).max()

    check(fft.fft(values, axes=axes, execution=execution), forward)
    out = np.empty_like(values)
    fft.fftn(values, axes=axes, out=out)
    check(out, forward)
    fft.ifft(out, axes=axes, execution=execution, options={"inplace": True})
    count = np.prod([shape[axis] for axis in axes])
    check(out, values * count)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_only_the_rows_are_written(dtype: type) -> None:
    """Rows of a larger array, apart from each other: contiguous ones, and lines that take turns."""
    for columns in (slice(3, 131), slice(0, 129), slice(1, 126)):
        whole = random_values((70, 140), dtype)
        before, rows = whole.copy(), whole[:, columns]
        expected = scipy.fft.fft(rows.astype(np.complex128))
        fft.fft(rows, axes=[1], execution="cpu", options={"inplace": True})
        assert np.abs(rows - expected).max() < 1e-5 * np.abs(expected).max()
        before[:, columns] = rows
        np.testing.assert_array_equal(whole, before, "elements of others have changed")


@pytest.mark.parametrize("layout", ["natural", "optimized"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_large_results_start_at_a_cache_line(layout: str, axis: int) -> None:
    values = random_values((33, 40, 21), np.complex64)
    expected = scipy.fft.fft(values, axis=axis)
    results = [fft.fft(values, axes=[axis], options={"result_layout": layout}) for _ in range(5)]
    for result in results:
        assert result.ctypes.data % 64 == 0
        assert np.abs(result - expected).max() < 1e-5 * np.abs(expected).max()
        assert result.flags.writeable
    small = fft.fft(values[:5, :5, :5], axes=[axis], options={"result_layout": layout})
    assert small.flags.owndata
