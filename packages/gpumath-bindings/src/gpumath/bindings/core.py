"""Devices, memory, operand views and compiled plans: what the host library is built on.

Nothing here needs NumPy, and importing it touches no CUDA library.
"""

import atexit

from gpumath.bindings._core.core import (
    Device,
    Event,
    FftPlan,
    Library,
    MemoryPointer,
    PlanCacheInfo,
    Stream,
    TensorView,
    _close,
    allocate,
    copy,
    driver_version,
    has,
    libraries,
    plan_cache_clear,
    plan_cache_info,
    search_report,
    set_plan_cache_limit,
    stream_handle,
    synchronize_stream,
)

__all__ = [
    "Device",
    "Event",
    "FftPlan",
    "Library",
    "MemoryPointer",
    "PlanCacheInfo",
    "Stream",
    "TensorView",
    "allocate",
    "copy",
    "driver_version",
    "has",
    "libraries",
    "plan_cache_clear",
    "plan_cache_info",
    "search_report",
    "set_plan_cache_limit",
    "stream_handle",
    "synchronize_stream",
]

# Objects that are still alive when the interpreter exits must not call CUDA, which may be gone
# before them.
atexit.register(_close)
