"""Callbacks for cuFFT from Python functions. Numba is imported by the first compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from gpumath.device._arguments import as_count, one_of

__all__ = ["compile_fft_callback", "function_fingerprint"]

_ELEMENTS = ("float32", "float64", "complex64", "complex128")


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
    """Compile a Python function to a callback for cuFFT, with Numba.

    The result has a function with exactly the types that NVCC gives to
    ``element symbol(void *, unsigned long long, void *, void *)``, or for the phase ``'store'`` to
    ``void symbol(void *, unsigned long long, element, void *, void *)``, because the linker inlines
    only then.

    Parameters
    ----------
    function : callable
        Python function, or one that `numba.cuda.jit` has decorated, whose options are ignored:
        ``load(data, offset, user_info, reserved)``, which returns the element, or ``store(data,
        offset, element, user_info, reserved)``. It runs in a kernel; Numba's documentation says
        what it may contain.
    phase : {'load', 'store'}
        Whether cuFFT calls the function to load an element or to store one.
    element_dtype : {'float32', 'float64', 'complex64', 'complex128'}
        Type of the elements to which ``data`` points.
    user_info_dtype : str, dtype or numba.types.Type
        Type of what ``user_info`` points to: a type of numbers, by name or as NumPy's dtype, or any
        type of Numba.
    symbol : str
        Name of the function in the result, as mangled by C++.
    compute_capability : int
        Lowest compute capability of the devices on which the result runs, such as 90.
    representation : {'ltoir', 'ptx'}, default: 'ltoir'
        LTO-IR for the linker, or PTX to read.

    Returns
    -------
    bytes
        The LTO-IR or the PTX.

    Raises
    ------
    ModuleNotFoundError
        Numba or its CUDA target is not installed.
    ImportError
        Numba's CUDA target cannot be imported, for example because NumPy is too new for it.
    ValueError
        An argument is not allowed, Numba cannot compile the function, or NVVM does not know the
        compute capability.
    RuntimeError
        The function calls another device function, but there is no GPU, for which Numba compiles
        that one. Or NVVM is not installed.

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
    options = {
        "stores": one_of("phase", phase, ("load", "store")) == "store",
        "element": one_of("element_dtype", element_dtype, _ELEMENTS),
        "user_info": user_info_dtype,
        "symbol": symbol,
        "compute_capability": as_count("compute_capability", compute_capability),
        "representation": one_of("representation", representation, ("ltoir", "ptx")),
    }
    from gpumath.device._compile import compile_callback

    return compile_callback(function, **options)


def function_fingerprint(function: Callable[..., Any]) -> str | None:
    """Return a text that identifies what a Python function compiles to, without compiling it.

    Parameters
    ----------
    function : callable
        Python function, or one that `numba.cuda.jit` has decorated.

    Returns
    -------
    str or None
        The text is equal for functions with equal code, closures, defaults and used globals, also
        in the functions that they call, under the same versions of Python and of the compilers.
        None if the function uses an object whose value cannot be written as text.

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
