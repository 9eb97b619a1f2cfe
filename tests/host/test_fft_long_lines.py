"""Lines of many points, which several threads transform, and lines of extreme numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.references import assert_close, hermitian_values, random_values

# Grids, padded grids for large primes, and half of them for real lines; even and odd.
LONG = [1 << 15, 3 * 16411, 2 * 16411, 65_537, 99_999, 2 * 65_536, 180_180]
# Longer than what is transformed as a whole on one thread.
LONGEST = [(1 << 22) + 4, (1 << 22) + 1, 4_999_999]


def transformed(kind: str, operand: np.ndarray, odd: bool, threads: int, out: Any = None) -> Any:
    execution = fft.ExecutionCPU(num_threads=threads)
    function = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[kind]
    options = {"last_axis_parity": "odd"} if kind == "C2R" and odd else None
    return function(operand, axes=[-1], options=options, execution=execution, out=out)


def operand_of(kind: str, points: int, dtype: str) -> np.ndarray:
    if kind == "C2R":
        odd = points % 2 == 1
        return hermitian_values((2, points // 2 + 1), (1,), dtype.replace("f", "c"), odd=odd)
    return random_values((2, points), dtype.replace("f", "c") if kind == "C2C" else dtype)


@pytest.mark.parametrize("points", LONG)
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_lines_on_any_number_of_threads(kind: str, points: int) -> None:
    dtype = {"C2C": "f8", "R2C": "f4", "C2R": "f8"}[kind]
    dtype = dtype if kind == "R2C" else f"f{2 * int(dtype[1])}"
    values = operand_of(kind, points, dtype)
    odd = points % 2 == 1
    for threads in (1, 3):
        for step in (1, -2):
            # The operand, and the result, with gaps between their elements.
            spread = np.zeros((2, values.shape[1] * abs(step)), values.dtype)[:, ::step]
            spread[...] = values
            result = transformed(kind, spread, odd, threads)
            assert_close(result, values, kind, (1,), odd=odd)
            out = np.zeros((2, result.shape[1] * abs(step)), result.dtype)[:, ::step]
            assert transformed(kind, spread, odd, threads, out) is out
            assert_close(out, values, kind, (1,), odd=odd)


@pytest.mark.parametrize("points", LONGEST)
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_longest_lines(kind: str, points: int) -> None:
    """In single precision, because the reference takes long."""
    dtype = {"C2C": "f8", "R2C": "f4", "C2R": "f8"}[kind]
    values = operand_of(kind, points, dtype)[:1]
    odd = points % 2 == 1
    result = transformed(kind, values, odd, 2)
    assert_close(result, values, kind, (1,), odd=odd)


@pytest.mark.parametrize("points", [97, 2003, 16_411, 32_768, 4 * 16_411, 60])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_large_numbers_stay_finite(points: int, dtype: str) -> None:
    """One number, up to the largest one over eight times the points, as docs/fft.md says."""
    values = np.zeros(points, dtype)
    largest = np.finfo(dtype).max / (8 * points)
    for at in (0, points // 3, points - 1):
        values[...] = 0
        values[at] = largest if values.dtype.kind == "f" else largest * (1 - 1j)
        with np.errstate(all="ignore"):
            result = fft.rfft(values) if values.dtype.kind == "f" else fft.fft(values)
            assert np.isfinite(result).all()
            size = np.abs(result / largest)
        np.testing.assert_allclose(size, abs(values[at] / largest), rtol=1e-4)
