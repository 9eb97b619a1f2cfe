"""cuSPARSE's products, solves and conversions of descriptors on a GPU, against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpumath.bindings import core, cusparse, errors
from gpumath.bindings.cusparse import DiagType, FillMode, Order, SpMatAttribute
from tests.bindings.sparse_cases import (
    BFLOAT,
    ELEMENTS,
    HALF,
    INT8,
    INT32,
    C,
    Cell,
    D,
    Descriptor,
    Element,
    H,
    N,
    S,
    Scalar,
    T,
    Z,
    applied,
    assert_close,
    dense,
    handle,
    random,
    random_csr,
    scalars,
    sparse,
    sparse_vector,
    vector,
    wide,
    zeros,
)
from tests.helpers.device_arrays import DeviceArray, workspace

__all__ = ["handle"]  # a fixture

pytestmark = pytest.mark.gpu

# Element type of A and x or B, of y or C, and of the computation.
MIXED = pytest.mark.parametrize(
    ("inputs", "output", "compute"),
    [(HALF, S, S), (HALF, HALF, S), (BFLOAT, S, S), (BFLOAT, BFLOAT, S), (INT8, INT32, INT32)],
    ids=lambda element: element.letter,
)
OPERATIONS = pytest.mark.parametrize("operation", [N, T, H], ids=lambda op: op.name)


def skip_conjugate_of_real(operation: int, element: Element) -> None:
    if operation == H and not element.is_complex:
        pytest.skip("real matrices have no conjugate")


@ELEMENTS
def test_sparse_vectors(handle: int, element: Element) -> None:
    places = np.random.default_rng().choice(300, 40, replace=False)
    values, y = random(40, element), random(300, element)
    x_device, y_device = sparse_vector(300, places, values, element), vector(y, element)
    x = np.zeros(300, element.dtype)
    x[places] = values
    alpha, beta = scalars(element)
    cusparse.axpby(handle, alpha, x_device, beta, y_device)
    expected = alpha.value * wide(x) + beta.value * wide(y)
    magnitude = abs(alpha.value) * np.abs(x) + abs(beta.value) * np.abs(y)
    assert_close(y_device.get(), expected, magnitude, element.eps, 2)

    y = y_device.get()
    for operation in (N, H) if element.is_complex else (N,):
        result = Scalar(0, element)
        arguments = (handle, operation, x_device, y_device, result, element.cuda)
        buffer = workspace(cusparse.sp_vv_buffer_size(*arguments))
        cusparse.sp_vv(*arguments, buffer)
        factor = values.conj() if operation == H else values
        expected = np.sum(wide(factor) * wide(y[places]))
        assert_close(result.value, expected, np.sum(np.abs(values * y[places])), element.eps, 40)

    cusparse.gather(handle, y_device, x_device)
    assert np.array_equal(x_device.get(), y[places])
    x_device.arrays[-1].set(values)
    cusparse.scatter(handle, x_device, y_device)
    y[places] = values
    assert np.array_equal(y_device.get(), y)


@pytest.mark.parametrize("element", [S, D], ids=lambda element: element.letter)
def test_rotation(handle: int, element: Element) -> None:
    places = np.random.default_rng().choice(300, 40, replace=False)
    x, y, angle = random(40, element), random(300, element), np.random.default_rng().random()
    c, s = Scalar(np.cos(angle), element), Scalar(np.sin(angle), element)
    x_device, y_device = sparse_vector(300, places, x, element), vector(y, element)
    cusparse.rot(handle, c, s, x_device, y_device)
    expected = y.copy()
    expected[places] = c.value * y[places] - s.value * x
    magnitude = np.full(40, np.abs(y).max() + np.abs(x).max())
    gathered = c.value * x + s.value * y[places]
    assert_close(x_device.get(), gathered, magnitude, element.eps, 2)
    assert_close(y_device.get(), expected, magnitude.max(), element.eps, 2)


def check_sp_mv(
    handle: int,
    kind: str,
    operation: int,
    elements: tuple[Element, Element, Element],
    prepared: bool = False,
) -> None:
    inputs, output, compute = elements
    a = random_csr(96, 64, inputs)
    op_a = applied(wide(a), operation)
    x, y = random(op_a.shape[1], inputs), random(op_a.shape[0], output)
    matrix, x_device, y_device = sparse(a, inputs, kind), vector(x, inputs), vector(y, output)
    alpha, beta = scalars(compute)
    arguments = (handle, operation, alpha, matrix, x_device, beta, y_device, compute.cuda)
    algorithm = cusparse.SpMVAlg.DEFAULT
    buffer = workspace(cusparse.sp_mv_buffer_size(*arguments, algorithm))
    if prepared:
        cusparse.sp_mv_preprocess(*arguments, algorithm, buffer)
    cusparse.sp_mv(*arguments, algorithm, buffer)
    expected = alpha.value * (op_a @ wide(x)) + beta.value * wide(y)
    magnitude = abs(alpha.value) * (np.abs(op_a) @ np.abs(wide(x))) + abs(beta.value * wide(y))
    eps = max(output.eps, compute.eps)
    assert_close(output.loaded(y_device.get()), expected, magnitude, eps, op_a.shape[1] // 4)


@ELEMENTS
@OPERATIONS
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sp_mv(handle: int, kind: str, operation: int, element: Element) -> None:
    skip_conjugate_of_real(operation, element)
    check_sp_mv(handle, kind, operation, (element, element, element))


@ELEMENTS
def test_sp_mv_of_slices(handle: int, element: Element) -> None:
    check_sp_mv(handle, "sliced_ell", N, (element, element, element))


@ELEMENTS
def test_preprocessed_sp_mv(handle: int, element: Element) -> None:
    check_sp_mv(handle, "csr", N, (element, element, element), prepared=True)


@MIXED
@pytest.mark.parametrize("kind", ["csr", "coo"])
def test_sp_mv_of_mixed_types(
    handle: int, kind: str, inputs: Element, output: Element, compute: Element
) -> None:
    check_sp_mv(handle, kind, N, (inputs, output, compute))


def check_sp_mm(
    handle: int,
    kind: str,
    operations: tuple[int, int],
    order: Order,
    elements: tuple[Element, Element, Element],
    prepared: bool = False,
) -> None:
    inputs, output, compute = elements
    a = random_csr(96, 64, inputs)
    op_a = applied(wide(a), operations[0])
    rows, inner = op_a.shape
    b = random((inner, 32) if operations[1] == N else (32, inner), inputs)
    op_b, c = applied(wide(b), operations[1]), random((rows, 32), output)
    matrix = sparse(a, inputs, kind)
    if kind == "blocked_ell":
        filled(handle, matrix, dense(wide(a).real.astype(np.float32), inputs, Order.ROW))
    b_device, c_device = dense(b, inputs, order), dense(c, output, order)
    alpha, beta = scalars(compute)
    arguments = (handle, *operations, alpha, matrix, b_device, beta, c_device, compute.cuda)
    algorithm = cusparse.SpMMAlg.DEFAULT
    buffer = workspace(cusparse.sp_mm_buffer_size(*arguments, algorithm))
    if prepared:
        cusparse.sp_mm_preprocess(*arguments, algorithm, buffer)
    cusparse.sp_mm(*arguments, algorithm, buffer)
    expected = alpha.value * (op_a @ op_b) + beta.value * wide(c)
    magnitude = abs(alpha.value) * (np.abs(op_a) @ np.abs(op_b)) + abs(beta.value * wide(c))
    eps = max(output.eps, compute.eps)
    assert_close(output.loaded(c_device.get()), expected, magnitude, eps, inner // 4)


def filled(handle: int, matrix: Descriptor, values: Descriptor) -> None:
    """Write a dense matrix's values to a sparse one whose pattern is there."""
    arguments = (handle, values, matrix, cusparse.DenseToSparseAlg.DEFAULT)
    buffer = workspace(cusparse.dense_to_sparse_buffer_size(*arguments))
    cusparse.dense_to_sparse_analysis(*arguments, buffer)
    cusparse.dense_to_sparse_convert(*arguments, buffer)


@ELEMENTS
@pytest.mark.parametrize("order", Order, ids=lambda order: order.name)
@pytest.mark.parametrize(
    "operations", [(N, N), (T, N), (N, T)], ids=lambda ops: "-".join(op.name for op in ops)
)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sp_mm(
    handle: int, kind: str, operations: tuple[int, int], order: Order, element: Element
) -> None:
    check_sp_mm(handle, kind, operations, order, (element, element, element))


@MIXED
def test_sp_mm_of_mixed_types(
    handle: int, inputs: Element, output: Element, compute: Element
) -> None:
    check_sp_mm(handle, "csr", (N, N), Order.ROW, (inputs, output, compute))


def test_sp_mm_of_blocks(handle: int) -> None:
    check_sp_mm(handle, "blocked_ell", (N, N), Order.COL, (HALF, S, S))


@ELEMENTS
def test_sp_mm_of_block_rows(handle: int, element: Element) -> None:
    check_sp_mm(handle, "bsr", (N, N), Order.COL, (element, element, element))


@ELEMENTS
def test_preprocessed_sp_mm(handle: int, element: Element) -> None:
    check_sp_mm(handle, "csr", (N, N), Order.COL, (element, element, element), prepared=True)


@ELEMENTS
def test_a_batch_of_sp_mm(handle: int, element: Element) -> None:
    a = random_csr(64, 48, element)
    values = random((3, a.nnz), element)
    offsets, indices = DeviceArray(np.tile(a.indptr, 3)), DeviceArray(np.tile(a.indices, 3))
    b, c = random((3, 20, 48), element), zeros((3, 20, 64), element)  # by columns
    memory = [DeviceArray(values), DeviceArray(b), DeviceArray(c)]
    index = (cusparse.IndexType.INDEX_32I, cusparse.IndexType.INDEX_32I, 0, element.cuda)
    matrix = cusparse.create_csr(64, 48, a.nnz, offsets, indices, memory[0], *index)
    cusparse.csr_set_strided_batch(matrix, 3, 65, a.nnz)
    factors = [
        cusparse.create_dn_mat(n, 20, n, data, element.cuda, Order.COL)
        for n, data in ((48, memory[1]), (64, memory[2]))
    ]
    for factor, stride in zip(factors, (48 * 20, 64 * 20), strict=True):
        cusparse.dn_mat_set_strided_batch(factor, 3, stride)
    one, zero = Scalar(1, element), Scalar(0, element)
    algorithm = cusparse.SpMMAlg.DEFAULT
    arguments = (handle, N, N, one, matrix, factors[0], zero, factors[1], element.cuda, algorithm)
    cusparse.sp_mm(*arguments, workspace(cusparse.sp_mm_buffer_size(*arguments)))
    found = memory[2].get()
    for factor in factors:
        cusparse.destroy_dn_mat(factor)
    cusparse.destroy_sp_mat(matrix)
    for data, b_one, c_one in zip(values, b, found, strict=True):
        product = wide(sp.csr_array((data, a.indices, a.indptr), a.shape))
        magnitude = np.abs(product) @ np.abs(b_one.T)
        assert_close(c_one.T, product @ wide(b_one.T), magnitude, element.eps, 48)


@ELEMENTS
@pytest.mark.parametrize("operation", [N, T], ids=lambda op: op.name)
def test_sddmm(handle: int, operation: int, element: Element) -> None:
    pattern = random_csr(64, 48, element)
    a, b = random((64, 32) if operation == N else (32, 64), element), random((32, 48), element)
    matrix = sparse(pattern, element)
    alpha, beta = scalars(element)
    factors = dense(a, element), dense(b, element)
    types = (element.cuda, cusparse.SDDMMAlg.DEFAULT)
    arguments = (handle, operation, N, alpha, *factors, beta, matrix, *types)
    size = Cell(np.uint64)
    cusparse.sddmm_buffer_size(*arguments, size)
    buffer = workspace(size.value)
    cusparse.sddmm_preprocess(*arguments, buffer)
    cusparse.sddmm(*arguments, buffer)
    op_a = applied(wide(a), operation)
    where = pattern.nonzero()
    expected = (alpha.value * (op_a @ wide(b)))[where] + beta.value * pattern.data
    magnitude = (abs(alpha.value) * (np.abs(op_a) @ np.abs(wide(b))))[where]
    magnitude = magnitude + np.abs(beta.value * pattern.data)
    assert_close(matrix.get(), expected, magnitude, element.eps, 32)


def triangle(element: Element, lower: bool) -> sp.csr_array:
    """Fresh well-conditioned triangular matrix with 32-bit indices."""
    a = random_csr(80, 80, element)
    a = (sp.tril(a, -1) if lower else sp.triu(a, 1)) + sp.diags_array(
        (4 + np.random.default_rng().random(80)).astype(element.dtype)
    )
    a = sp.csr_array(a.astype(element.dtype))
    a.sort_indices()
    return a


def triangular(a: sp.csr_array, element: Element, lower: bool) -> Descriptor:
    matrix = sparse(a, element)
    for attribute, value in (
        (SpMatAttribute.FILL_MODE, FillMode.LOWER if lower else FillMode.UPPER),
        (SpMatAttribute.DIAG_TYPE, DiagType.NON_UNIT),
    ):
        dtype = cusparse.get_sp_mat_attribute_dtype(attribute)
        cusparse.sp_mat_set_attribute(matrix, attribute, np.array([value], dtype), 4)
    return matrix


@ELEMENTS
@OPERATIONS
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("kind", ["sp_sv", "sp_sm"])
def test_triangular_solves(
    handle: int, kind: str, lower: bool, operation: int, element: Element
) -> None:
    skip_conjugate_of_real(operation, element)
    a = triangle(element, lower)
    one = kind == "sp_sv"
    right = random(80 if one else (80, 7), element)
    put = vector if one else dense
    b_device, x_device = put(right, element), put(np.zeros_like(right), element)
    matrix, alpha = triangular(a, element, lower), scalars(element)[0]
    state = getattr(cusparse, f"{kind}_create_descr")()
    algorithm = cusparse.SpSVAlg.DEFAULT if one else cusparse.SpSMAlg.DEFAULT
    operations = (operation,) if one else (operation, N)
    types = (element.cuda, algorithm, state)
    arguments = (handle, *operations, alpha, matrix, b_device, x_device, *types)
    buffer = workspace(getattr(cusparse, f"{kind}_buffer_size")(*arguments))
    getattr(cusparse, f"{kind}_analysis")(*arguments, buffer)
    for _ in range(2):
        getattr(cusparse, f"{kind}_solve")(*arguments)
        op_a = applied(wide(a), operation)
        found = x_device.get()
        magnitude = np.abs(op_a) @ np.abs(wide(found)) + np.abs(alpha.value * wide(right))
        # The computed solution solves a system close by.
        assert_close(op_a @ wide(found), alpha.value * wide(right), magnitude, element.eps, 80)
        # Once more with other values in the same places.
        a.data = (2 * a.data).astype(element.dtype)
        update = cusparse.SpSVUpdate.GENERAL if one else cusparse.SpSMUpdate.UPDATE_GENERAL
        matrix.arrays[-1].set(a.data)
        getattr(cusparse, f"{kind}_update_matrix")(handle, state, matrix.arrays[-1], update)
    getattr(cusparse, f"{kind}_destroy_descr")(state)


@ELEMENTS
@pytest.mark.parametrize("order", Order, ids=lambda order: order.name)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_dense_to_sparse_and_back(handle: int, kind: str, order: Order, element: Element) -> None:
    a = random_csr(60, 40, element)
    full = dense(a.toarray(), element, order)
    matrix: Any = sparse(sp.csr_array(a.shape, dtype=element.dtype), element, kind)
    arguments = (handle, full, matrix, cusparse.DenseToSparseAlg.DEFAULT)
    buffer = workspace(cusparse.dense_to_sparse_buffer_size(*arguments))
    cusparse.dense_to_sparse_analysis(*arguments, buffer)
    rows, columns, nonzeros = cusparse.sp_mat_get_size(matrix)
    assert (rows, columns, nonzeros) == (60, 40, a.nnz)
    places = {"csr": 61, "csc": 41, "coo": nonzeros}[kind]
    first = matrix.arrays[0] if kind != "coo" else DeviceArray(np.zeros(places, np.int32))
    second = DeviceArray(np.zeros(nonzeros, np.int32))
    values = DeviceArray(zeros(nonzeros, element))
    getattr(cusparse, f"{kind}_set_pointers")(matrix, first, second, values)
    cusparse.dense_to_sparse_convert(*arguments, buffer)
    # In a row of the dense matrix's other order, the columns come in no particular one.
    parts = (first.get(), second.get()) if kind == "coo" else (second.get(), first.get())
    triple = (values.get(), parts) if kind == "coo" else (values.get(), *parts)
    found = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}[kind](triple, a.shape)
    assert np.array_equal(found.toarray(), a.toarray())

    back = dense(np.ones((60, 40), element.dtype), element, order)
    arguments = (handle, matrix, back, cusparse.SparseToDenseAlg.DEFAULT)
    cusparse.sparse_to_dense(
        *arguments, workspace(cusparse.sparse_to_dense_buffer_size(*arguments))
    )
    assert np.array_equal(back.get(), a.toarray())


def test_scalars_in_device_memory_and_streams(handle: int) -> None:
    stream = core.Stream()
    assert cusparse.get_pointer_mode(handle) == cusparse.PointerMode.HOST
    cusparse.set_pointer_mode(handle, cusparse.PointerMode.DEVICE)
    cusparse.set_stream(handle, stream.handle)
    try:
        assert cusparse.get_pointer_mode(handle) == cusparse.PointerMode.DEVICE
        assert cusparse.get_stream(handle) == stream.handle
        x = random(50)
        y, alpha, beta = vector(random(50), D), DeviceArray([2.0]), DeviceArray([0.0])
        x_device = sparse_vector(50, np.arange(50), x, D)
        cusparse.axpby(handle, alpha, x_device, beta, y)
        stream.synchronize()
        assert np.array_equal(y.get(), 2 * x)
    finally:
        cusparse.set_stream(handle, 0)
        cusparse.set_pointer_mode(handle, cusparse.PointerMode.HOST)


def test_version_and_statuses(handle: int) -> None:
    major, minor, patch = (cusparse.get_property(which) for which in range(3))
    assert cusparse.get_version(handle) == major * 1000 + minor * 100 + patch
    x, y = vector(random(3), D), vector(random(4), C)
    matrix = sparse(random_csr(32, 32, Z), Z)
    alpha = Scalar(1, D)
    with pytest.raises(errors.cuSPARSEError) as caught:
        cusparse.sp_mv_buffer_size(handle, N, alpha, matrix, x, alpha, y, D.cuda, 0)
    assert caught.value.function == "cusparseSpMV_bufferSize"
