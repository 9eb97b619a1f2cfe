"""Lengths that transforms are fast for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

from gpumath.fft._lengths_of_lines import LENGTHS_OF_LINES

__all__ = ["Place", "fast_length", "fast_length_on_gpu"]


@lru_cache(maxsize=1024)
def fast_length(least: int, multiple: int = 1) -> int:
    """Return the smallest length with no prime factor above 7 that is a multiple of a number.

    The CPU engine has kernels of its own for these factors.
    """
    return _cheapest(least, multiple, lambda _length: 0)


Place: TypeAlias = Literal["line", "row", "column"]


@lru_cache(maxsize=1024)
def fast_length_on_gpu(least: int, dtype: str, place: Place, lines: int = 1) -> int:
    """Return the length that convolutions take the least time with.

    A line, of so many, is transformed along the last axis alone; a row and a column are along the
    last and along another axis of an image. Columns take a part more time where several odd prime
    factors are in their length, as measured on an H200.
    """
    is_double = dtype in ("float64", "complex128")
    if place == "line":
        return _length_of_line(least, dtype, is_double, lines)
    if place == "row" or least < _LEAST_LONG:
        return _cheapest(least, 2, lambda length: 0.1 if is_double and length % 35 == 0 else 0)
    is_split = least < _LEAST_SPLIT or dtype.startswith("complex")
    cost = _COSTS_OF_MIXED_COLUMNS[dtype] if is_split else 0
    exempt = 21 if dtype == "float32" else 1
    return _cheapest(least, 4, lambda length: cost if _is_mixed(length, exempt) else 0)


def _length_of_line(least: int, dtype: str, is_double: bool, lines: int) -> int:
    """Return the length of a line from the table, or by a rule if it is too short or too long.

    cuFFT has faster kernels for some lengths of short lines, and reads and writes lines of some
    others twice or three times. In a long line, each odd prime factor costs a seventh of the time
    of a convolution; half of that in double precision, and still less if it is there more than
    once. Its length is a multiple of 16, which is faster than its neighbours.
    """
    lengths = next(lengths for most, lengths in LENGTHS_OF_LINES.items() if lines <= most)[dtype]
    if least > lengths[-1]:
        once, more = (0.07, 0.03) if is_double else (0.14, 0.14)
        return _cheapest(least, 16, lambda length: sum(_each_prime(length, once, more)))
    if least >= lengths[0]:
        return lengths[bisect_left(lengths, least)]
    return _cheapest(least, 2, lambda length: _cost_of_line(length, dtype))


# Real lines of these lengths take less time.
_FAST_LINES = {
    "float32": {1024, 1080, 1296, 1728, 2048, 4096, 8192},
    "float64": {1024, 1080, 1296, 1728, 2048, 4096},
}

# Lines of so many complex numbers in double precision are read and written twice, and real ones of
# twice as many.
_SLOW_LINES = {
    *(1344, 2430, 2835, 3000, 3675, 3840, 4480, 5250),
    *(5376, 5670, 6860, 7056, 7290, 7350, 7560, 7840),
}


def _cost_of_line(length: int, dtype: str) -> float:
    """Return which part of its time a line of this length takes more than others."""
    if length in _FAST_LINES.get(dtype, ()):
        return -0.22
    is_slow = dtype in ("float64", "complex128") and (
        (length if dtype == "complex128" else length // 2) in _SLOW_LINES
    )
    return 0.5 if is_slow else 0


# Points from which the factors of a length matter on a GPU; and from which columns of spectra of
# real images take as long whatever their factors are.
_LEAST_LONG, _LEAST_SPLIT = 1024, 6000

# The part that columns with several odd prime factors take more.
_COSTS_OF_MIXED_COLUMNS = {"float32": 0.4, "float64": 0.37, "complex64": 0.18, "complex128": 0.13}


def _each_prime(length: int, once: float, more: float) -> list[float]:
    """Return the cost of each odd prime factor: it is there ``once``, or ``more`` often."""
    return [more if length % (p * p) == 0 else once for p in (3, 5, 7) if length % p == 0]


def _is_mixed(length: int, exempt: int) -> bool:
    """Whether a length has several odd prime factors, other than those of the exempt one."""
    primes = [p for p in (3, 5, 7) if length % p == 0]
    return len(primes) > 1 and any(exempt % p for p in primes)


def _cheapest(least: int, multiple: int, cost_of: Callable[[int], float]) -> int:
    """Return a multiple of a number, with no prime factor above 7, that costs least.

    A length costs itself, and the part of it that ``cost_of`` returns.
    """
    least = -(-least // multiple)
    best = multiple << max(least - 1, 0).bit_length()
    cost = best * (1 + cost_of(best))
    sevens = 1
    while sevens < cost:
        fives = sevens
        while fives < cost:
            odd = fives
            while odd < cost:
                length = multiple * odd << (-(-least // odd) - 1).bit_length()
                whole_cost = length * (1 + cost_of(length))
                if whole_cost < cost:
                    best, cost = length, whole_cost
                odd *= 3
            fives *= 5
        sevens *= 7
    return best
