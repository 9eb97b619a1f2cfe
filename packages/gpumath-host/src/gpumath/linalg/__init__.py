"""Linear algebra of NumPy and CuPy arrays and PyTorch tensors, on a GPU or on the CPU.

The function `matmul` makes a plan, executes it, and caches it for the next call with such operands.
The class `Matmul` plans once and computes many times. Qualifiers say that a matrix is symmetric,
Hermitian, triangular or diagonal.

Examples
--------
>>> import numpy as np
>>> from gpumath import linalg
>>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
>>> linalg.matmul(a, a)
array([[ 7., 10.],
       [15., 22.]])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath.bindings.errors import UnsupportedLayoutError
from gpumath.linalg._errors import InvalidMatmulState
from gpumath.linalg._matmul import matmul
from gpumath.linalg._matmul_class import Matmul
from gpumath.linalg._options import MatmulOptions
from gpumath.linalg._qualifiers import (
    DiagonalMatrixQualifier,
    GeneralMatrixQualifier,
    HermitianMatrixQualifier,
    MatrixQualifier,
    SymmetricMatrixQualifier,
    TriangularMatrixQualifier,
    matrix_qualifiers_dtype,
)

if TYPE_CHECKING:
    from gpumath.bindings.cublas import ComputeType, DiagType, FillMode, SideMode
    from gpumath.linalg import advanced

__all__ = [
    "ComputeType",
    "DiagType",
    "DiagonalMatrixQualifier",
    "ExecutionCPU",
    "ExecutionCUDA",
    "FillMode",
    "GeneralMatrixQualifier",
    "HermitianMatrixQualifier",
    "InvalidMatmulState",
    "Matmul",
    "MatmulOptions",
    "MatrixQualifier",
    "SideMode",
    "SymmetricMatrixQualifier",
    "TriangularMatrixQualifier",
    "UnsupportedLayoutError",
    "advanced",
    "matmul",
    "matrix_qualifiers_dtype",
]

_ENUMS = ("ComputeType", "DiagType", "FillMode", "SideMode")


def __getattr__(name: str) -> object:
    """Import `advanced`, and the enums of cuBLAS, when first asked for: they take milliseconds."""
    if name == "advanced":
        return import_module(f"{__name__}.advanced")
    if name in _ENUMS:
        from gpumath.bindings import cublas

        enum: object = getattr(cublas, name)
        globals()[name] = enum
        return enum
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
