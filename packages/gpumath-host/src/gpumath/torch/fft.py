"""Fourier transforms of PyTorch tensors, with gradients and inside ``torch.compile``.

The functions have the names, the defaults and the results of those in `gpumath.fft`, without the
arguments that PyTorch decides here: a transform runs on the device of the tensor, on its current
stream, and returns a new tensor. It can be differentiated any number of times, and mapped by
``torch.vmap``. A result has the operand's order of dimensions in memory.

Examples
--------
>>> import torch
>>> from gpumath.torch import fft
>>> x = torch.tensor([2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0])
>>> fft.irfft(fft.rfft(x)[:3], n=8, norm="backward")
tensor([2., 1., 0., 1., 2., 1., 0., 1.])
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import torch

from gpumath.fft._options import Kind, Norm, check_norm
from gpumath.torch._fft_operators import c2c, c2r, r2c

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "ifft",
    "ifft2",
    "ifftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]


def fft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Compute the forward transform of a complex tensor; see `gpumath.fft.fft`.

    Parameters
    ----------
    operand : torch.Tensor
        Complex tensor on the CPU or on a CUDA device, of any strides; it may be a lazy conjugate.
    axes : sequence of int, optional
        Axes to transform along, each at most once. By default all axes.
    n : int, optional
        Number of points of the transform, which must have one axis. A longer operand is cropped,
        a shorter one is padded with zeros. By default the operand's own length.
    s : sequence of int, optional
        Like ``n``, but with one number for each of ``axes``; -1 keeps the length of an axis.
    norm : {'backward', 'ortho', 'forward'}, optional
        How to scale, as for `gpumath.fft.fft`. By default nothing is scaled.

    Returns
    -------
    torch.Tensor
        New tensor.

    Raises
    ------
    TypeError
        The operand is not a tensor.
    ValueError
        The operand's elements are not complex, an axis is out of range or repeated, or a length or
        ``norm`` is not allowed.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.fft(torch.tensor([1, 1j, -1, -1j]))
    tensor([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j])
    """
    return _c2c(operand, True, axes, n, s, norm)


def ifft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Compute the inverse transform of a complex tensor, unscaled by default.

    The parameters, the result and the errors are those of `fft`.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.ifft(torch.tensor([0, 4.0 + 0j, 0, 0]), norm="backward")
    tensor([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """
    return _c2c(operand, False, axes, n, s, norm)


def rfft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Compute the forward transform of a real tensor: the first ``n // 2 + 1`` points.

    The parameters and the errors are those of `fft`, but the operand is real.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    operand, along, _ = _prepared("R2C", operand, axes, n, s, norm)
    return r2c(operand, along, norm or "none")


def irfft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Compute the inverse transform of Hermitian input to a real tensor, unscaled by default.

    The parameters and the errors are those of `fft`. The number of points along the last of
    ``axes`` is ``n``, or the last number in ``s``, or ``2 * (m - 1)`` for an operand of length
    ``m``.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.irfft(torch.tensor([6.0, 0j]), n=3, norm="backward")
    tensor([2., 2., 2.])
    """
    operand, along, length = _prepared("C2R", operand, axes, n, s, norm)
    return c2r(operand, along, length, norm or "none")


def fftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
) -> Any:
    """Compute the N-dimensional forward transform of a complex tensor.

    The parameters are those of `gpumath.fft.fftn`; the errors are those of `fft`.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.fftn(torch.ones(2, 2, dtype=torch.complex64))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return fft(operand, axes=_last_axes(operand, s, axes), s=s, norm=norm or "backward")


def ifftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
) -> Any:
    """Compute the N-dimensional inverse transform of a complex tensor: the inverse of `fftn`.

    The parameters are those of `gpumath.fft.ifftn`; the errors are those of `fft`.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.ifftn(torch.ones(1, 2, dtype=torch.complex64))
    tensor([[1.+0.j, 0.+0.j]])
    """
    return ifft(operand, axes=_last_axes(operand, s, axes), s=s, norm=norm or "backward")


def rfftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
) -> Any:
    """Compute the N-dimensional forward transform of a real tensor.

    The parameters are those of `gpumath.fft.rfftn`; the errors are those of `fft`.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.rfftn(torch.ones(3, 4, 6)).shape
    torch.Size([3, 4, 4])
    """
    return rfft(operand, axes=_last_axes(operand, s, axes), s=s, norm=norm or "backward")


def irfftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
) -> Any:
    """Compute the N-dimensional inverse transform of Hermitian input: the inverse of `rfftn`.

    The parameters are those of `gpumath.fft.irfftn`; the errors are those of `fft`.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import fft
    >>> fft.irfftn(fft.rfftn(torch.ones(2, 3)), s=(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    return irfft(operand, axes=_last_axes(operand, s, axes), s=s, norm=norm or "backward")


def fft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
) -> Any:
    """Compute `fftn`, by default along the last two axes."""
    return fftn(operand, s, axes, norm)


def ifft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
) -> Any:
    """Compute `ifftn`, by default along the last two axes."""
    return ifftn(operand, s, axes, norm)


def rfft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
) -> Any:
    """Compute `rfftn`, by default along the last two axes."""
    return rfftn(operand, s, axes, norm)


def irfft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
) -> Any:
    """Compute `irfftn`, by default along the last two axes."""
    return irfftn(operand, s, axes, norm)


def _c2c(
    operand: Any,
    is_forward: bool,
    axes: Sequence[int] | None,
    n: int | None,
    s: Sequence[int] | None,
    norm: Norm | None,
) -> Any:
    operand, along, _ = _prepared("C2C", operand, axes, n, s, norm)
    return c2c(operand, along, is_forward, norm or "none")


def _last_axes(
    operand: Any, s: Sequence[int] | None, axes: Sequence[int] | None
) -> Sequence[int] | None:
    """Return the axes of an N-dimensional transform: with ``s`` alone, the last ones."""
    if s is None or axes is not None:
        return axes
    if len(s) > operand.ndim:
        msg = f"s has {len(s)} lengths, but the operand has only {operand.ndim} dimensions"
        raise ValueError(msg)
    return range(-len(s), 0)


def _prepared(
    kind: Kind,
    operand: Any,
    axes: Sequence[int] | None,
    n: int | None,
    s: Sequence[int] | None,
    norm: Norm | None,
) -> tuple[Any, list[int], Any]:
    """Check the arguments; return the cropped or padded operand, the axes and a C2R's length."""
    if not isinstance(operand, torch.Tensor):
        msg = (
            f"the operand is a {type(operand).__name__}, but the functions of gpumath.torch take "
            "tensors; gpumath.fft takes arrays of every library"
        )
        raise TypeError(msg)
    suits = operand.is_floating_point() if kind == "R2C" else operand.is_complex()
    if not suits:
        needed, other = ("real", "fft") if kind == "R2C" else ("complex", "rfft")
        msg = f"a {kind} transform takes {needed} tensors, but this one is {operand.dtype}"
        raise ValueError(f"{msg}; use {other}, or convert it")
    check_norm(norm)
    along = _checked_axes(axes, operand.ndim)
    if n is None and s is None and kind != "C2R":
        return operand, along, None
    lengths = _checked_lengths(n, s, [operand.shape[axis] for axis in along])
    length = lengths[-1]
    if kind == "C2R":
        if n is None and s is None:
            length = 2 * (length - 1)
        if length < 1:
            msg = "an operand with 1 point gives 0 points by default; pass n=1"
            raise ValueError(msg)
        lengths[-1] = length // 2 + 1
    for axis, wanted in zip(along, lengths, strict=True):
        operand = _resized(operand, axis, wanted)
    return operand, along, length


def _checked_axes(axes: Sequence[int] | None, ndim: int) -> list[int]:
    """Return the axes, counted from the first one; ValueError if they are not allowed."""
    given = list(range(ndim)) if axes is None else list(axes)
    if not given:
        msg = "axes is empty; name at least one axis"
        raise ValueError(msg)
    for axis in given:
        if not -ndim <= axis < ndim:
            msg = f"axis {axis} is out of range for an operand with {ndim} dimensions"
            raise ValueError(msg)
    along = [axis % ndim for axis in given]
    if len(set(along)) < len(along):
        msg = f"axes is {tuple(given)}; each axis may be there once"
        raise ValueError(msg)
    return along


def _checked_lengths(n: int | None, s: Sequence[int] | None, extents: list[Any]) -> list[Any]:
    """Return the number of points along each axis; ``extents`` are the operand's."""
    if n is not None and s is not None:
        msg = "n and s are given; n is for one axis, s for several"
        raise ValueError(msg)
    if n is None and s is None:
        return extents
    name = "n" if s is None else "s"
    given: list[Any] = [n] if s is None else list(s)
    if len(given) != len(extents):
        msg = (
            f"{name} has {len(given)} lengths, and the transform is along {len(extents)} axes; "
            "give one for each of axes"
        )
        raise ValueError(msg)
    lengths = []
    for asked, extent in zip(given, extents, strict=True):
        # To ask a symbolic length of torch.compile for its index would make it a constant.
        length = asked if isinstance(asked, int) else index(asked)
        if length == -1:
            length = extent
        elif length < 1:
            msg = f"{name} is {n if s is None else tuple(s)}; lengths are positive"
            raise ValueError(msg)
        lengths.append(length)
    return lengths


def _resized(operand: Any, axis: int, length: Any) -> Any:
    """Crop the operand along an axis, or pad it with zeros at the end."""
    extent = operand.shape[axis]
    # To compare symbolic lengths of torch.compile would make a graph for equal ones alone.
    if not torch.compiler.is_compiling() and length == extent:
        return operand
    if length <= extent:
        return operand.narrow(axis, 0, length)
    # Two numbers a dimension, from the last one on.
    padding = [0, 0] * (operand.ndim - 1 - axis) + [0, length - extent]
    return torch.nn.functional.pad(operand, padding)
