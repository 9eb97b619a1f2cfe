"""Convolutions as sums of products, for few elements of the shorter array."""

from __future__ import annotations

import math
from itertools import product as every
from typing import Any, NamedTuple

import numpy as np

from gpumath._host.conversions import empty
from gpumath.bindings import core
from gpumath.fft._convolution_fft import Product

__all__ = ["by_shifts", "is_summed_in_core", "sums_cost"]

# Axes that `core.convolve` sums along on a GPU.
_MOST_AXES_ON_GPU = 4


class _KernelCosts(NamedTuple):
    """What a GPU's kernel takes for a product and its sum."""

    each: float
    """Picoseconds where the GPU is busy."""
    alone: float
    """Nanoseconds of a thread, however few there are."""


_SHORT_INTEGERS = tuple(f"{sign}int{bits}" for bits in (8, 16, 32) for sign in ("", "u"))
_LONG_INTEGERS = ("int64", "uint64")

# Of images, and along the result's fastest dimension alone. Those of floats were measured on H200s,
# those of integers are estimates.
_KERNEL_COSTS = {
    "float32": _KernelCosts(0.18, 115),
    "float64": _KernelCosts(0.21, 107),
    "complex64": _KernelCosts(0.28, 134),
    "complex128": _KernelCosts(0.50, 190),
    **dict.fromkeys(_SHORT_INTEGERS, _KernelCosts(0.3, 115)),
    **dict.fromkeys(_LONG_INTEGERS, _KernelCosts(0.7, 190)),
}
_KERNEL_COSTS_OF_LINES = {
    "float32": _KernelCosts(0.15, 29),
    "float64": _KernelCosts(0.25, 60),
    "complex64": _KernelCosts(0.29, 61),
    "complex128": _KernelCosts(0.60, 109),
    **dict.fromkeys(_SHORT_INTEGERS, _KernelCosts(0.3, 61)),
    **dict.fromkeys(_LONG_INTEGERS, _KernelCosts(0.7, 109)),
}

# Picoseconds for an element of the result to begin a line of the filter.
_LINE_COST = 1.2

# Nanoseconds that a CPU takes: for a call, for a line of the result, for a line of the filter that
# this needs, and for each element of such a line and 32 bytes of the result, of which at least so
# many are as though they were there.
_CALL, _LINE, _TERM, _VECTOR, _LEAST_VECTORS = 4_000, 60, 4, 0.29, 2

# Products for which a further thread is taken.
_PRODUCTS_OF_THREAD = 1 << 19

# Nanoseconds for an element to be converted: integers are summed up in double precision.
_CONVERSION = 1.0


def by_shifts(product: Product) -> Any:
    """Add up the products of ``x`` and each element of ``h``, shifted, by the array library."""
    x, h = product.x, product.h
    if not product.axes:
        return x * h
    result = empty(x, product.shape, product.dtype)
    result[...] = 0
    taps = [range(n) if a in product.axes else (None,) for a, n in enumerate(h.shape)]
    for tap in every(*taps):
        _add(product, result, tap)
    return result


def is_summed_in_core(product: Product) -> bool:
    """Whether `core.convolve` computes the product."""
    if not product.is_on_gpu:
        return len(product.axes) > 0
    return product.dtype in _KERNEL_COSTS and 1 <= len(product.axes) <= _MOST_AXES_ON_GPU


def sums_cost(product: Product) -> float:
    """Return about how many nanoseconds sums of products take."""
    if not is_summed_in_core(product):
        # Each product and each sum is a kernel of its own, and a pass over memory.
        return _taps(product) * (30_000 + math.prod(product.shape) * 4.0)
    return _kernel_cost(product) if product.is_on_gpu else _cpu_cost(product)


def _kernel_cost(product: Product) -> float:
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


def _cpu_cost(product: Product) -> float:
    """Return about how many nanoseconds `core.convolve` takes on a CPU."""
    x, h, shape = product.x.shape, product.h.shape, product.shape
    # Lines go along the last axis, and along the dimensions after it, which share the filter.
    axis = next(a for a in reversed(range(len(shape))) if h[a] > 1 or x[a] != shape[a])
    line = math.prod(shape[axis:])
    if axis not in product.axes:
        axis = max(product.axes, key=lambda a: shape[a])
        line = shape[axis]
    points, taps = math.prod(shape), _taps(product)
    dtype = np.dtype(product.dtype)
    is_integer = dtype.kind in "iu"
    vectors = max(line * (8 if is_integer else dtype.itemsize) / 32, _LEAST_VECTORS)
    terms = taps / h[axis]
    cost: float = points / line * (_LINE + terms * (_TERM + h[axis] * vectors * _VECTOR))
    cost /= min(core.usable_cores(), 1 + points * taps // _PRODUCTS_OF_THREAD)
    if is_integer:
        cost += _CONVERSION * (math.prod(x) + points)
    return _CALL + cost


def _taps(product: Product) -> int:
    return math.prod(int(product.h.shape[a]) for a in product.axes)


def _add(product: Product, result: Any, tap: tuple[int | None, ...]) -> None:
    """Add the products with one element of ``h``."""
    to, of_x, of_h = [], [], []
    for axis, at in enumerate(tap):
        if at is None:
            # Broadcast where there is one element.
            to.append(slice(None))
            of_x.append(slice(None))
            of_h.append(slice(None))
            continue
        shift = product.starts[axis] - at
        low, high = max(0, -shift), min(product.shape[axis], product.x.shape[axis] - shift)
        if low >= high:
            return
        to.append(slice(low, high))
        of_x.append(slice(low + shift, high + shift))
        of_h.append(slice(at, at + 1))
    result[tuple(to)] += product.x[tuple(of_x)] * product.h[tuple(of_h)]
