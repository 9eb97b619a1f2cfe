"""cuSPARSE, one to one: sparse vectors and matrices, products, solves and conversions.

Handles, descriptors, streams and addresses are ints, and 0 is NULL. An address is used as it is: a
wrong one ends the process. What C writes to a scalar is returned. Scalars such as ``alpha`` are
addresses, of host memory unless `set_pointer_mode` says otherwise. Element types are the numbers of
``cudaDataType``: 0 is float, 1 double, 4 and 5 are complex of these, 2 is half, 14 bfloat16. A
status other than success raises `cuSPARSEError`. cuSPARSE is loaded by the first call.

Examples
--------
>>> from gpumath.bindings import cusparse
>>> cusparse.IndexType.INDEX_32I
<IndexType.INDEX_32I: 2>
"""

from array import array as _array

from gpumath.bindings._attributes import dtype_getter as _dtype_getter
from gpumath.bindings._core import cusparse as _rows
from gpumath.bindings._core.cusparse import *
from gpumath.bindings._core.cusparse import (
    _sp_gemm_estimate_memory,
    _sp_mv_op_buffer_size,
    _sp_mv_op_buffer_size_12_7,
    _sp_mv_op_create_descr,
    _sp_mv_op_create_descr_12_7,
)
from gpumath.bindings._generated.cusparse import *
from gpumath.bindings._generated.cusparse import SpMatAttribute, SpMVOpAlg
from gpumath.bindings.errors import cuSPARSEError as cuSPARSEError

check_status = cuSPARSEError.check


get_sp_mat_attribute_dtype = _dtype_getter(
    "get_sp_mat_attribute_dtype",
    SpMatAttribute,
    {"int32": "*"},  # all are enums
)


def sp_gemm_estimate_memory_buffersize3(
    handle: int,
    op_a: int,
    op_b: int,
    alpha: int,
    mat_a: int,
    mat_b: int,
    beta: int,
    mat_c: int,
    compute_type: int,
    alg: int,
    spgemm_descr: int,
    chunk_fraction: float,
) -> int:
    """Return the size of the third buffer, which `sp_gemm_estimate_memory_buffersize2` needs.

    Parameters
    ----------
    handle, op_a, op_b, alpha, mat_a, mat_b, beta, mat_c, compute_type, alg, spgemm_descr : int
        As in `sp_gemm_work_estimation`; ``alg`` is ``SpGEMMAlg.ALG2`` or ``ALG3``.
    chunk_fraction : float
        Part of the work that is computed at a time, above 0 and at most 1; only ``ALG3`` uses it.

    Returns
    -------
    int
        Size of ``external_buffer3`` in bytes.

    Raises
    ------
    cuSPARSEError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cusparseSpGEMM_estimateMemory``, without its third buffer.
    """
    size = _array("Q", [0])
    _sp_gemm_estimate_memory(
        *(handle, op_a, op_b, alpha, mat_a, mat_b, beta, mat_c, compute_type, alg, spgemm_descr),
        *(chunk_fraction, size.buffer_info()[0], 0, 0),
    )
    return size[0]


def sp_gemm_estimate_memory_buffersize2(
    handle: int,
    op_a: int,
    op_b: int,
    alpha: int,
    mat_a: int,
    mat_b: int,
    beta: int,
    mat_c: int,
    compute_type: int,
    alg: int,
    spgemm_descr: int,
    chunk_fraction: float,
    buffer_size3: int,
    external_buffer3: int,
) -> int:
    """Return the size of the second buffer of `sp_gemm_compute`, once the third one exists.

    Parameters
    ----------
    handle, op_a, op_b, alpha, mat_a, mat_b, beta, mat_c, compute_type, alg, spgemm_descr : int
        As in `sp_gemm_work_estimation`; ``alg`` is ``SpGEMMAlg.ALG2`` or ``ALG3``.
    chunk_fraction : float
        Part of the work that is computed at a time, above 0 and at most 1; only ``ALG3`` uses it.
    buffer_size3 : int
        The result of `sp_gemm_estimate_memory_buffersize3`.
    external_buffer3 : int
        Address of device memory of ``buffer_size3`` bytes, which can be freed after the call.

    Returns
    -------
    int
        Size of ``external_buffer2`` in bytes.

    Raises
    ------
    cuSPARSEError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cusparseSpGEMM_estimateMemory``, with its third buffer.
    """
    sizes = _array("Q", [buffer_size3, 0])
    address = sizes.buffer_info()[0]
    _sp_gemm_estimate_memory(
        *(handle, op_a, op_b, alpha, mat_a, mat_b, beta, mat_c, compute_type, alg, spgemm_descr),
        *(chunk_fraction, address, external_buffer3, address + sizes.itemsize),
    )
    return sizes[1]


def sp_mv_op_buffer_size(
    handle: int,
    op_a: int,
    mat_a: int,
    vec_x: int,
    vec_y: int,
    vec_z: int,
    compute_type: int,
    alg: int = SpMVOpAlg.ALG_DEFAULT,
) -> int:
    """Return the size of the work area that `sp_mv_op_create_descr` needs.

    Parameters
    ----------
    handle, op_a, mat_a, vec_x, vec_y, vec_z, compute_type : int
        As in `sp_mv_op_create_descr`.
    alg : SpMVOpAlg, optional
        The algorithm; cuSPARSE has a choice since 12.8.

    Returns
    -------
    int
        The size in bytes.

    Raises
    ------
    ValueError
        ``alg`` is not the default, but cuSPARSE is older than 12.8.
    FunctionNotFoundError
        cuSPARSE is older than CUDA 13.2's.
    cuSPARSEError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cusparseSpMVOp_bufferSize``, whose argument list changed in cuSPARSE 12.8.
    """
    product = (handle, op_a, mat_a, vec_x, vec_y, vec_z, compute_type)
    if _has_op_alg(alg):
        return _sp_mv_op_buffer_size(*product, alg)
    return _sp_mv_op_buffer_size_12_7(*product)


def sp_mv_op_create_descr(
    handle: int,
    op_a: int,
    mat_a: int,
    vec_x: int,
    vec_y: int,
    vec_z: int,
    compute_type: int,
    buffer: int,
    alg: int = SpMVOpAlg.ALG_DEFAULT,
) -> int:
    """Analyse a matrix for products with user-defined operators.

    Parameters
    ----------
    handle : int
        The context.
    op_a : Operation
        The operation on the matrix: none, or a transposition.
    mat_a, vec_x, vec_y, vec_z : int
        Descriptors of the matrix and of the vectors of z = alpha op(A) x + beta y.
    compute_type : int
        Element type of the computation.
    buffer : int
        Address of device memory of `sp_mv_op_buffer_size` bytes.
    alg : SpMVOpAlg, optional
        The algorithm, which C takes before ``buffer``; cuSPARSE has a choice since 12.8.

    Returns
    -------
    int
        The descriptor; `sp_mv_op_destroy_descr` frees it.

    Raises
    ------
    ValueError
        ``alg`` is not the default, but cuSPARSE is older than 12.8.
    FunctionNotFoundError
        cuSPARSE is older than CUDA 13.2's.
    cuSPARSEError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``cusparseSpMVOp_createDescr``, whose argument list changed in cuSPARSE 12.8.
    """
    product = (handle, op_a, mat_a, vec_x, vec_y, vec_z, compute_type)
    if _has_op_alg(alg):
        return _sp_mv_op_create_descr(*product, alg, buffer)
    return _sp_mv_op_create_descr_12_7(*product, buffer)


def _has_op_alg(alg: int) -> bool:
    """Return whether the SpMVOp functions of this cuSPARSE take an algorithm."""
    version = (_rows.get_property(0), _rows.get_property(1))
    if version >= (12, 8):
        return True
    if alg:
        raise ValueError(
            f"alg is {alg}, but cuSPARSE {version[0]}.{version[1]} has no choice of algorithms for "
            "SpMVOp; leave it out, or use cuSPARSE 12.8 (CUDA 13.3) or newer"
        )
    return False
