"""Lengths that transforms are fast for."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["fast_length"]


@lru_cache(maxsize=1024)
def fast_length(least: int, multiple: int = 1) -> int:
    """Return the smallest length with no prime factor above 7 that is a multiple of a number.

    The CPU engine and cuFFT both have kernels of their own for these factors.
    """
    least = -(-least // multiple)
    best = 1 << max(least - 1, 0).bit_length()
    sevens = 1
    while sevens < best:
        fives = sevens
        while fives < best:
            odd = fives
            while odd < best:
                twos = (-(-least // odd) - 1).bit_length()
                best = min(best, odd << twos)
                odd *= 3
            fives *= 5
        sevens *= 7
    return best * multiple
