"""Functions that make gpumath's own arrays, for users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from gpumath._host.array_libraries import library_of
from gpumath._host.stream import order_after_current
from gpumath.bindings import core

__all__ = ["empty", "from_dlpack"]


def empty(
    shape: int | Sequence[int],
    dtype: Any = "float64",
    *,
    kind: Literal["device", "pinned", "managed", "host"] = "device",
    device_id: int = 0,
    stream: Any = None,
) -> core.Array:
    """Allocate an array without setting its elements.

    Parameters
    ----------
    shape : int or sequence of int
        Extent of each dimension.
    dtype : str or dtype, default: 'float64'
        Element type: one of NumPy's booleans, integers, real and complex numbers, or bfloat16,
        float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float4_e2m1fn_x2, complex32. It is given by its
        name, or as a type of NumPy, ``ml_dtypes`` or PyTorch.
    kind : {'device', 'pinned', 'managed', 'host'}, default: 'device'
        Kind of memory: device memory; page-locked host memory, which is copied from and to the
        device fastest; unified memory, which both the CPU and the device use; or ordinary host
        memory.
    device_id : int, default: 0
        CUDA device. It has no effect for ordinary host memory.
    stream : int or stream object, optional
        CUDA stream on which the array is used, and in whose order its memory is freed. By default
        the default stream. A stream object is kept alive until then; a stream given as an int is
        not.

    Returns
    -------
    Array
        New array in C order. Its memory is freed when neither the array nor a view of it, in NumPy
        or in another library, exists any more.

    Raises
    ------
    ValueError
        ``shape``, ``dtype`` or ``kind`` has a value that is not allowed.
    gpumath.bindings.errors.OutOfMemoryError
        Not enough memory is left.
    gpumath.bindings.errors.NoDeviceError
        There is no such device.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import memory
    >>> a = memory.empty((2, 3), "float32", kind="host")
    >>> np.asarray(a)[:] = [[1, 2, 3], [4, 5, 6]]  # the same memory
    >>> np.from_dlpack(a).sum()
    np.float32(21.0)
    """
    return core.Array(shape, dtype, kind=kind, device_id=device_id, stream=stream)


def from_dlpack(x: Any, /, *, stream: Any = None) -> core.Array:
    """Borrow the memory of another library's array, without a copy.

    Parameters
    ----------
    x : array
        NumPy array, CuPy array, PyTorch tensor, or an object with ``__dlpack__``,
        ``__cuda_array_interface__`` or the buffer protocol. The result keeps it alive.
    stream : int or stream object, optional
        CUDA stream on which the elements will be used. By default the default stream. It waits for
        the work that writes the elements: on the current stream of CuPy or PyTorch, or on the
        stream that the protocol names.

    Returns
    -------
    Array
        Array on the same memory. It is read-only if ``x`` is.

    Raises
    ------
    ValueError
        ``x`` has none of the protocols, is masked, is a lazy view, requires a gradient, or has an
        element type, alignment or layout that is not supported.
    BufferError
        The library of ``x`` does not share this memory.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import memory
    >>> x = np.zeros(3)
    >>> a = memory.from_dlpack(x)
    >>> x[0] = 7
    >>> np.asarray(a)
    array([7., 0., 0.])
    """
    library_of(x)
    array = core.Array.borrow(x, stream=stream)
    if array.device_id is not None:
        order_after_current(x, array.device_id, 0 if stream is None else stream)
    return array
