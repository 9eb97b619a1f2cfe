"""Axes and lengths as SciPy's functions take them: numbers or sequences, with SciPy's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

__all__ = ["integers", "lengths_and_axes"]


def integers(name: str, given: Sequence[int] | int | None) -> tuple[int, ...] | None:
    """Return a number or a sequence of numbers as a tuple."""
    if given is None:
        return None
    try:
        return tuple(map(index, given)) if hasattr(given, "__iter__") else (index(given),)
    except TypeError:
        msg = f"{name} is {given!r}; an integer or a sequence of integers is needed"
        raise ValueError(msg) from None


def lengths_and_axes(
    shape: Sequence[int], lengths: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the points along each axis to transform, and these axes, none of them negative.

    A length of -1 is the operand's own. Without axes, they are the last ``len(lengths)``, or all.
    """
    ndim = len(shape)
    if axes is None:
        count = ndim if lengths is None else len(lengths)
        if count > ndim:
            msg = f"{count} lengths are given, but the operand has only {ndim} dimensions"
            raise ValueError(msg)
        axes = range(ndim - count, ndim)
    for axis in axes:
        if not -ndim <= axis < ndim:
            msg = f"axis {axis} is out of range for an operand with {ndim} dimensions"
            raise ValueError(msg)
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
    return points, chosen
