"""Fourier transforms as functions. Their plans come from the calling thread's plan cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt

from gpumath._host.execution import Execution
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._options import FFTDirection, FFTOptions, Norm
from gpumath.fft._transform import transform

__all__ = ["fft", "ifft", "irfft", "rfft"]

_FORWARD, _INVERSE = FFTDirection.FORWARD, FFTDirection.INVERSE

_Complex = TypeVar("_Complex", np.complex64, np.complex128)


class _Keywords(TypedDict, total=False):
    axes: Sequence[int] | None
    options: FFTOptions | Mapping[str, Any] | None
    execution: Execution
    out: Any
    prolog: DeviceCallable | Mapping[str, Any] | None
    epilog: DeviceCallable | Mapping[str, Any] | None
    stream: Any
    n: int | None
    s: Sequence[int] | None
    norm: Norm | None


@overload
def fft(
    operand: npt.NDArray[_Complex], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[_Complex]: ...
@overload
def fft(operand: Any, /, **keywords: Unpack[_Keywords]) -> Any: ...
def fft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    out: Any = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Transform complex numbers forward, to complex numbers.

    The sum over ``k`` of ``operand[k] * exp(-2j * pi * j * k / n)``, along every axis in ``axes``.

    Parameters
    ----------
    operand : array
        NumPy array, CuPy array, PyTorch tensor, or any array with ``__dlpack__``,
        ``__cuda_array_interface__`` or the buffer protocol, of at least one dimension, with
        elements of type complex64 or complex128 (complex32 too on a GPU), of any strides.
    axes : sequence of int, optional
        Axes to transform along, each once; negative ones count from the end. By default all axes.
        The other axes are a batch.
    options : FFTOptions or dict, optional
        Layout of the result, working in place and more; see `FFTOptions`.
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute. By default where the operand is. A NumPy array with ``'cuda'`` is copied
        to the GPU and the result copied back; an array on the GPU with ``'cpu'`` the other way.
    out : array, optional
        Array to write the result to, on the operand's device, of the result's shape and element
        type, and of any strides; or, for C2C, the operand itself. Then no result is allocated.
    prolog, epilog : DeviceCallable or dict, optional
        Device functions, from `compile_prolog` and `compile_epilog`, that give the operand's
        elements and store the result's; on a GPU only.
    stream : int or stream object, optional
        CUDA stream to work on: a ``cudaStream_t``, a stream of CuPy, PyTorch or Numba, or an object
        with ``__cuda_stream__()``. It waits for the work that makes the operand. By default the
        current stream of CuPy or PyTorch, and the default stream for other operands. Ignored where
        no GPU takes part.
    n : int, optional
        Points of a transform along one axis. A longer operand is cut, a shorter one is copied and
        padded with zeros. By default as many as the operand has.
    s : sequence of int, optional
        The same for several axes, one for each of ``axes``; -1 leaves an axis as it is.
    norm : {'backward', 'ortho', 'forward'}, optional
        ``'backward'`` divides what goes back by the number of points of the transform,
        ``'forward'`` what goes forward, and ``'ortho'`` both by its square root. By default neither
        direction is scaled. An epilog sees what is not scaled yet.

    Returns
    -------
    array
        ``out`` if it is given. Otherwise an array of the operand's shape, element type, device, and
        of its library if that is NumPy, CuPy or PyTorch; otherwise a `gpumath.memory.Array`. With
        ``inplace`` it is the operand itself. It is not scaled unless ``norm`` is given.

    Raises
    ------
    ValueError
        The operand is not of an accepted library, is not complex or is a lazy view; an axis is out
        of range or repeated; ``execution`` or ``norm`` is not among the allowed; or there are not
        as many lengths as axes.
    TypeError
        ``options`` or ``stream`` is of a wrong type.
    UnsupportedLayoutError
        No plan covers the operand's strides; the exception says which copy helps.
    gpumath.bindings.errors.NoDeviceError
        ``execution`` asks for a GPU and there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.fft(np.array([1, 1j, -1, -1j]))
    array([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j])
    """
    return transform(
        operand, "C2C", _FORWARD, axes, n, s, norm, options, execution, out, prolog, epilog, stream
    )


@overload
def ifft(
    operand: npt.NDArray[_Complex], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[_Complex]: ...
@overload
def ifft(operand: Any, /, **keywords: Unpack[_Keywords]) -> Any: ...
def ifft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    out: Any = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Transform complex numbers back, to complex numbers, without scaling by default.

    The sum over ``k`` of ``operand[k] * exp(+2j * pi * j * k / n)``, along every axis in ``axes``:
    after `fft` it gives the operand times the number of points of the transform.

    Parameters, result and errors are those of `fft`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> a = np.array([1, 2, 3, 4], np.complex64)
    >>> fft.ifft(fft.fft(a)) / a.size
    array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)
    >>> fft.ifft(fft.fft(a), norm="backward")
    array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)
    """
    return transform(
        operand, "C2C", _INVERSE, axes, n, s, norm, options, execution, out, prolog, epilog, stream
    )


@overload
def rfft(  # type: ignore[overload-overlap]  # in NumPy's hints float32 is part of float64
    operand: npt.NDArray[np.float64], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[np.complex128]: ...
@overload
def rfft(
    operand: npt.NDArray[np.float32], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[np.complex64]: ...
@overload
def rfft(operand: Any, /, **keywords: Unpack[_Keywords]) -> Any: ...
def rfft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    out: Any = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Transform real numbers forward, to the half of the complex result that says it all.

    Parameters and errors are those of `fft`, with two differences: the operand's elements are
    float32 or float64 (float16 too for PyTorch tensors on a GPU), and a complex operand raises
    RuntimeError.

    Returns
    -------
    array
        Complex array of the operand's precision and shape, but for the last axis in ``axes``:
        where the operand has ``n`` points it has ``n // 2 + 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.rfft(np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0]]), axes=[1])
    array([[10.+0.j, -2.+2.j, -2.+0.j],
           [ 2.+0.j, -1.+1.j,  0.+0.j]])
    """
    return transform(
        operand, "R2C", _FORWARD, axes, n, s, norm, options, execution, out, prolog, epilog, stream
    )


@overload
def irfft(  # type: ignore[overload-overlap]  # as for rfft
    operand: npt.NDArray[np.complex128], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[np.float64]: ...
@overload
def irfft(
    operand: npt.NDArray[np.complex64], /, **keywords: Unpack[_Keywords]
) -> npt.NDArray[np.float32]: ...
@overload
def irfft(operand: Any, /, **keywords: Unpack[_Keywords]) -> Any: ...
def irfft(
    operand: Any,
    /,
    *,
    axes: Sequence[int] | None = None,
    options: FFTOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    out: Any = None,
    prolog: DeviceCallable | Mapping[str, Any] | None = None,
    epilog: DeviceCallable | Mapping[str, Any] | None = None,
    stream: Any = None,
    n: int | None = None,
    s: Sequence[int] | None = None,
    norm: Norm | None = None,
) -> Any:
    """Transform half of a Hermitian array back, to real numbers, without scaling by default.

    After `rfft` it gives the operand times the number of points of the transform. The operand is
    left as it is.

    Parameters and errors are those of `fft`. Imaginary parts that a Hermitian array cannot have,
    as that of element 0, are ignored.

    Returns
    -------
    array
        Real array of the operand's precision and shape, but for the last axis in ``axes``: where
        the operand has ``n`` points it has ``2 * (n - 1)``, and ``2 * n - 1`` with the option
        ``last_axis_parity='odd'``. The argument ``n``, or the last one of ``s``, is its length.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> a = np.array([1.0, 2.0, 3.0])
    >>> fft.irfft(fft.rfft(a), options={"last_axis_parity": "odd"}) / a.size
    array([1., 2., 3.])
    >>> fft.irfft(fft.rfft(a), n=3, norm="backward")
    array([1., 2., 3.])
    """
    return transform(
        operand, "C2R", _INVERSE, axes, n, s, norm, options, execution, out, prolog, epilog, stream
    )
