"""Lengths that transforms are fast for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = ["Place", "fast_length", "fast_length_on_gpu"]


@lru_cache(maxsize=1024)
def fast_length(least: int, multiple: int = 1) -> int:
    """Return the smallest length with no prime factor above 7 that is a multiple of a number.

    The CPU engine has kernels of its own for these factors.
    """
    return _cheapest(least, multiple, lambda _odd: 0)


Place: TypeAlias = Literal["line", "row", "column"]


@lru_cache(maxsize=1024)
def fast_length_on_gpu(least: int, dtype: str, place: Place) -> int:
    """Return the length that convolutions take the least time with, as measured on an H200.

    Rows, which are along the last axis of an image or of many lines, take as long as their numbers
    need from memory. Columns, which are along another axis, take a part more time where several odd
    prime factors are in their length. In a long line, each odd prime factor costs a seventh of the
    time of a convolution; half of that in double precision, and still less if it is there more than
    once. Its length is a multiple of 16, which is faster than its neighbours.
    """
    is_double = dtype in ("float64", "complex128")
    if place == "row" or least < _LEAST_LONG:
        return _cheapest(least, 2, lambda odd: 0.1 if is_double and odd % 35 == 0 else 0)
    if place == "line":
        once, more = (0.07, 0.03) if is_double else (0.14, 0.14)
        return _cheapest(least, 16, lambda odd: sum(_each_prime(odd, once, more)))
    is_split = least < _LEAST_SPLIT or dtype.startswith("complex")
    cost = _COSTS_OF_MIXED_COLUMNS[dtype] if is_split else 0
    exempt = 21 if dtype == "float32" else 1
    return _cheapest(least, 4, lambda odd: cost if _is_mixed(odd, exempt) else 0)


# Points from which the factors of a length matter on a GPU; and from which columns of spectra of
# real images take as long whatever their factors are.
_LEAST_LONG, _LEAST_SPLIT = 1024, 6000

# The part that columns with several odd prime factors take more.
_COSTS_OF_MIXED_COLUMNS = {"float32": 0.4, "float64": 0.37, "complex64": 0.18, "complex128": 0.13}


def _each_prime(odd: int, once: float, more: float) -> list[float]:
    """Return the cost of each prime factor: it is in the number ``once``, or ``more`` often."""
    return [more if odd % (p * p) == 0 else once for p in (3, 5, 7) if odd % p == 0]


def _is_mixed(odd: int, exempt: int) -> bool:
    """Whether a number has several prime factors, other than those of the exempt one."""
    primes = [p for p in (3, 5, 7) if odd % p == 0]
    return len(primes) > 1 and any(exempt % p for p in primes)


def _cheapest(least: int, multiple: int, cost_of_factors: Callable[[int], float]) -> int:
    """Return a multiple of a number, with no prime factor above 7, that costs least.

    Lengths cost themselves, and a part more for their odd factors.
    """
    least = -(-least // multiple)
    best = 1 << max(least - 1, 0).bit_length()
    cost: float = best
    sevens = 1
    while sevens < cost:
        fives = sevens
        while fives < cost:
            odd = fives
            while odd < cost:
                length = odd << (-(-least // odd) - 1).bit_length()
                whole_cost = length * (1 + cost_of_factors(odd))
                if whole_cost < cost:
                    best, cost = length, whole_cost
                odd *= 3
            fives *= 5
        sevens *= 7
    return best * multiple
