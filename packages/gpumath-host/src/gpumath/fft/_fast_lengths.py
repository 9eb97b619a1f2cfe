"""Lengths that transforms are fast for."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["fast_length", "fast_length_on_gpu"]


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


@lru_cache(maxsize=1024)
def fast_length_on_gpu(least: int, multiple: int = 1) -> int:
    """Return the smallest power of two times 1, 3, 5, 7, 9 or 15 that is a multiple of a number.

    cuFFT takes up to three times as long for the numbers of others, measured on an H200.
    """
    least = -(-least // multiple)
    lengths = (odd << (-(-least // odd) - 1).bit_length() for odd in (1, 3, 5, 7, 9, 15))
    return min(lengths) * multiple
