"""NVRTC, one to one: CUDA C++ compiled to PTX, machine code or LTO-IR while the program runs.

Handles and addresses are ints, and 0 is NULL. Options, headers and their names are sequences of
str or bytes; results are copied into a writable buffer that the caller passes. A status
other than success raises `NVRTCError`, with the log where a compilation failed. NVRTC is loaded by
the first call, and needs neither a driver nor a GPU.

Examples
--------
>>> from gpumath.bindings import nvrtc
>>> nvrtc.Result.ERROR_COMPILATION
<Result.ERROR_COMPILATION: 6>

A kernel from text to PTX, where NVRTC is installed::

    program = nvrtc.create_program(source, "saxpy.cu", 0, [], [])
    nvrtc.compile_program(program, 1, ["-arch=compute_90"])
    ptx = bytearray(nvrtc.get_ptx_size(program))
    nvrtc.get_ptx(program, ptx)
    nvrtc.destroy_program(program)
"""

from array import array as _array
from collections.abc import Sequence as _Sequence
from typing import SupportsIndex as _SupportsIndex
from typing import SupportsInt as _SupportsInt

from gpumath.bindings._buffers import sized as _sized
from gpumath.bindings._buffers import text_from as _text_from
from gpumath.bindings._core import nvrtc as _rows
from gpumath.bindings._core.nvrtc import *
from gpumath.bindings._core.nvrtc import (
    _compile_program,
    _destroy_program,
    _get_cubin,
    _get_ltoir,
    _get_nvvm,
    _get_optix_ir,
    _get_program_log,
    _get_ptx,
    _get_supported_archs,
    _get_tile_ir,
)
from gpumath.bindings._generated.nvrtc import *
from gpumath.bindings._generated.nvrtc_structs import *
from gpumath.bindings.errors import NVRTCError as NVRTCError

check_status = NVRTCError.check

get_cubin = _sized(_get_cubin, _rows.get_cubin_size)
get_ltoir = _sized(_get_ltoir, _rows.get_ltoir_size)
get_nvvm = _sized(_get_nvvm, _rows.get_nvvm_size)
get_optix_ir = _sized(_get_optix_ir, _rows.get_optix_ir_size)
get_program_log = _sized(_get_program_log, _rows.get_program_log_size)
get_ptx = _sized(_get_ptx, _rows.get_ptx_size)
get_tile_ir = _sized(_get_tile_ir, _rows.get_tile_ir_size)


def compile_program(
    prog: _SupportsIndex | _SupportsInt,
    num_options: _SupportsIndex | _SupportsInt,
    options: _SupportsIndex | _SupportsInt | _Sequence[str | bytes],
) -> None:
    """Compile a program with a list of options.

    Parameters
    ----------
    prog : int
        From `create_program`.
    num_options : int
        Number of options.
    options : int or sequence of str or bytes
        At least ``num_options`` options, such as ``["-arch=sm_90", "-std=c++17"]``, or the address
        of an array of addresses.

    Raises
    ------
    NVRTCError
        The source does not compile, or an option is wrong; the message has the compiler's log.

    Notes
    -----
    C function ``nvrtcCompileProgram``. See
    https://docs.nvidia.com/cuda/nvrtc/
    """
    try:
        _compile_program(prog, num_options, options)
    except NVRTCError as error:
        log = _text_from(_get_program_log, _rows.get_program_log_size, prog)
        raise NVRTCError(error.status, error.function, log) from None


def destroy_program(prog: _SupportsIndex | _SupportsInt) -> None:
    """Destroy a program.

    Parameters
    ----------
    prog : int
        From `create_program`; it must not be used afterwards.

    Raises
    ------
    NVRTCError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``nvrtcDestroyProgram``, which takes the address of the handle. See
    https://docs.nvidia.com/cuda/nvrtc/
    """
    _destroy_program([prog])


def get_supported_archs() -> tuple[int, ...]:
    """Return the architectures that the compiler supports, in rising order.

    Returns
    -------
    tuple of int
        Compute capabilities without the dot, such as ``(75, 80, 90)``.

    Raises
    ------
    NVRTCError
        The call returned another status than SUCCESS.

    Notes
    -----
    C functions ``nvrtcGetNumSupportedArchs`` and ``nvrtcGetSupportedArchs``. See
    https://docs.nvidia.com/cuda/nvrtc/
    """
    archs = _array("i", bytes(4 * _rows.get_num_supported_archs()))
    _get_supported_archs(archs)
    return tuple(archs)
