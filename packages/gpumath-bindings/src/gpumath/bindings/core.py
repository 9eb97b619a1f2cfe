"""Devices, memory, operand views and compiled plans: what the host library is built on.

Nothing here needs NumPy, and importing it touches no CUDA library.
"""

from gpumath.bindings._core.core import (
    FftPlan,
    PlanCacheInfo,
    TensorView,
    plan_cache_clear,
    plan_cache_info,
    set_plan_cache_limit,
)

__all__ = [
    "FftPlan",
    "PlanCacheInfo",
    "TensorView",
    "plan_cache_clear",
    "plan_cache_info",
    "set_plan_cache_limit",
]
