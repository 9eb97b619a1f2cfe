"""The functions of `numpy.fft` that transform along several axes, with NumPy's arguments.

They differ from `fft`, `ifft`, `rfft` and `irfft` in their defaults, which are NumPy's. So inverse
transforms are divided by the number of points unless ``norm`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpumath._host.execution import Execution
from gpumath.bindings import core
from gpumath.fft._crop_or_pad import listed
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._options import FFTDirection, FFTOptions, Kind, Norm
from gpumath.fft._transform import transform

__all__ = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]

_FORWARD, _INVERSE = FFTDirection.FORWARD, FFTDirection.INVERSE


def fftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the N-dimensional forward transform of complex input.

    Like `numpy.fft.fftn`, but the operand must be complex (use `rfftn` for a real one) and no axis
    may be repeated.

    Parameters
    ----------
    operand : array
        As for `fft`.
    s : sequence of int, optional
        Number of points along each of ``axes``. A longer operand is cropped; a shorter one is
        padded with zeros; -1 keeps the length of an axis. By default the operand's own lengths.
    axes : sequence of int, optional
        Axes to transform along. By default all axes, or the last ``len(s)`` axes.
    norm : {'backward', 'ortho', 'forward'}, default: 'backward'
        ``'backward'`` divides inverse transforms by the number of points, ``'forward'`` divides
        forward transforms by it, and ``'ortho'`` divides both by its square root. None means
        ``'backward'``, as in NumPy; `fft` and `ifft` do not scale by default.
    out : array, optional
        Array to write the result to, as for `fft`.
    options, execution, prolog, epilog, stream
        As for `fft`.

    Returns
    -------
    array
        As for `fft`, but scaled as ``norm`` says.

    Raises
    ------
    ValueError, TypeError, UnsupportedLayoutError, gpumath.bindings.errors.NoDeviceError
        As for `fft`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.fftn(np.ones((2, 2), np.complex128))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _transform(
        operand, "C2C", _FORWARD, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def ifftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the N-dimensional inverse transform of complex input: the inverse of `fftn`.

    Like `numpy.fft.ifftn`. By default the result is divided by the number of points.

    The parameters, the result and the errors are those of `fftn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.ifftn(fft.fftn(np.array([[1, 2], [3j, 4]])))
    array([[1.+0.j, 2.+0.j],
           [0.+3.j, 4.+0.j]])
    """
    return _transform(
        operand, "C2C", _INVERSE, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def rfftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the N-dimensional forward transform of real input.

    Like `numpy.fft.rfftn`. The full result is Hermitian, so only the first ``n // 2 + 1`` points
    along the last of ``axes`` are returned.

    The parameters, the result and the errors are those of `fftn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.rfftn(np.ones((3, 4, 6))).shape
    (3, 4, 4)
    """
    return _transform(
        operand, "R2C", _FORWARD, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def irfftn(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the N-dimensional inverse transform of Hermitian input: the inverse of `rfftn`.

    Like `numpy.fft.irfftn`. The lengths in ``s`` are those of the real result. Without ``s``, the
    result's length along the last of ``axes`` is ``2 * (m - 1)``, where the operand's is ``m``.

    The parameters, the result and the errors are those of `fftn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> a = np.array([[1.0, 2.0, 3.0]])
    >>> fft.irfftn(fft.rfftn(a), s=a.shape, axes=(0, 1))
    array([[1., 2., 3.]])
    """
    return _transform(
        operand, "C2R", _INVERSE, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def fft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the 2-dimensional forward transform of complex input.

    Like `fftn`, but by default along the last two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.fft2(np.ones((3, 2, 2), np.complex64)).shape
    (3, 2, 2)
    """
    return _transform(
        operand, "C2C", _FORWARD, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def ifft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the 2-dimensional inverse transform of complex input: the inverse of `fft2`.

    Like `ifftn`, but by default along the last two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.ifft2(np.ones((1, 2), np.complex128))
    array([[1.+0.j, 0.+0.j]])
    """
    return _transform(
        operand, "C2C", _INVERSE, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def rfft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the 2-dimensional forward transform of real input.

    Like `rfftn`, but by default along the last two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.rfft2(np.ones((3, 4, 6))).shape
    (3, 4, 4)
    """
    return _transform(
        operand, "R2C", _FORWARD, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def irfft2(
    operand: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm | None = "backward",
    out: Any = None,
    *,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
) -> Any:
    """Compute the 2-dimensional inverse transform of Hermitian input: the inverse of `rfft2`.

    Like `irfftn`, but by default along the last two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.irfft2(np.ones((2, 2), np.complex128))
    array([[1., 0.],
           [0., 0.]])
    """
    return _transform(
        operand, "C2R", _INVERSE, s, axes, norm, options, execution, out, prolog, epilog, stream
    )


def _transform(
    operand: Any,
    kind: Kind,
    direction: FFTDirection,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: Norm | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    out: Any,
    prolog: DeviceCallable | Mapping[str, Any] | None,
    epilog: DeviceCallable | Mapping[str, Any] | None,
    stream: Any,
) -> Any:
    s = None if s is None else listed("s", s)
    if s is not None and axes is None:
        ndim = len(core.TensorView(operand).shape)
        if len(s) > ndim:
            msg = f"s has {len(s)} lengths, but the operand has only {ndim} dimensions"
            raise ValueError(msg)
        axes = range(ndim - len(s), ndim)
    if norm is None:
        norm = "backward"
    return transform(
        operand,
        kind,
        direction,
        axes,
        None,
        s,
        norm,
        options,
        execution,
        out,
        prolog,
        epilog,
        stream,
    )
