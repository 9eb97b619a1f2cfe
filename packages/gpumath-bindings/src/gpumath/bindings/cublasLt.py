"""cublasLt, one to one: matrix products that are described, searched for, and then run.

A product has a description (`matmul_desc_create`) and a layout for each matrix
(`matrix_layout_create`). Attributes of both are set from memory and read to memory; a
``get_..._attribute_dtype`` function returns the type of an attribute. `matmul_algo_get_heuristic`
finds algorithms, and `matmul` runs one. Handles, descriptors, streams and addresses are ints, and 0
is NULL. An address is used as it is: a wrong one ends the process. ComputeType, Operation and
DataType are those of `gpumath.bindings.cublas`. A status other than success raises `cuBLASLtError`.
cublasLt is loaded by the first call; descriptors need neither a driver nor a GPU.

Examples
--------
>>> from gpumath.bindings import cublasLt
>>> cublasLt.Epilogue.RELU_BIAS
<Epilogue.RELU_BIAS: 6>
>>> results = cublasLt.MatmulHeuristicResult(8)
>>> len(results), results.nbytes
(8, 768)

The epilogue of a product::

    product = cublasLt.matmul_desc_create(cublas.ComputeType.COMPUTE_32F, cublas.DataType.R_32F)
    attribute = cublasLt.MatmulDescAttribute.EPILOGUE
    dtype = cublasLt.get_matmul_desc_attribute_dtype(attribute)
    value = numpy.array(cublasLt.Epilogue.RELU, dtype)
    cublasLt.matmul_desc_set_attribute(product, attribute, value.ctypes.data, value.nbytes)
"""

from __future__ import annotations as _annotations

from importlib import import_module as _import_module
from operator import index as _index

from gpumath.bindings._attributes import dtype_getter as _dtype_getter
from gpumath.bindings._core.cublasLt import *
from gpumath.bindings._core.cublasLt import _matmul_algo_get_ids
from gpumath.bindings._generated.cublasLt import *
from gpumath.bindings._generated.cublasLt import (
    EmulationDescAttribute,
    MatmulAlgoCapAttribute,
    MatmulAlgoConfigAttribute,
    MatmulDescAttribute,
    MatmulPreferenceAttribute,
    MatrixLayoutAttribute,
    MatrixTransformDescAttribute,
)
from gpumath.bindings._generated.cublasLt_structs import *
from gpumath.bindings._generated.cublasLt_structs import MatmulAlgo, MatmulHeuristicResult
from gpumath.bindings.errors import cuBLASLtError as cuBLASLtError

# `typing` would take longer to import than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex, SupportsInt, TypeAlias

    from gpumath.bindings._generated.cublasLt_lazy import MatmulTile as MatmulTile

    _Int: TypeAlias = SupportsIndex | SupportsInt
del TYPE_CHECKING

check_status = cuBLASLtError.check

# Tests compare the sizes with those that the library reports. It wants eight bytes for the averages
# of grouped products, although its header says otherwise.
get_emulation_desc_attribute_dtype = _dtype_getter(
    "get_emulation_desc_attribute_dtype",
    EmulationDescAttribute,
    {"int64": "*_POINTER", "int32": "*"},
)
get_matmul_algo_cap_attribute_dtype = _dtype_getter(
    "get_matmul_algo_cap_attribute_dtype",
    MatmulAlgoCapAttribute,
    {
        "uint64": "NUMERICAL_IMPL_FLAGS",
        "uint32": "*_MASK *_IDS MIN_ALIGNMENT_* CTA_SWIZZLING_SUPPORT",
        "int32": "*",
    },
)
get_matmul_algo_config_attribute_dtype = _dtype_getter(
    "get_matmul_algo_config_attribute_dtype",
    MatmulAlgoConfigAttribute,
    {"uint16": "*_SHAPE_ID", "int32": "ID SPLITK_NUM", "uint32": "*"},
)
get_matmul_desc_attribute_dtype = _dtype_getter(
    "get_matmul_desc_attribute_dtype",
    MatmulDescAttribute,
    {
        "int64": "*_POINTER *_STRIDE *_LD EMULATION_DESCRIPTOR",
        "int8": "FAST_ACCUM",
        "uint32": "EPILOGUE",
        "int32": "*",
    },
)
get_matmul_preference_attribute_dtype = _dtype_getter(
    "get_matmul_preference_attribute_dtype",
    MatmulPreferenceAttribute,
    {
        "uint64": "MAX_WORKSPACE_BYTES IMPL_MASK GROUPED_*",
        "float32": "MAX_WAVES_COUNT",
        "uint32": "*",
    },
)
get_matrix_layout_attribute_dtype = _dtype_getter(
    "get_matrix_layout_attribute_dtype",
    MatrixLayoutAttribute,
    {
        "uint64": "ROWS COLS",
        "int64": "LD *_OFFSET *_ARRAY",
        "uint32": "TYPE",
        "int32": "*",
    },
)
get_matrix_transform_desc_attribute_dtype = _dtype_getter(
    "get_matrix_transform_desc_attribute_dtype",
    MatrixTransformDescAttribute,
    {"int32": "*"},
)


def matmul_algo_get_ids(
    light_handle: _Int,
    compute_type: _Int,
    scale_type: _Int,
    atype: _Int,
    btype: _Int,
    ctype: _Int,
    dtype: _Int,
    requested_algo_count: SupportsIndex,
) -> tuple[int, ...]:
    """Return the ids of the algorithms for products of these types.

    Parameters
    ----------
    light_handle : int
        From `create`.
    compute_type : cublas.ComputeType
        The precision in which products are formed and added up.
    scale_type : cublas.DataType
        Type of alpha and beta.
    atype, btype, ctype, dtype : cublas.DataType
        Types of the matrices.
    requested_algo_count : int
        Largest number of ids to return, at least 1.

    Returns
    -------
    tuple of int
        The ids, for `matmul_algo_init`.

    Raises
    ------
    cuBLASLtError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cublasLtMatmulAlgoGetIds``, in CUDA 12.0 to 13.5. See
    https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
    """
    # There are some dozens of algorithms, but a caller who wants all may ask for a huge number.
    count = max(0, min(_index(requested_algo_count), 65536))
    ids = memoryview(bytearray(4 * count)).cast("i")
    types = (scale_type, atype, btype, ctype, dtype)
    found = _matmul_algo_get_ids(light_handle, compute_type, *types, count, ids)
    return tuple(ids[:found])


def __getattr__(name: str) -> Any:
    # These attributes take long to import, or need NumPy, so they are made when they are first
    # used.
    if name == "MatmulTile":
        lazy = _import_module("gpumath.bindings._generated.cublasLt_lazy")
        globals()[name] = lazy.MatmulTile
        return lazy.MatmulTile
    if name == "matmul_algo_dtype":
        return MatmulAlgo.dtype
    if name == "matmul_heuristic_result_dtype":
        return MatmulHeuristicResult.dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    lazy = ("MatmulTile", "matmul_algo_dtype", "matmul_heuristic_result_dtype")
    return sorted({*globals(), *lazy})
