"""The product that a plan of gpumath computes, by calls of cuBLASLt alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import torch

from gpumath.bindings import core, cublas, cublasLt

_DATA_TYPES = {
    "float32": cublas.DataType.R_32F,
    "float64": cublas.DataType.R_64F,
    "float16": cublas.DataType.R_16F,
    "bfloat16": cublas.DataType.R_16BF,
    "int8": cublas.DataType.R_8I,
    "int32": cublas.DataType.R_32I,
    "complex64": cublas.DataType.C_32F,
    "float8_e4m3fn": cublas.DataType.R_8F_E4M3,
}
_SCALARS = {"int32": np.int32, "float64": np.float64, "complex64": np.complex64}
_Attribute = cublasLt.MatmulDescAttribute


def raw_product(
    a: Any, b: Any, scales: list[Any], plan: core.MatmulPlan
) -> Callable[[], None] | None:
    """Return a call of cublasLtMatmul with the plan's algorithm, to a new result.

    The result is in C order, so cuBLASLt computes the transposed product. None if the plan copies
    operands, or if it makes one product of a batch in a way that is not done here.
    """
    if plan.copies or plan.library_calls != 1:
        return None
    [algorithm, *_] = plan.algorithms
    code, workspace_size, _ = algorithm
    kinds = [_DATA_TYPES[name] for name in plan.dtypes]
    result_type = getattr(torch, plan.dtypes[3])
    shape, strides = plan.result_shape, plan.result_strides

    def new_result() -> Any:
        return torch.empty_strided(shape, strides, dtype=result_type, device="cuda")

    out = new_result()
    if a.ndim > b.ndim:
        # One product instead of a batch, as the plan does where the matrices follow each other.
        with suppress(RuntimeError):
            a, out = a.view(-1, a.shape[-1]), out.view(-1, out.shape[-1])
    count = out.shape[0] if out.ndim > 2 else 1
    left, transpose_left = _layout(b, kinds[1], count)
    right, transpose_right = _layout(a, kinds[0], count)
    result, _ = _layout(out, kinds[3], count)
    product = cublasLt.matmul_desc_create(plan.compute_type, kinds[4])
    _set(product, _Attribute.TRANSA, np.int32(transpose_left))
    _set(product, _Attribute.TRANSB, np.int32(transpose_right))
    if scales:
        _set(product, _Attribute.B_SCALE_POINTER, np.uint64(scales[0].data_ptr()))
        _set(product, _Attribute.A_SCALE_POINTER, np.uint64(scales[1].data_ptr()))
    alpha, beta = (np.array([value], _SCALARS.get(plan.dtypes[4], np.float32)) for value in (1, 0))
    chosen = np.frombuffer(code, np.uint8).copy()
    workspace = torch.empty(max(workspace_size, 1), dtype=torch.uint8, device="cuda")
    factors = (alpha.ctypes.data, b.data_ptr(), left, a.data_ptr(), right, beta.ctypes.data)
    rest = (chosen.ctypes.data, workspace.data_ptr(), workspace_size, 0)
    held = (a, b, scales, alpha, beta, chosen, workspace)

    def call(_held: object = held) -> None:
        address = new_result().data_ptr()
        cublasLt.matmul(_handle(), product, *factors, address, result, address, result, *rest)

    try:
        call()
    except cublasLt.cuBLASLtError:
        return None
    return call


@cache
def _handle() -> int:
    return cublasLt.create()


def _layout(matrix: Any, kind: int, count: int) -> tuple[int, int]:
    """Describe a matrix by its rows if it can be, and say whether it has to be transposed."""
    rows, columns = matrix.shape[-2:]
    down, across = matrix.stride()[-2:]
    is_by_rows = (columns == 1 or across == 1) and (rows == 1 or down >= columns)
    length, number, step = (columns, rows, down) if is_by_rows else (rows, columns, across)
    layout = cublasLt.matrix_layout_create(kind, length, number, step if number > 1 else length)
    if count > 1:
        distance = matrix.stride(0) if matrix.ndim > 2 else 0
        for attribute, value in (
            (cublasLt.MatrixLayoutAttribute.BATCH_COUNT, np.int32(count)),
            (cublasLt.MatrixLayoutAttribute.STRIDED_BATCH_OFFSET, np.int64(distance)),
        ):
            cell = np.array(value)
            cublasLt.matrix_layout_set_attribute(layout, attribute, cell.ctypes.data, cell.nbytes)
    return layout, int(not is_by_rows)


def _set(product: int, attribute: int, value: Any) -> None:
    cell = np.array(value)
    cublasLt.matmul_desc_set_attribute(product, attribute, cell.ctypes.data, cell.nbytes)
