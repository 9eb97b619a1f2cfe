"""gpumath's own arrays, as users make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from gpumath._host.libraries import library_of
from gpumath._host.stream import resolve_stream
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
    """Make an array whose elements have no values yet.

    Parameters
    ----------
    shape : int or sequence of int
        Extent of each dimension.
    dtype : str or dtype, default: 'float64'
        Element type: one of NumPy's booleans, integers, real and complex numbers, or bfloat16,
        float8_e4m3fn, float8_e5m2, float8_e8m0fnu, complex32; by its name, or as the type of
        NumPy, ``ml_dtypes`` or PyTorch.
    kind : {'device', 'pinned', 'managed', 'host'}, default: 'device'
        Memory of the device; page-locked host memory, which copies from and to the device fastest;
        unified memory, which the CPU and the device both use; or ordinary host memory.
    device_id : int, default: 0
        CUDA device; without effect for ordinary host memory.
    stream : int or stream object, optional
        CUDA stream in whose order the array is used and its memory goes back; the default stream
        otherwise. It is kept alive until then, unless it is given as an int.

    Returns
    -------
    Array
        In C order. The memory goes back when nothing uses it any more: not the array, not a view
        of it in NumPy, nor one in another library.

    Raises
    ------
    ValueError
        ``shape``, ``dtype`` or ``kind`` cannot be.
    gpumath.bindings.errors.OutOfMemoryError
        There is not that much memory left.
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
        ``__cuda_array_interface__`` or the buffer protocol. It is kept alive.
    stream : int or stream object, optional
        CUDA stream on which the elements will be used, the default stream otherwise. It waits for
        what makes them: for the current stream of CuPy or PyTorch, or what the protocol says.

    Returns
    -------
    Array
        The same memory; it is read-only if ``x`` is.

    Raises
    ------
    ValueError
        ``x`` has none of the protocols, it is masked, a lazy view or needs a gradient, or its
        element type, alignment or layout cannot be.
    BufferError
        Its library does not lend its memory.

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
    device_id = core.TensorView(x).device_id
    if device_id is not None:
        resolve_stream(x, device_id, 0 if stream is None else stream)
    return core.Array.borrow(x, stream=stream)
