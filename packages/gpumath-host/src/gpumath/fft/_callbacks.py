"""Compiles prologs and epilogs: device functions that cuFFT calls inside a transform."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

__all__ = ["compile_epilog", "compile_prolog"]

_ELEMENT_DTYPES = ("float32", "float64", "complex64", "complex128")


def compile_prolog(
    function: Callable[..., Any] | str,
    element_dtype: str,
    user_info_dtype: Any,
    *,
    name: str | None = None,
    representation: Literal["ltoir", "ptx"] = "ltoir",
    compute_capability: str | None = None,
) -> bytes:
    """Compile a prolog: a device function that loads the elements of a transform's operand.

    Parameters
    ----------
    function : callable or str
        Python function ``prolog(data_in, offset, user_info, reserved)``, which Numba compiles, or
        CUDA C++ with a device function ``prolog`` of these four parameters, which NVRTC compiles.
        The function returns the element that is transformed in place of ``data_in[offset]``.
    element_dtype : {'float32', 'float64', 'complex64', 'complex128'}
        Element type of the operand.
    user_info_dtype : str, dtype, numba.types.Type or None
        Type of the data that ``user_info`` points to: a numeric type, given by its name or as a
        NumPy dtype, or, for a Python function, a Numba type. None means ``void *`` in CUDA C++.
    name : str, optional
        For a Python function, the symbol of the compiled function, by default the one that cuFFT
        looks for. For CUDA C++, the name of the device function in the source, by default
        ``prolog``.
    representation : {'ltoir', 'ptx'}, default: 'ltoir'
        Transforms need ``'ltoir'``; ``'ptx'`` is text, for reading what the compiler made.
    compute_capability : str, optional
        Lowest compute capability that the code supports, such as ``'90'``; it runs on newer GPUs
        too. By default the lowest one among the GPUs of this machine.

    Returns
    -------
    bytes
        The code, for `DeviceCallable`.

    Raises
    ------
    ValueError
        A type, ``name``, ``representation`` or ``compute_capability`` has a value that is not
        allowed, or Numba cannot compile the function.
    RuntimeError
        Numba is not installed, or cuFFT is older than 11.3 (CUDA 12.6 Update 2).
    ImportError
        Numba's CUDA target cannot be imported, for example because NumPy is too new for it. CUDA
        C++ is compiled without Numba.
    gpumath.bindings.errors.NVRTCError
        The source does not compile; the message has the compiler's log.
    gpumath.bindings.errors.NoDeviceError
        ``compute_capability`` is not given, but there is no GPU to ask.

    Notes
    -----
    ``offset`` counts elements of the operand's memory from index (0, …, 0), so for an operand in C
    order it is the flat index. The prolog is called at least once for each element.

    Code is cached on disk, so that the same function is compiled only once. The documentation's
    page on callbacks says where, and what a function may contain.

    Examples
    --------
    >>> from gpumath import fft
    >>> source = '''
    ... __device__ float2 prolog(const float2 *x, unsigned long long i, const float *window, void *)
    ... {
    ...     float w = window[i % 1024];
    ...     return make_float2(w * x[i].x, w * x[i].y);
    ... }
    ... '''
    >>> code = fft.compile_prolog(source, "complex64", "float32", compute_capability="90")
    >>> prolog = fft.DeviceCallable(code)  # with data=window.data.ptr for a CuPy array
    """
    return _compile(
        "load",
        function,
        element_dtype,
        user_info_dtype,
        name,
        representation,
        compute_capability,
    )


def compile_epilog(
    function: Callable[..., Any] | str,
    element_dtype: str,
    user_info_dtype: Any,
    *,
    name: str | None = None,
    representation: Literal["ltoir", "ptx"] = "ltoir",
    compute_capability: str | None = None,
) -> bytes:
    """Compile an epilog: a device function that stores the elements of a transform's result.

    Parameters
    ----------
    function : callable or str
        Python function ``epilog(data_out, offset, data, user_info, reserved)``, which Numba
        compiles, or CUDA C++ with a device function ``epilog`` of these five parameters, which
        NVRTC compiles. ``data`` is an element of the transform; the function stores a value
        computed from it to ``data_out[offset]``.
    element_dtype : {'float32', 'float64', 'complex64', 'complex128'}
        Element type of the result.
    user_info_dtype, name, representation, compute_capability
        As for `compile_prolog`; the default name is ``epilog`` in CUDA C++.

    Returns
    -------
    bytes
        The code, for `DeviceCallable`.

    Raises
    ------
    ValueError, RuntimeError, ImportError
        As for `compile_prolog`.
    gpumath.bindings.errors.NVRTCError, gpumath.bindings.errors.NoDeviceError
        As for `compile_prolog`.

    Notes
    -----
    ``offset`` counts elements of the result's memory from index (0, …, 0). An element that the
    function does not store has no defined value.

    Examples
    --------
    >>> from gpumath import fft
    >>> source = '''
    ... __device__ void epilog(double *out, unsigned long long i, double x, const double *scale,
    ...                        void *)
    ... {
    ...     out[i] = *scale * x;
    ... }
    ... '''
    >>> code = fft.compile_epilog(source, "float64", "float64", compute_capability="90")
    >>> epilog = fft.DeviceCallable(code)
    """
    return _compile(
        "store",
        function,
        element_dtype,
        user_info_dtype,
        name,
        representation,
        compute_capability,
    )


def _compile(
    phase: Literal["load", "store"],
    function: object,
    element: str,
    user_info: Any,
    name: str | None,
    representation: Literal["ltoir", "ptx"],
    compute_capability: str | None,
) -> bytes:
    if element not in _ELEMENT_DTYPES:
        msg = f"element_dtype is {element!r}; allowed are {', '.join(_ELEMENT_DTYPES)}"
        raise ValueError(msg)
    if representation not in ("ltoir", "ptx"):
        msg = f"representation is {representation!r}; 'ltoir' and 'ptx' are allowed"
        raise ValueError(msg)
    # Imported here, because only compiling needs the compilers' modules.
    from gpumath.fft._callback_code import Callback, lowest_compute_capability

    if compute_capability is None:
        number = lowest_compute_capability()
    elif isinstance(compute_capability, str) and re.fullmatch(
        "[1-9][0-9]{1,2}", compute_capability
    ):
        number = int(compute_capability)
    else:
        msg = f"compute_capability is {compute_capability!r}; a string such as '90' is needed"
        raise ValueError(msg)
    callback = Callback(phase, element, user_info, name, representation, number)
    if isinstance(function, str):
        return callback.from_source(function)
    if not callable(function):
        msg = (
            f"the function is a {type(function).__name__}; a Python function or a str of CUDA C++ "
            "is needed"
        )
        raise TypeError(msg)
    if user_info is None:
        msg = "user_info_dtype is None; for a Python function a type is needed, such as 'float32'"
        raise ValueError(msg)
    return callback.from_python(function)
