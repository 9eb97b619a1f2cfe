"""Devices, memory, operand views and compiled plans: what the host library is built on.

Nothing here needs NumPy, and importing it touches no CUDA library.
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
    MemoryPointer,
    PlanCacheInfo,
    Stream,
    TensorView,
    _close,
    allocate,
    copy,
    current_stream,
    driver_version,
    has,
    is_capturing,
    libraries,
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
    "Device",
    "Event",
    "FftExecutor",
    "FftPass",
    "FftPlan",
    "FftProblem",
    "Library",
    "MemoryPointer",
    "PlanCacheInfo",
    "Stream",
    "TensorView",
    "allocate",
    "copy",
    "current_stream",
    "driver_version",
    "get_include",
    "has",
    "is_capturing",
    "libraries",
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

# Objects that are still alive when the interpreter exits must not call CUDA, which may be gone
# before them.
atexit.register(_close)


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
