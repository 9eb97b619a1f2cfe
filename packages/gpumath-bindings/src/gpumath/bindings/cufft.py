"""cuFFT, one to one: plans, transforms, and transforms on several GPUs.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. Arrays that C only reads may be Python sequences. What C writes to a scalar is
returned. A status other than success raises `cuFFTError`. cuFFT is loaded by the first call.

Examples
--------
>>> from gpumath.bindings import cufft
>>> cufft.Type.C2C
<Type.C2C: 41>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumath.bindings._core.cufft import (
    _xt_set_jit_callback,
    _xt_set_jit_callback_12_7,
    create,
    destroy,
    estimate1d,
    estimate2d,
    estimate3d,
    estimate_many,
    exec_c2c,
    exec_c2r,
    exec_d2z,
    exec_r2c,
    exec_z2d,
    exec_z2z,
    get_plan_property_int64,
    get_property,
    get_size,
    get_size1d,
    get_size2d,
    get_size3d,
    get_size_many,
    get_size_many64,
    get_version,
    make_plan1d,
    make_plan2d,
    make_plan3d,
    make_plan_many,
    make_plan_many64,
    plan1d,
    plan2d,
    plan3d,
    plan_many,
    reset_plan_property,
    set_auto_allocation,
    set_plan_property_int64,
    set_stream,
    set_work_area,
    xt_clear_callback,
    xt_exec,
    xt_exec_descriptor,
    xt_exec_descriptor_c2c,
    xt_exec_descriptor_c2r,
    xt_exec_descriptor_d2z,
    xt_exec_descriptor_r2c,
    xt_exec_descriptor_z2d,
    xt_exec_descriptor_z2z,
    xt_free,
    xt_get_size_many,
    xt_make_plan_many,
    xt_malloc,
    xt_memcpy,
    xt_query_plan,
    xt_set_callback_shared_size,
    xt_set_distribution,
    xt_set_gpus,
    xt_set_work_area,
    xt_set_work_area_policy,
)
from gpumath.bindings._generated.cufft import (
    Compatibility,
    LibFormat,
    Property,
    Result,
    Type,
    XtCallbackType,
    XtCopyType,
    XtQueryType,
    XtSubFormat,
    XtWorkAreaPolicy,
    cudaLibXtCopyType,
)
from gpumath.bindings.errors import cuFFTError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Compatibility",
    "LibFormat",
    "Property",
    "Result",
    "Type",
    "XtCallbackType",
    "XtCopyType",
    "XtQueryType",
    "XtSubFormat",
    "XtWorkAreaPolicy",
    "check_status",
    "create",
    "cuFFTError",
    "cudaLibXtCopyType",
    "destroy",
    "estimate1d",
    "estimate2d",
    "estimate3d",
    "estimate_many",
    "exec_c2c",
    "exec_c2r",
    "exec_d2z",
    "exec_r2c",
    "exec_z2d",
    "exec_z2z",
    "get_plan_property_int64",
    "get_property",
    "get_size",
    "get_size1d",
    "get_size2d",
    "get_size3d",
    "get_size_many",
    "get_size_many64",
    "get_version",
    "make_plan1d",
    "make_plan2d",
    "make_plan3d",
    "make_plan_many",
    "make_plan_many64",
    "plan1d",
    "plan2d",
    "plan3d",
    "plan_many",
    "reset_plan_property",
    "set_auto_allocation",
    "set_plan_property_int64",
    "set_stream",
    "set_work_area",
    "xt_clear_callback",
    "xt_exec",
    "xt_exec_descriptor",
    "xt_exec_descriptor_c2c",
    "xt_exec_descriptor_c2r",
    "xt_exec_descriptor_d2z",
    "xt_exec_descriptor_r2c",
    "xt_exec_descriptor_z2d",
    "xt_exec_descriptor_z2z",
    "xt_free",
    "xt_get_size_many",
    "xt_make_plan_many",
    "xt_malloc",
    "xt_memcpy",
    "xt_query_plan",
    "xt_set_callback_shared_size",
    "xt_set_distribution",
    "xt_set_gpus",
    "xt_set_jit_callback",
    "xt_set_work_area",
    "xt_set_work_area_policy",
]


def check_status(status: int) -> None:
    """Raise `cuFFTError` unless ``status`` is success.

    Parameters
    ----------
    status : int
        What a cuFFT function returned.
    """
    if status:
        raise cuFFTError(status)


def xt_set_jit_callback(
    plan: int,
    lto_callback_symbol_name: str,
    lto_callback_fatbin: int | Buffer,
    lto_callback_fatbin_size: int,
    type: int,
    caller_info: int | Sequence[int],
) -> None:
    """Attach a load or store callback in LTO-IR to a plan that is not made yet.

    Parameters
    ----------
    plan : int
        From `create`; a make_plan function must not have seen it.
    lto_callback_symbol_name : str
        Name of the device function.
    lto_callback_fatbin : int or bytes-like
        The LTO-IR, or its address.
    lto_callback_fatbin_size : int
        Its length in bytes.
    type : XtCallbackType
        What the callback handles.
    caller_info : int or sequence of int
        For each GPU the address of the data that the callback gets; 0 for none.

    Raises
    ------
    cuFFTError
        The call returned another status than SUCCESS.
    FunctionNotFoundError
        cuFFT is older than CUDA 12.6 Update 2's.
    """
    # CUDA 12's library exports the plain name too, but not as what its header declares.
    function = _xt_set_jit_callback if get_version() >= 12000 else _xt_set_jit_callback_12_7
    function(
        plan,
        lto_callback_symbol_name,
        lto_callback_fatbin,
        lto_callback_fatbin_size,
        type,
        caller_info,
    )
