"""The frequencies of a transform's points, and functions that reorder these points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpumath._host.arguments import integer
from gpumath._host.array_libraries import library_of
from gpumath.bindings import core

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(n: int, d: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the frequency of each point of a transform: 0, then positive, then negative ones.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default: 1.0
        Distance between samples. The frequencies are in cycles per unit of ``d``.

    Returns
    -------
    numpy.ndarray
        ``n`` frequencies, in the order of the result of `fft`.

    Raises
    ------
    ValueError
        ``n`` is not an integer.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.fftfreq(4, d=0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    return np.fft.fftfreq(n, d).astype(np.float64, copy=False)


def rfftfreq(n: int, d: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the frequency of each point of the result of `rfft`.

    The parameters and the errors are those of `fftfreq`. The result has ``n // 2 + 1`` frequencies,
    none of them negative.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ])
    """
    return np.fft.rfftfreq(n, d).astype(np.float64, copy=False)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Copy an array with frequency 0 moved from the front to the middle.

    Parameters
    ----------
    x : array
        NumPy array, CuPy array or PyTorch tensor, of any element type.
    axes : int or sequence of int, optional
        Axes to shift along. By default all axes.

    Returns
    -------
    array
        New array of the same library, shape, element type and device.

    Raises
    ------
    ValueError
        The array is of another library, or an axis is out of range.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.fftshift(fft.fftfreq(4, d=0.5))
    array([-1. , -0.5,  0. ,  0.5])
    """
    return _shift(x, axes, forward=True)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Copy an array with frequency 0 moved from the middle to the front: undo `fftshift`.

    The parameters, the result and the errors are those of `fftshift`.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.ifftshift(fft.fftshift(fft.fftfreq(5)))
    array([ 0. ,  0.2,  0.4, -0.4, -0.2])
    """
    return _shift(x, axes, forward=False)


def _shift(x: Any, axes: int | Sequence[int] | None, *, forward: bool) -> Any:
    library = library_of(x)
    # NumPy's arrays may be of any element type, also of one that nothing computes with.
    shape = x.shape if isinstance(x, np.ndarray) else core.TensorView(x).shape
    if axes is None:
        chosen = tuple(range(len(shape)))
    else:
        given = axes if isinstance(axes, Iterable) else (axes,)
        chosen = tuple(integer("axes", axis) for axis in given)
    for axis in chosen:
        if not -len(shape) <= axis < len(shape):
            msg = f"axis {axis} is out of range for an array with {len(shape)} dimensions"
            raise ValueError(msg)
    shifts = tuple(shape[axis] // 2 if forward else -(shape[axis] // 2) for axis in chosen)
    return library.roll(x, shifts, chosen)
