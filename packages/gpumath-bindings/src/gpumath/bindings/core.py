"""Devices, streams, memory, operand views and FFT plans, on which the host library is built.

Nothing here needs NumPy, and importing it opens no CUDA library.
"""

import atexit
import os

from gpumath.bindings._core.core import (
    _C_API as _C_API,  # for include/gpumath.h
)
from gpumath.bindings._core.core import (
    Array,
    Device,
    Event,
    FftExecutor,
    FftPass,
    FftPlan,
    FftProblem,
    Library,
    MatmulExecutor,
    MatmulPlan,
    MemoryPointer,
    PlanCacheInfo,
    Stream,
    StructuredMatmulExecutor,
    StructuredMatmulPlan,
    TensorView,
    Workspace,
    _close,
    allocate,
    convolve,
    copy,
    cosine_step,
    cosine_transform,
    current_stream,
    driver_version,
    fft_direction,
    has,
    is_capturing,
    join_pieces,
    libraries,
    multiply_spectra,
    order_streams,
    plan_cache_clear,
    plan_cache_info,
    resized,
    search_report,
    set_plan_cache_limit,
    stream_handle,
    synchronize_stream,
    usable_cores,
)

__all__ = [
    "Array",
    "BorrowedStream",
    "Device",
    "Event",
    "FftExecutor",
    "FftPass",
    "FftPlan",
    "FftProblem",
    "Library",
    "MatmulExecutor",
    "MatmulPlan",
    "MemoryPointer",
    "PlanCacheInfo",
    "Stream",
    "StructuredMatmulExecutor",
    "StructuredMatmulPlan",
    "TensorView",
    "Workspace",
    "allocate",
    "convolve",
    "copy",
    "cosine_step",
    "cosine_transform",
    "current_stream",
    "driver_version",
    "fft_direction",
    "get_include",
    "has",
    "is_capturing",
    "join_pieces",
    "libraries",
    "multiply_spectra",
    "order_streams",
    "plan_cache_clear",
    "plan_cache_info",
    "resized",
    "search_report",
    "set_plan_cache_limit",
    "stream_handle",
    "synchronize_stream",
    "usable_cores",
]

# Once the interpreter exits, destructors call no CUDA function, because the driver may be gone
# before the objects.
atexit.register(_close)


class BorrowedStream(int):
    """A stream handle in the forms that memory managers ask for: an int, and a stream object.

    It keeps the object that owns the stream alive, because memory that is freed in the order of a
    stream must not outlive the stream.

    Parameters
    ----------
    handle : int
        The ``cudaStream_t``.
    owner : object, optional
        What to keep alive.

    Examples
    --------
    >>> from gpumath.bindings import core
    >>> stream = core.BorrowedStream(1)
    >>> stream.handle, stream.__cuda_stream__()
    (1, (0, 1))
    """

    owner: object

    def __new__(cls, handle: int, owner: object = None) -> "BorrowedStream":
        """Make a handle that keeps ``owner``."""
        stream = super().__new__(cls, handle)
        stream.owner = owner
        return stream

    @property
    def handle(self) -> int:
        """The ``cudaStream_t``."""
        return int(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, and the handle."""
        return 0, int(self)


def get_include() -> str:
    """Return the folder of ``gpumath.h``, for the include path of a C or C++ compiler.

    Returns
    -------
    str
        The folder, as an absolute path.

    Examples
    --------
    >>> import os
    >>> from gpumath.bindings import core
    >>> os.listdir(core.get_include())
    ['gpumath.h']
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
