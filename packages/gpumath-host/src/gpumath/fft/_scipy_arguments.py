"""Arguments as SciPy's functions take them: axes, lengths, and the number of threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import index

from numpy.exceptions import AxisError

from gpumath._host.arguments import integer

__all__ = ["integers", "length_of", "lengths_and_axes", "threads_of"]


def integers(name: str, given: Sequence[int] | int | None) -> tuple[int, ...] | None:
    """Return a number or a sequence of numbers as a tuple."""
    if given is None:
        return None
    try:
        return tuple(map(index, given)) if hasattr(given, "__iter__") else (index(given),)
    except TypeError:
        msg = f"{name} is {given!r}; an integer or a sequence of integers is needed"
        raise ValueError(msg) from None


def length_of(n: int | None) -> tuple[int] | None:
    """Return the length along one axis, where -1 has no meaning, unlike in several lengths."""
    if n is None:
        return None
    points = integer("n", n)
    if points < 1:
        msg = f"n is {n}; at least one point is needed"
        raise ValueError(msg)
    return (points,)


def lengths_and_axes(
    shape: Sequence[int], lengths: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the points along each axis to transform, and these axes, none of them negative.

    A length of -1 is the operand's own. Without axes, they are the last ``len(lengths)``, or all.
    """
    ndim = len(shape)
    # The short ways, for what is asked most.
    if lengths is None and axes is None:
        return tuple(shape), tuple(range(ndim))
    if lengths is None and axes is not None and len(axes) == 1 and -ndim <= axes[0] < ndim:
        axis = axes[0] % ndim
        return (shape[axis],), (axis,)
    if axes is None:
        count = ndim if lengths is None else len(lengths)
        if count > ndim:
            msg = f"{count} lengths are given, but the operand has only {ndim} dimensions"
            raise ValueError(msg)
        axes = range(ndim - count, ndim)
    for axis in axes:
        if not -ndim <= axis < ndim:
            msg = f"axis {axis} is out of range for an operand with {ndim} dimensions"
            # IndexError and ValueError: SciPy raises one along one axis, the other along several.
            raise AxisError(msg)
    chosen = tuple(axis % ndim for axis in axes)
    if len({*chosen}) < len(chosen):
        msg = f"the axes are {tuple(axes)}; each may be given once"
        raise ValueError(msg)
    if lengths is None:
        lengths = [-1] * len(chosen)
    elif len(lengths) != len(chosen):
        msg = f"{len(lengths)} lengths are given for {len(chosen)} axes; give one for each"
        raise ValueError(msg)
    points = tuple(shape[at] if n == -1 else n for n, at in zip(lengths, chosen, strict=True))
    if any(n >= 2**63 for n in points):
        msg = f"the lengths are {points}; so many elements are larger than the address space"
        raise ValueError(msg)
    return points, chosen


def threads_of(workers: int | None) -> int | None:
    """Return the number of threads that SciPy's ``workers`` means; -1 is one for each core."""
    if workers is None:
        return None
    workers = integer("workers", workers)
    if workers > 0:
        return workers
    if workers == 0:
        msg = "workers must not be zero; give a number of threads, or -1 for one for each core"
        raise ValueError(msg)
    cores = os.cpu_count() or 1
    if workers < -cores:
        msg = f"workers value out of range: {workers} is less than -{cores}, where -1 is all cores"
        raise ValueError(msg)
    return cores + 1 + workers
