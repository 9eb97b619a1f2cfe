"""The functions `fft`, `ifft`, `rfft` and `irfft`. They take plans from the thread's plan cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt

from gpumath._host.execution import Execution
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._options import Direction, FFTDirection, FFTOptions, Norm, resolve_direction
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
    direction: Direction | None


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
    direction: Direction | None = None,
) -> Any:
    """Compute the forward transform of complex input.

    Along each axis in ``axes``, element ``j`` of the result is the sum over ``k`` of
    ``operand[k] * exp(-2j * pi * j * k / n)``.

    Parameters
    ----------
    operand : array
        NumPy array, CuPy array, PyTorch tensor, or any array with ``__dlpack__``,
        ``__cuda_array_interface__`` or the buffer protocol, of at least one dimension, with
        elements of type complex64 or complex128 (complex32 too on a GPU), of any strides.
    axes : sequence of int, optional
        Axes to transform along, each at most once; negative axes count from the end. By default
        all axes. The other axes are a batch of transforms.
    options : FFTOptions or dict, optional
        Layout of the result, in-place operation and more; see `FFTOptions`.
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute. By default the transform runs where the operand is. With ``'cuda'``, an
        operand in host memory is copied to the GPU, and its result is copied back; with ``'cpu'``,
        the same happens to an operand on the GPU in the other direction. Several GPUs can share
        the work: see `ExecutionCUDA` and the Notes.
    out : array, optional
        Array to write the result to: on the operand's device, with the shape and element type of
        the result, and any strides. For a C2C transform it may be the operand itself. By default
        a new array is allocated.
    prolog, epilog : DeviceCallable or dict, optional
        Device functions from `compile_prolog` and `compile_epilog`. The prolog loads the elements
        of the operand, the epilog stores those of the result. They need a GPU.
    stream : int or stream object, optional
        CUDA stream to work on: a ``cudaStream_t`` as an int, a stream of CuPy, PyTorch or Numba, or
        an object with ``__cuda_stream__()``. The stream waits for the work that writes the operand.
        By default it is the current stream of CuPy or PyTorch, or the default stream for other
        operands. It is ignored if no GPU takes part.
    n : int, optional
        Number of points of the transform, which must have one axis. A longer operand is cropped; a
        shorter one is copied and padded with zeros. By default the operand's own length.
    s : sequence of int, optional
        Like ``n``, but with one number for each of ``axes``; -1 keeps the length of an axis.
    norm : {'backward', 'ortho', 'forward'}, optional
        ``'backward'`` divides inverse transforms by the number of points, ``'forward'`` divides
        forward transforms by it, and ``'ortho'`` divides both by its square root. By default
        nothing is scaled. The scaling follows after an epilog, which sees unscaled values.
    direction : FFTDirection, {'forward', 'inverse'} or int, optional
        Sign of the exponent; by default that of the function. `rfft` is always forward and `irfft`
        always inverse.

    Returns
    -------
    array
        ``out`` if it is given, and the operand itself with the option ``inplace``. Otherwise a new
        array with the shape (but for ``n`` and ``s``), element type and device of the operand: a
        NumPy array, CuPy array or PyTorch tensor if the operand is one, else a
        `gpumath.memory.Array`.

    Raises
    ------
    ValueError
        The operand is not of an accepted library, or not complex; an axis is out of range or
        repeated; ``execution`` or ``norm`` is not an allowed value; the number of lengths
        is not the number of axes; or several GPUs cannot transform this size.
    TypeError
        ``options`` or ``stream`` has a wrong type, or a dictionary a field that is none.
    UnsupportedLayoutError
        Callbacks or several GPUs do not take the operand's strides; the message says which copy
        helps.
    gpumath.bindings.errors.NoDeviceError
        ``execution`` asks for a GPU, but there is none, or fewer than it names.

    Notes
    -----
    With ``execution=ExecutionCUDA(device_ids=[0, 1])``, the GPUs share a batch among them, whatever
    its sizes. A single transform is spread over them by cuFFT, which limits its lengths and the
    number of GPUs. Both need C-contiguous operands that are transformed along their last axes. The
    documentation's page on several GPUs has the table of sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.fft(np.array([1, 1j, -1, -1j]))
    array([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j])
    """
    chosen = _FORWARD if direction is None else resolve_direction(direction, "C2C")
    return transform(
        operand, "C2C", chosen, axes, n, s, norm, options, execution, out, prolog, epilog, stream
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
    direction: Direction | None = None,
) -> Any:
    """Compute the inverse transform of complex input, unscaled by default.

    Along each axis in ``axes``, element ``j`` of the result is the sum over ``k`` of
    ``operand[k] * exp(+2j * pi * j * k / n)``. So ``ifft(fft(a))`` is ``a`` times the number of
    points, and ``ifft(fft(a), norm='backward')`` is ``a``.

    The parameters, the result and the errors are those of `fft`.

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
    chosen = _INVERSE if direction is None else resolve_direction(direction, "C2C")
    return transform(
        operand, "C2C", chosen, axes, n, s, norm, options, execution, out, prolog, epilog, stream
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
    direction: Direction | None = None,
) -> Any:
    """Compute the forward transform of real input.

    The full result is Hermitian, so only the first ``n // 2 + 1`` points along the last of ``axes``
    are returned.

    The parameters and the errors are those of `fft`, with two differences: the operand's elements
    are float32 or float64 (float16 too for PyTorch tensors on a GPU), and a complex operand raises
    RuntimeError.

    Returns
    -------
    array
        Complex array with the precision and shape of the operand, but with ``n // 2 + 1`` points
        along the last of ``axes``, where the operand has ``n``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.rfft(np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0]]), axes=[1])
    array([[10.+0.j, -2.+2.j, -2.+0.j],
           [ 2.+0.j, -1.+1.j,  0.+0.j]])
    """
    chosen = _FORWARD if direction is None else resolve_direction(direction, "R2C")
    return transform(
        operand, "R2C", chosen, axes, n, s, norm, options, execution, out, prolog, epilog, stream
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
    direction: Direction | None = None,
) -> Any:
    """Compute the inverse transform of Hermitian input to a real result, unscaled by default.

    The operand is the half of a Hermitian array that `rfft` returns. So ``irfft(rfft(a))`` is ``a``
    times the number of points if the length of ``a`` along the last axis is even. The operand is
    not changed.

    The parameters and the errors are those of `fft`. Imaginary parts that are 0 in every Hermitian
    array, such as that of element 0, are ignored.

    Returns
    -------
    array
        Real array with the precision and shape of the operand, but with another length along the
        last of ``axes``: the argument ``n``, or the last number in ``s``, if given. If not, an
        operand of length ``m`` gives ``2 * (m - 1)`` points, or ``2 * m - 1`` with the option
        ``last_axis_parity='odd'``.

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
    chosen = _INVERSE if direction is None else resolve_direction(direction, "C2R")
    return transform(
        operand, "C2R", chosen, axes, n, s, norm, options, execution, out, prolog, epilog, stream
    )
