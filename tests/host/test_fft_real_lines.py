"""Real lines of many lengths and layouts on the CPU, which are transformed several at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gpumath import fft

LENGTHS = [*range(1, 101), 121, 127, 141, 225, 233, 295, 343, 500, 539, 1155, 2047, 2500]


def lines(
    shape: tuple[int, ...], dtype: npt.DTypeLike, rng: np.random.Generator
) -> npt.NDArray[np.inexact]:
    """Return numbers of which no two lines are equal."""
    numbers = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return np.asarray(numbers, dtype)


def views(length: int, dtype: npt.DTypeLike) -> list[npt.NDArray[np.inexact]]:
    """Return lines along axis 1: rows, neighbours, few and many, with gaps, backward."""
    rng = np.random.default_rng()
    return [
        lines((37, length), dtype, rng),
        lines((20, 2 * length), dtype, rng)[:, ::2],
        *(lines((few, length), dtype, rng) for few in (2, 3, 4, 5, 9)),
        lines((9, length, 2), dtype, rng),
        lines((2, length, 19), dtype, rng),
        lines((1, length, 33), dtype, rng),
        lines((length, 35), dtype, rng).T[::-1],
        lines((length, 40), dtype, rng)[::-1, 3:].T,
    ]


def check(result: npt.NDArray[np.inexact], expected: npt.NDArray[np.inexact], eps: float) -> None:
    """Compare line by line: no line may be less accurate because of its neighbours."""
    assert result.shape == expected.shape
    error = np.linalg.norm(result - expected, axis=1)
    assert np.all(error <= 20 * eps * np.linalg.norm(expected, axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(dtype: str) -> None:
    eps = float(np.finfo(dtype).eps)
    of_complex = np.result_type(dtype, "complex64")
    for length in LENGTHS:
        for operand in views(length, dtype):
            # Lines of very different size.
            operand *= np.asarray(10.0 ** (np.arange(operand.shape[0]) % 7), dtype)[
                (slice(None),) + (None,) * (operand.ndim - 1)
            ]
            kept = operand.copy()
            expected = np.fft.rfft(operand.astype("float64"), axis=1)
            check(fft.rfft(operand, axes=[1]), expected, eps)
            assert np.array_equal(operand, kept)
        parity = "odd" if length % 2 else "even"
        for operand in views(length // 2 + 1, of_complex):
            kept = operand.copy()
            result = fft.irfft(operand, axes=[1], options={"last_axis_parity": parity})
            expected = np.fft.irfft(operand.astype("complex128"), length, axis=1, norm="forward")
            check(result, expected, eps)
            assert np.array_equal(operand, kept)


@pytest.mark.parametrize("length", [2, 3, 9, 15, 16, 30, 49, 141])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_line_changes_another(length: int, bad: float) -> None:
    for operand in views(length, "float32"):
        good = fft.rfft(operand, axes=[1])
        operand[3 % len(operand), length // 2, ...] = bad
        spoilt = fft.rfft(operand, axes=[1])
        others = np.arange(len(operand)) != 3 % len(operand)
        assert np.array_equal(good[others], spoilt[others])
        assert not np.isfinite(spoilt[3 % len(operand)]).all()
