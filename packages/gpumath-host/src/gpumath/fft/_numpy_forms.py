"""The functions of `numpy.fft` that transform along several axes, with NumPy's arguments.

They differ from `fft` and its three relatives in one rule: their defaults are NumPy's. So what goes
back is scaled unless ``norm`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpumath._host.execution import Execution
from gpumath.bindings import core
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
    """Transform complex numbers forward, along several axes.

    As `numpy.fft.fftn`, but for complex operands only (real ones: `rfftn`) and distinct axes.

    Parameters
    ----------
    operand : array
        As for `fft`.
    s : sequence of int, optional
        Points along each of ``axes``: a longer operand is cut, a shorter one padded with zeros; -1
        leaves an axis as it is. By default as many as the operand has.
    axes : sequence of int, optional
        Axes to transform along; by default all, or the last ``len(s)``.
    norm : {'backward', 'ortho', 'forward'}, default: 'backward'
        ``'backward'`` divides what goes back by the number of points of the transform,
        ``'forward'`` what goes forward, and ``'ortho'`` both by its square root. None means
        ``'backward'``, as in NumPy; `fft` and `ifft` do not scale by default.
    out : array, optional
        Array to write the result to, as for `fft`.
    options, execution, prolog, epilog, stream
        Keywords of `fft`.

    Returns
    -------
    array
        As from `fft`.

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
    """Transform complex numbers back, along several axes: the inverse of `fftn`.

    As `numpy.fft.ifftn`. The result is divided by the number of points of the transform.

    Parameters, result and errors are those of `fftn`, with NumPy's defaults.

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
    """Transform real numbers forward, along several axes, to half of the complex result.

    As `numpy.fft.rfftn`. The last one of the axes has ``n // 2 + 1`` points in the result.

    Parameters, result and errors are those of `fftn`, with NumPy's defaults.

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
    """Transform half of a Hermitian array back, to real numbers: the inverse of `rfftn`.

    As `numpy.fft.irfftn`. ``s`` counts points of the result; without it their number along the last
    one of the axes is even.

    Parameters, result and errors are those of `fftn`, with NumPy's defaults.

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
    """Transform complex numbers forward, along two axes.

    As `fftn`, along the last two axes by default.

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
    """Transform complex numbers back, along two axes: the inverse of `fft2`.

    As `ifftn`, along the last two axes by default.

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
    """Transform real numbers forward, along two axes, to half of the complex result.

    As `rfftn`, along the last two axes by default.

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
    """Transform half of a Hermitian array back, along two axes: the inverse of `rfft2`.

    As `irfftn`, along the last two axes by default.

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
    if s is not None and axes is None:
        ndim = len(core.TensorView(operand).shape)
        axes = range(ndim - len(s), ndim)
    norm = norm or "backward"
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
