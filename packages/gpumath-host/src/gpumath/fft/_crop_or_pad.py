"""Lengths that differ from the operand's: what ``n`` and ``s`` ask for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index, le
from typing import Any

from gpumath._host.arguments import integer
from gpumath._host.stream import refuse_capture
from gpumath.bindings import core

__all__ = ["lengths_of", "listed", "resized"]


def listed(name: str, given: Any) -> tuple[Any, ...]:
    """Return what was given as ``axes`` or ``s``, of which an element may be None, as a tuple."""
    try:
        return tuple(one if one is None and name == "s" else index(one) for one in given)
    except TypeError:
        msg = f"{name} is {given!r}; a sequence of integers, such as [0, 1], or None is needed"
        raise TypeError(msg) from None


def lengths_of(
    n: int | None, s: Sequence[int] | None, axes: Sequence[int] | None, ndim: int
) -> dict[int, int]:
    """Points along each transform axis that ``n`` or ``s`` names."""
    if n is not None and s is not None:
        msg = "n and s are given; n is for one axis, s for several"
        raise ValueError(msg)
    name, given = ("n", (n,)) if s is None else ("s", listed("s", s))
    chosen = range(ndim) if axes is None else axes
    if len(chosen) == 0:
        msg = "axes is empty; name at least one axis"
        raise ValueError(msg)
    if len(given) != len(chosen):
        msg = (
            f"{name} has {len(given)} lengths, and the transform is along {len(chosen)} axes; give "
            "one for each of axes"
        )
        raise ValueError(msg)
    lengths = {}
    for axis, length in zip(chosen, given, strict=True):
        if not -ndim <= axis < ndim:
            msg = f"axis {axis} is out of range for an operand with {ndim} dimensions"
            raise ValueError(msg)
        if length is None:
            continue
        points = integer(name, length)
        if points == -1:
            continue
        if points < 1:
            msg = f"{name} is {n if s is None else given}; lengths are positive"
            raise ValueError(msg)
        if points >= 2**63:
            msg = (
                f"{name} is {n if s is None else given}; so many elements are larger than the "
                "address space"
            )
            raise ValueError(msg)
        lengths[axis % ndim] = points
    return lengths


def resized(
    operand: Any, view: core.TensorView, lengths: dict[int, int], inplace: bool, stream: Any
) -> Any:
    """Cut the operand, which ``view`` looks into, to these extents, and pad it where it is shorter.

    What is only cut is a view of the operand, if its class has views.
    """
    shape = view.shape
    wanted = tuple(lengths.get(axis, extent) for axis, extent in enumerate(shape))
    if wanted == shape:
        return operand
    if inplace:
        msg = (
            f"inplace=True overwrites the operand, of shape {shape}, but n or s asks for the shape "
            f"{wanted}; cut or pad the operand first, or leave one of them out"
        )
        raise ValueError(msg)
    if all(map(le, wanted, shape)):
        try:
            return operand[tuple(map(slice, wanted))]
        except (TypeError, NotImplementedError, ValueError):
            pass
    device_id = view.device_id
    if device_id is None:
        return core.resized(operand, wanted)
    # On the transform's own stream, in whose order the memory of the copy is freed.
    what, cure = "the operand is cut or padded by a copy", "do that before the capture begins"
    handle = core.current_stream(operand) if stream is None else core.stream_handle(stream)
    refuse_capture(handle, device_id, what, cure)
    return core.resized(operand, wanted, stream=stream)
