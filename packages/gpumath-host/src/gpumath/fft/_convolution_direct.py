"""Convolutions as sums of shifted products, for few elements of the shorter array."""

from __future__ import annotations

import math
from itertools import product as every
from typing import Any

import numpy as np

from gpumath._host.conversions import empty
from gpumath.bindings import core
from gpumath.fft._convolution_fft import Product

__all__ = ["by_kernel", "by_shifts", "has_kernel", "is_short", "kernel_cost", "shifts_cost"]

# Elements of the result that are computed at a time on the CPU: as many as a core's cache holds.
_AT_ONCE = 1 << 14

# Picoseconds that a GPU's kernel takes for a product and its sum: of float32 as measured on an
# H200, of the others by what they compute and load more.
_PRODUCT_COSTS = {"float32": 0.36, "float64": 0.6, "complex64": 0.9, "complex128": 1.8}


def is_short(in1: Any, in2: Any) -> bool:
    """Whether these are lines of one type, so short that `numpy.convolve` is the fastest way."""
    return (
        type(in1) is type(in2) is np.ndarray
        and in1.ndim == in2.ndim == 1
        and in1.dtype == in2.dtype
        and in1.dtype.char in "fdFD"
        and 0 < in2.size <= in1.size
        and in1.size * (in2.size * (4 if in1.dtype.kind == "c" else 1) + 50) < 300_000
    )


def by_shifts(product: Product) -> Any:
    """Add up the products of ``x`` and each element of ``h``, shifted."""
    x, h = product.x, product.h
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.size and product.axes:
        (start,), (points,) = product.starts, product.shape
        return np.convolve(x, h)[start : start + points].astype(product.dtype)
    result = empty(x, product.shape, product.dtype)
    result[...] = 0
    taps = [range(n) if a in product.axes else (None,) for a, n in enumerate(h.shape)]
    for part in _parts(product) if isinstance(x, np.ndarray) else [(0, product.shape[0])]:
        for tap in every(*taps):
            _add(product, result, tap, part)
    return result


def has_kernel(product: Product) -> bool:
    """Whether `by_kernel` computes the product, if the arrays are on a GPU."""
    return product.dtype in _PRODUCT_COSTS and 1 <= len(product.axes) <= 4


def by_kernel(product: Product) -> Any:
    """Add up the products in one kernel."""
    return core.convolve(product.x, product.h, product.axes, product.starts, product.shape)


def kernel_cost(product: Product) -> float:
    """Return about how many nanoseconds `by_kernel` takes on a GPU."""
    points = math.prod(product.shape)
    # It takes four elements of the filter at a time along one axis. Where that is the result's
    # fastest dimension, each product loads both factors.
    last = len(product.shape) - 1
    wide = [a for a in product.axes if a != last and product.shape[a] > 1]
    axis = max(wide or product.axes, key=lambda a: int(product.h.shape[a]))
    taps = -(-int(product.h.shape[axis]) // 4) * 4
    taps *= math.prod(int(product.h.shape[a]) for a in product.axes if a != axis)
    each = _PRODUCT_COSTS[product.dtype] * (1 if wide else 4)
    return 40_000 + points * (taps * each * 1e-3 + 0.005)


def shifts_cost(product: Product, is_on_gpu: bool) -> float:
    """Return about how many nanoseconds `by_shifts` takes on a CPU."""
    taps = math.prod(int(product.h.shape[a]) for a in product.axes)
    points = math.prod(product.shape)
    if isinstance(product.x, np.ndarray) and product.x.ndim == 1:
        return points * (10 + (0.2 if product.is_real else 0.8) * taps)
    # On a GPU, each product and each sum is a kernel of its own, and a pass over memory.
    return taps * (30_000 + points * 4.0) if is_on_gpu else taps * (4_000 + points * 1.5)


def _parts(product: Product) -> list[tuple[int, int]]:
    """Cut the first dimension of the result into ranges."""
    count = product.shape[0]
    rows = max(_AT_ONCE * count // max(math.prod(product.shape), 1), 1)
    return [(first, min(first + rows, count)) for first in range(0, count, rows)]


def _add(product: Product, result: Any, tap: tuple[int | None, ...], part: tuple[int, int]) -> None:
    """Add the products with one element of ``h`` to a part of the result's first dimension."""
    to, of_x, of_h = [], [], []
    for axis, at in enumerate(tap):
        low, high = part if axis == 0 else (0, product.shape[axis])
        points = product.x.shape[axis]
        if at is None:
            # Broadcast where there is one element.
            to.append(slice(low, high))
            of_x.append(slice(low, high) if points > 1 else slice(None))
            of_h.append(slice(low, high) if product.h.shape[axis] > 1 else slice(None))
            continue
        shift = product.starts[axis] - at
        low, high = max(low, -shift), min(high, points - shift)
        if low >= high:
            return
        to.append(slice(low, high))
        of_x.append(slice(low + shift, high + shift))
        of_h.append(slice(at, at + 1))
    result[tuple(to)] += product.x[tuple(of_x)] * product.h[tuple(of_h)]
