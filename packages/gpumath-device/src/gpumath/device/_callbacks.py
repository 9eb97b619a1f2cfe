"""Callbacks of cuFFT from Python functions, without importing Numba before it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

__all__ = ["compile_fft_callback", "function_fingerprint"]


def compile_fft_callback(
    function: Callable[..., Any],
    *,
    phase: Literal["load", "store"],
    element_dtype: Literal["float32", "float64", "complex64", "complex128"],
    user_info_dtype: Any,
    symbol: str,
    compute_capability: int,
    representation: Literal["ltoir", "ptx"] = "ltoir",
) -> bytes:
    """Compile a Python function to a callback of cuFFT, with Numba.

    The result has a function with the types that NVCC gives
    ``element symbol(void *, unsigned long long, void *, void *)``, or for the phase ``'store'``
    ``void symbol(void *, unsigned long long, element, void *, void *)``, so that the linker can
    inline it.

    Parameters
    ----------
    function : callable
        Python function, or one that `numba.cuda.jit` has decorated, whose options do not count:
        ``load(data, offset, user_info, reserved)``, which returns the element, or ``store(data,
        offset, element, user_info, reserved)``. It runs in a kernel; see Numba's documentation for
        what can be in it.
    phase : {'load', 'store'}
        Which of the two it is.
    element_dtype : {'float32', 'float64', 'complex64', 'complex128'}
        What ``data`` points to.
    user_info_dtype : str, dtype or numba.types.Type
        What ``user_info`` points to: a type of numbers, by its name or as NumPy's, or a type of
        Numba.
    symbol : str
        Name of the function in the result, as C++ mangles it.
    compute_capability : int
        Such as 90. The result runs on devices of this compute capability and of higher ones.
    representation : {'ltoir', 'ptx'}, default: 'ltoir'
        Code for the linker, or text to look at.

    Returns
    -------
    bytes
        The code.

    Raises
    ------
    ModuleNotFoundError
        Numba or its CUDA target is not installed.
    ValueError
        A type is not allowed, Numba cannot compile the function, or NVVM does not know the compute
        capability.
    RuntimeError
        The function calls another device function, and there is no GPU, which Numba needs then.

    Examples
    --------
    >>> import importlib.util
    >>> def double(data, offset, user_info, reserved):
    ...     return 2 * data[offset]
    >>> if importlib.util.find_spec("numba_cuda"):
    ...     from gpumath import device
    ...
    ...     code = device.compile_fft_callback(
    ...         double,
    ...         phase="load",
    ...         element_dtype="float32",
    ...         user_info_dtype="float32",
    ...         symbol="_Z24cufftJITCallbackLoadRealPvyS_S_",
    ...         compute_capability=90,
    ...     )
    """
    from gpumath.device._compile import compile_callback

    return compile_callback(
        function,
        stores=phase == "store",
        element=element_dtype,
        user_info=user_info_dtype,
        symbol=symbol,
        compute_capability=compute_capability,
        representation=representation,
    )


def function_fingerprint(function: Callable[..., Any]) -> str | None:
    """Tell what a Python function would be compiled to, without compiling it.

    Parameters
    ----------
    function : callable
        Python function, or one that `numba.cuda.jit` has decorated.

    Returns
    -------
    str or None
        Text that is equal for functions of equal code, closures, defaults and used globals, down
        through the functions that they call, under the same versions of Python and of the
        compilers. None if the function uses an object whose value cannot be told.

    Examples
    --------
    >>> from gpumath import device
    >>> def scale(factor):
    ...     return lambda data, offset, user_info, reserved: factor * data[offset]
    >>> first, same, other = map(device.function_fingerprint, [scale(2), scale(2), scale(3)])
    >>> first == same, first == other
    (True, False)
    """
    from gpumath.device._fingerprint import Fingerprint, compiler_versions

    try:
        return f"{compiler_versions()} {Fingerprint().of(function)}"
    except Fingerprint.UnknownValueError:
        return None
