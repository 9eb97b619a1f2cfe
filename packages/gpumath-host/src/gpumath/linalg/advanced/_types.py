"""Element types in the forms in which users give them, and aliases of enums of cuBLASLt."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath.bindings.cublas import ComputeType as MatmulComputeType
from gpumath.bindings.cublas import EmulationStrategy
from gpumath.bindings.cublasLt import Epilogue as MatmulEpilog
from gpumath.bindings.cublasLt import MatmulInnerShape
from gpumath.bindings.cublasLt import ReductionScheme as MatmulReductionScheme
from gpumath.linalg.advanced._numerical import MatmulNumericalImplFlags

__all__ = [
    "MatmulComputeType",
    "MatmulEpilog",
    "MatmulInnerShape",
    "MatmulNumericalImplFlags",
    "MatmulReductionScheme",
    "dtype_name",
    "matrix_qualifiers_dtype",
    "strategy_number",
]

matrix_qualifiers_dtype = np.dtype([("structure", object), ("is_conjugate", np.int32)])
"""Type of the qualifiers of a, b and c: a matrix is conjugated if ``is_conjugate`` is not 0."""

# Element types by the number that CUDA has for them.
_NAMES = {
    0: "float32",
    1: "float64",
    2: "float16",
    3: "int8",
    4: "complex64",
    5: "complex128",
    10: "int32",
    14: "bfloat16",
    28: "float8_e4m3fn",
    29: "float8_e5m2",
    33: "float4_e2m1fn_x2",
}


def dtype_name(argument: str, dtype: Any) -> str | None:
    """Return the core's name of an element type that a user gave; None stays None.

    Accepted are the number of a ``cudaDataType``, a name, and types of NumPy, ``ml_dtypes`` and
    PyTorch.
    """
    if dtype is None:
        return None
    if isinstance(dtype, int | np.integer) and not isinstance(dtype, bool):
        if dtype in _NAMES:
            return _NAMES[int(dtype)]
    elif isinstance(dtype, str):
        if dtype in _NAMES.values():
            return dtype
    else:
        # A type of PyTorch is written as torch.float16; NumPy knows its own and those of ml_dtypes.
        name = str(dtype).removeprefix("torch.")
        if name in _NAMES.values():
            return name
        try:
            name = str(np.dtype(dtype).name)
        except TypeError:
            pass
        else:
            if name in _NAMES.values():
                return name
    msg = (
        f"{argument} is {dtype!r}; a cudaDataType, or one of {', '.join(sorted(_NAMES.values()))}, "
        "is accepted"
    )
    raise ValueError(msg)


def strategy_number(name: str | None) -> int | None:
    """Return the number of an emulation strategy."""
    return None if name is None else int(EmulationStrategy[name.upper()])
