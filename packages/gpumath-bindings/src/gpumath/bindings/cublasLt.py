"""cublasLt, one to one: matrix products that are described, searched for, and then run.

A product has a description (`matmul_desc_create`), a layout for each matrix
(`matrix_layout_create`), and attributes of both, which are set from and read to memory; a
``get_..._attribute_dtype`` function says what type is there. `matmul_algo_get_heuristic` finds
algorithms, `matmul` runs one. Handles, descriptors, streams and addresses are ints, and 0 is NULL.
An address is used as it is: a wrong one ends the process. ComputeType, Operation and DataType are
those of `gpumath.bindings.cublas`. A status other than success raises `cuBLASLtError`. cublasLt is
loaded by the first call; descriptors need neither a driver nor a GPU.

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

# For type checkers alone, who know the name: typing takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as _Any
    from typing import SupportsIndex as _SupportsIndex
    from typing import SupportsInt as _SupportsInt

    _Int = _SupportsIndex | _SupportsInt
del TYPE_CHECKING

check_status = cuBLASLtError.check

# The library tells the sizes, which tests compare; it wants eight bytes for the averages of grouped
# products, whatever its header says.
get_emulation_desc_attribute_dtype = _dtype_getter(
    "get_emulation_desc_attribute_dtype",
    EmulationDescAttribute,
    {"int64": r"\w+_POINTER", "int32": r"\w+"},
)
get_matmul_algo_cap_attribute_dtype = _dtype_getter(
    "get_matmul_algo_cap_attribute_dtype",
    MatmulAlgoCapAttribute,
    {
        "uint64": r"NUMERICAL_IMPL_FLAGS",
        "uint32": r"\w+_MASK|\w+_IDS|MIN_ALIGNMENT_\w+|CTA_SWIZZLING_SUPPORT",
        "int32": r"\w+",
    },
)
get_matmul_algo_config_attribute_dtype = _dtype_getter(
    "get_matmul_algo_config_attribute_dtype",
    MatmulAlgoConfigAttribute,
    {"uint16": r"\w+_SHAPE_ID", "int32": r"ID|SPLITK_NUM", "uint32": r"\w+"},
)
get_matmul_desc_attribute_dtype = _dtype_getter(
    "get_matmul_desc_attribute_dtype",
    MatmulDescAttribute,
    {
        "int64": r"\w+_(POINTER|STRIDE|LD)|EMULATION_DESCRIPTOR",
        "int8": r"FAST_ACCUM",
        "uint32": r"EPILOGUE",
        "int32": r"\w+",
    },
)
get_matmul_preference_attribute_dtype = _dtype_getter(
    "get_matmul_preference_attribute_dtype",
    MatmulPreferenceAttribute,
    {
        "uint64": r"MAX_WORKSPACE_BYTES|IMPL_MASK|GROUPED_\w+",
        "float32": r"MAX_WAVES_COUNT",
        "uint32": r"\w+",
    },
)
get_matrix_layout_attribute_dtype = _dtype_getter(
    "get_matrix_layout_attribute_dtype",
    MatrixLayoutAttribute,
    {
        "uint64": r"ROWS|COLS",
        "int64": r"LD|\w+_OFFSET|\w+_ARRAY",
        "uint32": r"TYPE",
        "int32": r"\w+",
    },
)
get_matrix_transform_desc_attribute_dtype = _dtype_getter(
    "get_matrix_transform_desc_attribute_dtype",
    MatrixTransformDescAttribute,
    {"int32": r"\w+"},
)


def matmul_algo_get_ids(
    light_handle: "_Int",
    compute_type: "_Int",
    scale_type: "_Int",
    atype: "_Int",
    btype: "_Int",
    ctype: "_Int",
    dtype: "_Int",
    requested_algo_count: "_SupportsIndex",
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
        Most ids that are wanted, at least 1.

    Returns
    -------
    tuple of int
        For `matmul_algo_init`.

    Raises
    ------
    cuBLASLtError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cublasLtMatmulAlgoGetIds``, in CUDA 12.0 to 13.5. See
    https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
    """
    # There are some dozens of algorithms; who asks for all names a huge number.
    from array import array

    ids = array("i", [0]) * min(_index(requested_algo_count), 65536)
    types = (scale_type, atype, btype, ctype, dtype)
    address, length = ids.buffer_info()
    found = _matmul_algo_get_ids(light_handle, compute_type, *types, length, address)
    return tuple(ids[:found])


def __getattr__(name: str) -> "_Any":
    # Properties of the module, for they need NumPy.
    if name == "matmul_algo_dtype":
        return MatmulAlgo.dtype
    if name == "matmul_heuristic_result_dtype":
        return MatmulHeuristicResult.dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
