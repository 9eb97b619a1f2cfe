"""Lengths that transforms are fast for."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["fast_length", "fast_length_on_gpu"]


@lru_cache(maxsize=1024)
def fast_length(least: int, multiple: int = 1) -> int:
    """Return the smallest length with no prime factor above 7 that is a multiple of a number.

    The CPU engine has kernels of its own for these factors.
    """
    return _cheapest(least, multiple, 0, 0)


@lru_cache(maxsize=1024)
def fast_length_on_gpu(least: int, is_double: bool) -> int:
    """Return the length that convolutions take the least time with, as measured on an H200.

    Short lines take as long as their numbers need from memory. In others, each odd prime factor
    costs a seventh of the time of a convolution; half of that in double precision, if it is there
    more than once. Multiples of 16 are faster than their neighbours.
    """
    if least < _LEAST_LONG:
        return fast_length(least, 2)
    return _cheapest(least, 16, 0.14, 0.07 if is_double else 0.14)


# Points from which the factors of a length matter on a GPU.
_LEAST_LONG = 1024


def _cheapest(least: int, multiple: int, once: float, more: float) -> int:
    """Return a multiple of a number, with no prime factor above 7, that costs least.

    Lengths cost themselves, and that part more for each odd prime factor that is in them ``once``,
    or ``more`` often.
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
                primes = (p for p in (3, 5, 7) if odd % p == 0)
                more_time = sum(once if odd % (p * p) else more for p in primes)
                if length * (1 + more_time) < cost:
                    best, cost = length, length * (1 + more_time)
                odd *= 3
            fives *= 5
        sevens *= 7
    return best * multiple
