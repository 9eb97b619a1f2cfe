"""The algorithms that cuBLASLt has for some element types."""

from __future__ import annotations

from gpumath.bindings import core, cublas, cublasLt, driver

__all__ = ["algorithm_ids"]

_DATA_TYPES = {
    "float32": cublas.DataType.R_32F,
    "float64": cublas.DataType.R_64F,
    "float16": cublas.DataType.R_16F,
    "bfloat16": cublas.DataType.R_16BF,
    "int8": cublas.DataType.R_8I,
    "int32": cublas.DataType.R_32I,
    "complex64": cublas.DataType.C_32F,
    "complex128": cublas.DataType.C_64F,
    "float8_e4m3fn": cublas.DataType.R_8F_E4M3,
    "float8_e5m2": cublas.DataType.R_8F_E5M2,
    "float4_e2m1fn_x2": cublas.DataType.R_4F_E2M1,
}


def algorithm_ids(plan: core.MatmulPlan, handle: int | None, limit: int) -> list[int]:
    """Return the numbers of the algorithms for the types of a plan."""
    if plan.device_id is None:
        return []
    a, b, c, result, scale = (_DATA_TYPES[name] for name in plan.dtypes)
    types = (plan.compute_type, scale, a, b, c, result)
    if handle:
        return list(cublasLt.matmul_algo_get_ids(handle, *types, limit))
    device = driver.device_get(plan.device_id)
    driver.ctx_push_current(driver.device_primary_ctx_retain(device))
    try:
        own = cublasLt.create()
        try:
            return list(cublasLt.matmul_algo_get_ids(own, *types, limit))
        finally:
            cublasLt.destroy(own)
    finally:
        driver.ctx_pop_current()
        driver.device_primary_ctx_release(device)
