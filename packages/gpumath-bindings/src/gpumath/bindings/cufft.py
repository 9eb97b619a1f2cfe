"""cuFFT, one to one: plans, transforms, and transforms on several GPUs.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. Arrays that C only reads may be Python sequences. What C writes to a scalar is
returned; for a plan on several GPUs, that is the size of the first GPU's work area only. A status
other than success raises `cuFFTError`. cuFFT is loaded by the first call.

Examples
--------
>>> from gpumath.bindings import cufft
>>> cufft.Type.C2C
<Type.C2C: 41>
"""

from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING

from gpumath.bindings._core import cufft as _rows
from gpumath.bindings._core.cufft import *
from gpumath.bindings._core.cufft import _xt_set_jit_callback, _xt_set_jit_callback_12_7
from gpumath.bindings._generated.cufft import *
from gpumath.bindings._generated.cufft_structs import *
from gpumath.bindings.errors import FunctionNotFoundError
from gpumath.bindings.errors import cuFFTError as cuFFTError

if TYPE_CHECKING:
    from typing_extensions import Buffer

check_status = cuFFTError.check


def xt_set_subformat_default(plan: int, subformat_forward: int, subformat_inverse: int) -> None:
    """Set a plan's default formats of data, in a cuFFT library that has this function.

    NVIDIA's cuFFTMp has it and its header declares it; cuFFT of the CUDA toolkit has it not.

    Parameters
    ----------
    plan : int
        From `create`.
    subformat_forward, subformat_inverse : XtSubFormat
        Format of the data that a forward and an inverse transform read.

    Raises
    ------
    cuFFTError
        The call returned another status than SUCCESS.
    FunctionNotFoundError
        The cuFFT library that was found does not have the function.
    """
    import ctypes

    from gpumath.bindings import core

    symbol = "cufftXtSetSubformatDefault"
    version = _rows.get_version()  # raises if there is no cuFFT
    (library,) = (one for one in core.libraries() if one.name == "cufft")
    function = getattr(ctypes.CDLL(library.path), symbol, None)
    if function is None:
        msg = (
            f"cuFFT {version} ({library.path}) has no function {symbol}: only cuFFTMp has it. Set "
            "GPUMATH_CUFFT_PATH to its library"
        )
        raise FunctionNotFoundError(
            msg, "cufft.xt_set_subformat_default", symbol, library.path, library.version
        )
    status = function(*map(ctypes.c_int, (plan, subformat_forward, subformat_inverse)))
    if status:
        raise cuFFTError(status, symbol)


def xt_set_jit_callback(
    plan: int,
    lto_callback_symbol_name: str | int,
    lto_callback_fatbin: "int | Buffer",
    lto_callback_fatbin_size: int,
    type: int,
    caller_info: int | _Sequence[int],
) -> None:
    """Attach a load or store callback in LTO-IR to a plan that is not made yet.

    Parameters
    ----------
    plan : int
        From `create`; no make_plan function may have been called with it.
    lto_callback_symbol_name : str or int
        Name of the device function, or its address; 0 is none.
    lto_callback_fatbin : int or bytes-like
        The LTO-IR, or its address.
    lto_callback_fatbin_size : int
        Its length in bytes.
    type : XtCallbackType
        Whether the callback loads or stores, and which type of numbers.
    caller_info : int or sequence of int
        For each GPU the address of the data that the callback gets, or 0 for none.

    Raises
    ------
    cuFFTError
        The call returned another status than SUCCESS.
    FunctionNotFoundError
        cuFFT is older than CUDA 12.6 Update 2's.
    """
    # The library of CUDA 12 exports the plain name too, but not as its header declares it.
    function = _xt_set_jit_callback if _rows.get_version() >= 12000 else _xt_set_jit_callback_12_7
    function(
        plan,
        lto_callback_symbol_name,
        lto_callback_fatbin,
        lto_callback_fatbin_size,
        type,
        caller_info,
    )
