"""The CUDA runtime, one to one: devices, memory, streams, events, graphs, arrays and textures.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. Structs are classes; a function that takes the address of one takes the object.
What C writes to a scalar is returned. A status other than success raises `CUDARuntimeError`. The
runtime is loaded by the first call.

CUDA 13 changed the parameters of some functions, but not their names. The function of the newest
release has the plain name, and the one that CUDA 12 has under this name ends in ``_v1``. Each
raises FunctionNotFoundError if the library has the other.

Examples
--------
>>> from gpumath.bindings import runtime
>>> runtime.MemcpyKind.DEVICE_TO_HOST
<MemcpyKind.DEVICE_TO_HOST: 2>
>>> runtime.create_channel_desc(32, 0, 0, 0, runtime.ChannelFormatKind.FLOAT).x
32
"""

from typing import SupportsIndex as _SupportsIndex

from gpumath.bindings._core.runtime import *
from gpumath.bindings._core.runtime import _get_last_error, _peek_at_last_error
from gpumath.bindings._generated.runtime import *
from gpumath.bindings._generated.runtime_structs import *
from gpumath.bindings._generated.runtime_structs import ChannelFormatDesc
from gpumath.bindings.errors import CUDARuntimeError as CUDARuntimeError

check_status = CUDARuntimeError.check


def get_last_error() -> int:
    """Return the status of the last call that failed on this thread, and forget it.

    Returns
    -------
    int
        An `Error`; SUCCESS if no call failed.

    Notes
    -----
    C function ``cudaGetLastError``. See
    https://docs.nvidia.com/cuda/cuda-runtime-api/
    """
    try:
        _get_last_error()
    except CUDARuntimeError as error:
        return error.status
    return 0


def peek_at_last_error() -> int:
    """Return the status of the last call that failed on this thread, and keep it.

    Returns
    -------
    int
        An `Error`; SUCCESS if no call failed.

    Notes
    -----
    C function ``cudaPeekAtLastError``. See
    https://docs.nvidia.com/cuda/cuda-runtime-api/
    """
    try:
        _peek_at_last_error()
    except CUDARuntimeError as error:
        return error.status
    return 0


def create_channel_desc(
    x: _SupportsIndex, y: _SupportsIndex, z: _SupportsIndex, w: _SupportsIndex, f: _SupportsIndex
) -> ChannelFormatDesc:
    """Return a description of an element with these components, without using the library.

    Parameters
    ----------
    x, y, z, w : int
        Bits of each component; 0 if the element lacks it.
    f : ChannelFormatKind
        Format of the components.

    Returns
    -------
    ChannelFormatDesc
        The description, as functions for arrays and textures take it.

    Notes
    -----
    Does what the C function ``cudaCreateChannelDesc`` does. See
    https://docs.nvidia.com/cuda/cuda-runtime-api/
    """
    description = ChannelFormatDesc()
    description.x, description.y, description.z, description.w, description.f = x, y, z, w, f
    return description
