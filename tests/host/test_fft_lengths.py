"""Every length up to 4096, and long lengths without small prime factors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.references import (
    assert_close,
    hermitian_values,
    random_values,
    reference,
    relative_error,
    tolerance,
)

LENGTHS = range(1, 4097)
LONG_PRIMES = [4099, 65_537, 100_003, 524_287, 999_983]
# The product of two large prime factors, and 2 and 8 times so many.
LONG_PRODUCTS = [727 * 733, 2 * 727 * 733, 8 * 257 * 263]

# Arrays with odd lengths, along -1, that are grids of real numbers: for one line, for a line on
# each of three threads, or for a line that threads share.
ODD_GRIDS = [
    *product([61 * 61, 73 * 97, 3**8 * 5, 3**8 * 25], [(1, -1), (4, -1), (-1, 2)]),
    (101 * 103 * 107, (1, -1)),
    (5 * 216_379, (1, -1)),
]


def too_inaccurate(results: dict[int, float], dtype: type) -> dict[int, float]:
    return {n: error for n, error in results.items() if not error <= tolerance(dtype, n)}


@pytest.fixture(autouse=True)
def empty_plan_cache() -> None:
    core.plan_cache_clear()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_transforms_of_every_length(execution: str, dtype: type) -> None:
    forward, inverse = {}, {}
    for n in LENGTHS:
        values = random_values((2, n), dtype)
        expected = reference(values, "C2C", (1,))
        forward[n] = relative_error(fft.fft(values, axes=[1], execution=execution), expected)
        # Of real and imaginary part exchanged, the forward transform is the inverse one.
        swapped = np.ascontiguousarray(values.imag + 1j * values.real, dtype)
        result = fft.ifft(swapped, axes=[1], execution=execution)
        inverse[n] = relative_error(result.imag + 1j * result.real, expected)
    assert too_inaccurate(forward, dtype) == {}
    assert too_inaccurate(inverse, dtype) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_transforms_of_every_length(execution: str, dtype: type) -> None:
    forward, back = {}, {}
    for n in LENGTHS:
        values = random_values((2, n), dtype)
        half = fft.rfft(values, axes=[1], execution=execution)
        forward[n] = relative_error(half, reference(values, "R2C", (1,)))
        parity = {"last_axis_parity": "odd" if n % 2 else "even"}
        result = fft.irfft(half, axes=[1], options=parity, execution=execution)
        # Against the inverse of the very half that went in.
        back[n] = relative_error(result, reference(half, "C2R", (1,), odd=n % 2 == 1))
    assert too_inaccurate(forward, dtype) == {}
    assert too_inaccurate(back, dtype) == {}


@pytest.mark.parametrize("n", LONG_PRIMES)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_transform_of_a_long_prime_length(execution: str, n: int, dtype: type) -> None:
    values = random_values((n,), dtype)
    assert_close(fft.fft(values, execution=execution), values, "C2C", (0,))


@pytest.mark.parametrize("n", LONG_PRIMES)
def test_real_transforms_of_a_long_prime_length(execution: str, n: int) -> None:
    values = random_values((n,), np.float64)
    assert_close(fft.rfft(values, execution=execution), values, "R2C", (0,))
    half = hermitian_values(((n + 1) // 2,), (0,), np.complex128, odd=True)
    result = fft.irfft(half, execution=execution, options={"last_axis_parity": "odd"})
    assert_close(result, half, "C2R", (0,), odd=True)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", LONG_PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_lengths_without_small_prime_factors(n: int, threads: int, dtype: type) -> None:
    execution = fft.ExecutionCPU(num_threads=threads)
    values = random_values((n,), dtype)
    half = fft.rfft(values, execution=execution)
    assert_close(half, values, "R2C", (0,))
    parity = {"last_axis_parity": "odd" if n % 2 else "even"}
    back = fft.irfft(half, options=parity, execution=execution)
    error = relative_error(back, reference(half, "C2R", (0,), odd=n % 2 == 1))
    assert error <= tolerance(dtype, n)
    both = values + 1j * values[::-1]
    assert_close(fft.fft(both, execution=execution), both, "C2C", (0,))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("n", "shape"), ODD_GRIDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_real_lines_as_grids(n: int, threads: int, shape: tuple[int, int], dtype: type) -> None:
    execution = fft.ExecutionCPU(num_threads=threads)
    axis = shape.index(-1)
    values = random_values(tuple(n if extent < 0 else extent for extent in shape), dtype)
    half = fft.rfft(values, axes=[axis], execution=execution)
    assert_close(half, values, "R2C", (axis,))
    # The imaginary part of the first number does not count.
    half = half * half.dtype.type(1 + 0.25j)
    before = half.copy()
    parity = {"last_axis_parity": "odd"}
    back = fft.irfft(half, axes=[axis], options=parity, execution=execution)
    assert_close(back, half, "C2R", (axis,), odd=True)
    assert np.array_equal(half, before)
