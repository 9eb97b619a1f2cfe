"""Convolutions as sums of shifted products, for few elements of the shorter array."""

from __future__ import annotations

import math
from itertools import product as every
from typing import Any, NamedTuple

import numpy as np

from gpumath._host.conversions import empty
from gpumath.fft._convolution_fft import Product

__all__ = ["by_shifts", "has_kernel", "is_short", "kernel_cost", "shifts_cost"]

# Elements of the result that are computed at a time on the CPU: as many as a core's cache holds.
_AT_ONCE = 1 << 14


class _KernelCosts(NamedTuple):
    """What a GPU's kernel takes for a product and its sum."""

    each: float
    """Picoseconds where the GPU is busy."""
    alone: float
    """Nanoseconds of a thread, however few there are."""


# Of images, and along the result's fastest dimension alone; measured on H200s.
_KERNEL_COSTS = {
    "float32": _KernelCosts(0.18, 115),
    "float64": _KernelCosts(0.21, 107),
    "complex64": _KernelCosts(0.28, 134),
    "complex128": _KernelCosts(0.50, 190),
}
_KERNEL_COSTS_OF_LINES = {
    "float32": _KernelCosts(0.20, 57),
    "float64": _KernelCosts(0.37, 82),
    "complex64": _KernelCosts(0.37, 78),
    "complex128": _KernelCosts(0.67, 117),
}

# Picoseconds for an element of the result to begin a line of the filter.
_LINE_COST = 1.2

# Nanoseconds that a product and its sum take on a CPU, by the bytes of an element, and what their
# Python code takes: for all elements of the longer array at a time, and for all windows of it.
_SHIFT_COSTS = {1: 0.4, 2: 0.45, 4: 0.5, 8: 0.75, 16: 1.45}
_SHIFT_OVERHEAD, _WINDOWS_OVERHEAD, _WINDOW_COST = 4_000, 6_000, 2.2


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
    if not product.axes:
        return x * h
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.size:
        (start,), (points,) = product.starts, product.shape
        return np.convolve(x, h)[start : start + points].astype(product.dtype)
    if _has_windows(product) and _windows_cost(product) < _shifts_cost(product):
        return _by_windows(product)
    result = empty(x, product.shape, product.dtype)
    result[...] = 0
    taps = [range(n) if a in product.axes else (None,) for a, n in enumerate(h.shape)]
    for part in _parts(product) if isinstance(x, np.ndarray) else [(0, product.shape[0])]:
        for tap in every(*taps):
            _add(product, result, tap, part)
    return result


def has_kernel(product: Product) -> bool:
    """Whether `core.convolve` computes the product, if the arrays are on a GPU."""
    return product.dtype in _KERNEL_COSTS and 1 <= len(product.axes) <= 4


def kernel_cost(product: Product) -> float:
    """Return about how many nanoseconds `core.convolve` takes on a GPU."""
    points = math.prod(product.shape)
    # It takes four elements of the filter at a time along one axis.
    last = len(product.shape) - 1
    wide = [a for a in product.axes if a != last and product.shape[a] > 1]
    axis = max(wide or product.axes, key=lambda a: int(product.h.shape[a]))
    taps = -(-int(product.h.shape[axis]) // 4) * 4
    others = [int(product.h.shape[a]) for a in product.axes if a != axis]
    lines = math.prod(others)
    costs = (_KERNEL_COSTS if wide else _KERNEL_COSTS_OF_LINES)[product.dtype]
    busy = points * (lines * (taps * costs.each + _LINE_COST) * 1e-3 + 0.005)
    # Where there are few threads, up to 16 share the lines of the filter.
    threads = points // (8 if wide else 4) + 1
    sharers = max(min(16, 65_536 // threads, max(others, default=1)), 1)
    return 8_000 + busy + lines * taps * costs.alone / sharers


def shifts_cost(product: Product) -> float:
    """Return about how many nanoseconds `by_shifts` takes."""
    taps, points = _taps(product), math.prod(product.shape)
    if isinstance(product.x, np.ndarray) and product.x.ndim == 1:
        return points * (10 + (0.2 if product.is_real else 0.8) * taps)
    if product.is_on_gpu:
        # Each product and each sum is a kernel of its own, and a pass over memory.
        return taps * (30_000 + points * 4.0)
    cost = _shifts_cost(product)
    return min(cost, _windows_cost(product)) if _has_windows(product) else cost


def _shifts_cost(product: Product) -> float:
    each = _SHIFT_COSTS[np.dtype(product.dtype).itemsize]
    return _taps(product) * (_SHIFT_OVERHEAD + math.prod(product.shape) * each)


def _windows_cost(product: Product) -> float:
    return _WINDOWS_OVERHEAD + _taps(product) * math.prod(product.shape) * _WINDOW_COST


def _taps(product: Product) -> int:
    return math.prod(int(product.h.shape[a]) for a in product.axes)


def _has_windows(product: Product) -> bool:
    return isinstance(product.x, np.ndarray) and len(product.axes) == product.x.ndim


def _by_windows(product: Product) -> Any:
    """Multiply a matrix of all windows of ``x``, each as long as ``h``, and ``h`` reversed."""
    x, taps, shape = product.x, product.h.shape, product.shape
    padded = np.zeros([n + k - 1 for n, k in zip(shape, taps, strict=True)], product.dtype)
    # The element of x at the beginning of the first window.
    firsts = [start - k + 1 for start, k in zip(product.starts, taps, strict=True)]
    to = (slice(max(-first, 0), n - first) for first, n in zip(firsts, x.shape, strict=True))
    of = (slice(max(at, 0), at + n) for at, n in zip(firsts, padded.shape, strict=True))
    padded[tuple(to)] = x[tuple(of)]
    windows: Any = np.ndarray(shape + taps, padded.dtype, padded, 0, padded.strides * 2)
    matrix = windows.reshape(math.prod(shape), -1)
    return (matrix @ product.h.ravel()[::-1]).reshape(shape)


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
