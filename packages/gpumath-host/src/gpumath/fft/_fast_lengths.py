"""Lengths that transforms are fast for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = ["Place", "fast_length", "fast_length_on_gpu"]


@lru_cache(maxsize=1024)
def fast_length(least: int, multiple: int = 1) -> int:
    """Return the smallest length with no prime factor above 7 that is a multiple of a number.

    The CPU engine has kernels of its own for these factors.
    """
    return _cheapest(least, multiple, lambda _length: 0)


Place: TypeAlias = Literal["line", "row", "column"]


@lru_cache(maxsize=1024)
def fast_length_on_gpu(least: int, dtype: str, place: Place) -> int:
    """Return the length that convolutions take the least time with.

    A line is transformed along the last axis alone; a row and a column are along the last and along
    another axis of an image. Lines and rows take as long as their numbers need from memory. But
    cuFFT has faster kernels for some lengths of lines, and reads and writes lines of some others
    twice or three times, as measured on an H100. All else was measured on an H200: columns take a
    part more time where several odd prime factors are in their length. In a line of more than 2^17
    points, each odd prime factor costs a seventh of the time of a convolution; half of that in
    double precision, and still less if it is there more than once. Its length is a multiple of 16,
    which is faster than its neighbours.
    """
    is_double = dtype in ("float64", "complex128")
    lengths = _LENGTHS_OF_LINES[dtype]
    if place == "line" and least > lengths[-1]:
        once, more = (0.07, 0.03) if is_double else (0.14, 0.14)
        return _cheapest(least, 16, lambda length: sum(_each_prime(length, once, more)))
    if place == "line" and least >= lengths[0]:
        return lengths[bisect_left(lengths, least)]
    if place == "line":
        return _cheapest(least, 2, lambda length: _cost_of_line(length, dtype))
    if place == "row" or least < _LEAST_LONG:
        return _cheapest(least, 2, lambda length: 0.1 if is_double and length % 35 == 0 else 0)
    is_split = least < _LEAST_SPLIT or dtype.startswith("complex")
    cost = _COSTS_OF_MIXED_COLUMNS[dtype] if is_split else 0
    exempt = 21 if dtype == "float32" else 1
    return _cheapest(least, 4, lambda length: cost if _is_mixed(length, exempt) else 0)


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


# Lengths that lines of 2^13 to 2^17 points are padded to: no longer line with prime factors up to 7
# takes 2 % less time, by the times of cuFFT 12.0 on an H100 for 2^24 points.
_LENGTHS_OF_LINES = {
    "float32": (
        *(8192, 8232, 8400, 8748, 8750, 8820, 8960, 9000, 9072, 9216, 9408, 9450, 9600, 9604, 9720),
        *(9800, 10000, 10080, 10206, 10240, 10290, 10368, 10584, 10752, 10800, 10976, 11200, 11250),
        *(11520, 11664, 11760, 12096, 12150, 12250, 12288, 12348, 12500, 12544, 12600, 12800),
        *(13122, 13230, 16384, 16464, 17150, 17280, 17496, 17500, 18000, 18432, 18522, 18816),
        *(19208, 20000, 20412, 20736, 21168, 21952, 22050, 22400, 22680, 23040, 23328, 24192),
        *(24576, 24696, 25000, 25088, 25200, 25600, 25920, 26244, 26460, 27000, 27648, 32768),
        *(33614, 34992, 36000, 36450, 36864, 37500, 38416, 39366, 40000, 40500, 40960, 41472),
        *(42336, 43200, 43904, 45000, 50000, 50176, 52488, 54000, 65536, 65610, 65856, 66150),
        *(67228, 67500, 68600, 69984, 70000, 80000, 87808, 93312, 100352, 103680, 104976, 108000),
        *(108864, 109760, 112000, 131072),
    ),
    "float64": (
        *(8192, 8232, 8400, 8640, 8748, 8750, 9000, 9072, 9216, 9600, 9604, 9720, 10000, 10080),
        *(10206, 10368, 10584, 10800, 11200, 11250, 11520, 11664, 11760, 12000, 12150, 12250),
        *(12348, 12500, 12544, 12800, 13122, 13230, 13500, 13824, 14000, 14406, 15000, 15360),
        *(15552, 15876, 16000, 16384, 16464, 16800, 17150, 17496, 17500, 18000, 18144, 18432),
        *(18522, 18750, 18816, 19200, 19208, 20000, 20250, 20736, 21168, 21600, 21870, 21952),
        *(22500, 23328, 23520, 25000, 25088, 25600, 27000, 28800, 31104, 32000, 32768, 33614),
        *(33750, 34300, 36450, 36864, 39366, 40000, 41472, 43904, 46656, 50176, 51200, 55296),
        *(55566, 60750, 62208, 65536, 65610, 65856, 66150, 67228, 67500, 68600, 69984, 80000),
        *(82944, 87808, 93312, 100352, 102400, 110592, 112000, 124416, 128000, 131072),
    ),
    "complex64": (
        *(8192, 8232, 8748, 8750, 9000, 9216, 9604, 10206, 10368, 10976, 11200, 11520, 11664),
        *(12096, 12288, 12348, 12500, 12544, 12600, 12800, 12960, 13824, 14112, 14400, 14580),
        *(14700, 15000, 15120, 15360, 16000, 16384, 17496, 18000, 18432, 18750, 19208, 20000),
        *(20480, 20736, 21168, 21600, 21952, 22500, 25000, 25088, 26244, 27000, 28800, 32768),
        *(40000, 43904, 46656, 47628, 49152, 50176, 51840, 65536, 80000, 93312, 97200, 98304),
        *(98784, 100000, 131072),
    ),
    "complex128": (
        *(8192, 8232, 8748, 8750, 9000, 9072, 9216, 9408, 9600, 9604, 10000, 10368, 10584, 10800),
        *(10976, 11250, 11664, 11760, 12500, 12544, 12800, 13500, 14400, 15552, 16000, 16384),
        *(20000, 21952, 23328, 25088, 25600, 27648, 31104, 32768, 40000, 41472, 43904, 46656),
        *(50176, 51200, 55296, 65536, 65856, 67228, 80000, 82944, 87808, 93312, 100352, 102400),
        *(124416, 131072),
    ),
}

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
