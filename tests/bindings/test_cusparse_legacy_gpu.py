"""cuSPARSE's functions on bare arrays on a GPU, against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpumath.bindings import cusparse
from gpumath.bindings.cusparse import Action, Direction, IndexBase
from tests.bindings.sparse_cases import (
    ELEMENTS,
    Cell,
    Csr,
    D,
    Element,
    N,
    S,
    Scalar,
    T,
    applied,
    assert_close,
    handle,
    legacy,
    random,
    random_csr,
    scalars,
    wide,
    zeros,
)
from tests.helpers.device_arrays import DeviceArray, workspace

__all__ = ["handle"]  # a fixture

pytestmark = pytest.mark.gpu

REAL = pytest.mark.parametrize("element", [S, D], ids=lambda element: element.letter)


def call(name: str, element: Element, *arguments: Any) -> Any:
    """Call the function of this element type."""
    return getattr(cusparse, element.letter + name)(*arguments)


@ELEMENTS
def test_csr_to_csc(handle: int, element: Element) -> None:
    a = random_csr(50, 40, element)
    source, target = Csr(a, element), Csr.empty(40, 50, a.nnz, element)
    arguments = (handle, 50, 40, a.nnz, *source.arrays, *target.arrays)
    options = (element.cuda, Action.NUMERIC, IndexBase.ZERO, cusparse.Csr2CscAlg.DEFAULT)
    size = cusparse.csr2csc_ex2_buffer_size(*arguments, *options)
    cusparse.csr2csc_ex2(*arguments, *options, workspace(size))
    assert np.array_equal(target.get().toarray(), a.toarray().T)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo_by_row", "coo_by_column"])
def test_sorts(handle: int, kind: str) -> None:
    a = random_csr(50, 40)
    rows, columns = a.nonzero()
    by_column = kind in ("csc", "coo_by_column")
    order = np.random.default_rng().permutation(a.nnz)
    # Rows stay in place under the sort of CSR, columns under that of CSC.
    if kind == "csr":
        order = order[np.argsort(rows[order], kind="stable")]
    elif kind == "csc":
        order = order[np.argsort(columns[order], kind="stable")]
    rows, columns = rows[order].astype(np.int32), columns[order].astype(np.int32)
    first, second = DeviceArray(rows), DeviceArray(columns)
    permutation = DeviceArray(np.zeros(a.nnz, np.int32))
    cusparse.create_identity_permutation(handle, a.nnz, permutation)
    assert np.array_equal(permutation.get(), np.arange(a.nnz))
    shape = (handle, 50, 40, a.nnz)
    if kind.startswith("coo"):
        buffer = workspace(cusparse.xcoosort_buffer_size_ext(*shape, first, second))
        sort = cusparse.xcoosort_by_column if by_column else cusparse.xcoosort_by_row
        sort(*shape, first, second, permutation, buffer)
    else:
        counts = np.bincount(columns if by_column else rows, minlength=40 if by_column else 50)
        offsets = DeviceArray(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        pair = (offsets, first if by_column else second)
        size = getattr(cusparse, f"x{kind}sort_buffer_size_ext")(*shape, *pair)
        with legacy("mat_descr") as descr:
            sort = getattr(cusparse, f"x{kind}sort")
            sort(*shape, descr, *pair, permutation, workspace(size))
    found = permutation.get()
    assert np.array_equal(np.sort(found), np.arange(a.nnz))
    if kind.startswith("coo"):
        keys = columns if by_column else rows
        assert (np.diff(keys[found]) >= 0).all()
    else:
        assert np.array_equal(found, np.lexsort((rows, columns) if by_column else (columns, rows)))
    if kind != "csr":
        assert np.array_equal(first.get(), rows[found])
    if kind != "csc":
        assert np.array_equal(second.get(), columns[found])


def test_offsets_to_indices_and_back(handle: int) -> None:
    a = random_csr(50, 40)
    csr = Csr(a)
    rows, offsets = DeviceArray(np.zeros(a.nnz, np.int32)), DeviceArray(np.zeros(51, np.int32))
    cusparse.xcsr2coo(handle, csr.offsets, a.nnz, 50, rows, IndexBase.ZERO)
    assert np.array_equal(rows.get(), a.nonzero()[0])
    cusparse.xcoo2csr(handle, rows, a.nnz, 50, offsets, IndexBase.ZERO)
    assert np.array_equal(offsets.get(), a.indptr)


@ELEMENTS
def test_sort_and_undo(handle: int, element: Element) -> None:
    a = random_csr(30, 40, element)
    mixed = a.copy()
    for start, end in zip(a.indptr, a.indptr[1:], strict=False):
        order = start + np.random.default_rng().permutation(end - start)
        mixed.indices[start:end], mixed.data[start:end] = a.indices[order], a.data[order]
    csr = Csr(mixed, element)
    arrays = (csr.values, csr.offsets, csr.indices)
    with legacy("mat_descr") as descr, legacy("csru2csr_info") as info:
        shape = (handle, 30, 40, a.nnz)
        size = call("csru2csr_buffer_size_ext", element, *shape, *arrays, info)
        buffer = workspace(size)
        call("csru2csr", element, *shape, descr, *arrays, info, buffer)
        assert np.array_equal(csr.indices.get(), a.indices)
        assert np.array_equal(csr.values.get(), a.data)
        call("csr2csru", element, *shape, descr, *arrays, info, buffer)
        assert np.array_equal(csr.indices.get(), mixed.indices)
        assert np.array_equal(csr.values.get(), mixed.data)


@ELEMENTS
def test_sum(handle: int, element: Element) -> None:
    a, b = random_csr(50, 40, element), random_csr(50, 40, element)
    left, right = Csr(a, element), Csr(b, element)
    offsets, total, (alpha, beta) = DeviceArray(np.zeros(51, np.int32)), Cell(), scalars(element)
    with legacy("mat_descr") as descr:
        terms = (
            *(handle, 50, 40, alpha, descr, a.nnz, *left.arrays),
            *(beta, descr, b.nnz, *right.arrays, descr),
        )
        size = call("csrgeam2_buffer_size_ext", element, *terms, 0, offsets, 0)
        buffer = workspace(size)
        patterns = (
            *(handle, 50, 40, descr, a.nnz, left.offsets, left.indices),
            *(descr, b.nnz, right.offsets, right.indices, descr, offsets),
        )
        cusparse.xcsrgeam2nnz(*patterns, total, buffer)
        found = Csr.empty(50, 40, total.value, element)
        found.offsets = offsets
        call("csrgeam2", element, *terms, *found.arrays, buffer)
    magnitude = np.abs(alpha.value * wide(a)) + np.abs(beta.value * wide(b))
    expected = alpha.value * wide(a) + beta.value * wide(b)
    assert_close(found.get(), expected, magnitude, element.eps, 2)
    assert total.value == np.count_nonzero(magnitude)


@ELEMENTS
@pytest.mark.parametrize("operation", [N, T], ids=lambda op: op.name)
def test_dense_matrix_and_sparse_vector(handle: int, operation: int, element: Element) -> None:
    a = random((30, 20), element)
    op_a = applied(wide(a), operation)
    rows, columns = op_a.shape
    places = np.sort(np.random.default_rng().choice(columns, 8, replace=False)).astype(np.int32)
    values, y = random(8, element), random(rows, element)
    result, (alpha, beta) = DeviceArray(y), scalars(element)
    size = call("gemvi_buffer_size", element, handle, operation, 30, 20, 8)
    matrix, x = DeviceArray(np.asfortranarray(a)), (DeviceArray(values), DeviceArray(places))
    arguments = (handle, operation, 30, 20, alpha, matrix, 30, 8, *x, beta, result)
    call("gemvi", element, *arguments, IndexBase.ZERO, workspace(size))
    product = op_a[:, places] @ wide(values)
    magnitude = np.abs(alpha.value) * (np.abs(op_a[:, places]) @ np.abs(wide(values)))
    magnitude = magnitude + np.abs(beta.value * wide(y))
    expected = alpha.value * product + beta.value * wide(y)
    assert_close(result.get(), expected, magnitude, element.eps, 8)


def bands(count: int, size: int, element: Element, batch: int) -> list[np.ndarray]:
    """Diagonals of well-conditioned matrices, from the lowest up: (batch, size) each."""
    diagonals = [random((batch, size), element) for _ in range(count)]
    half = count // 2
    diagonals[half] += 2 * count * np.sign(diagonals[half].real).astype(element.dtype)
    for distance in range(1, half + 1):
        diagonals[half - distance][:, :distance] = 0
        diagonals[half + distance][:, size - distance :] = 0
    return diagonals


def check_bands(diagonals: list[np.ndarray], x: np.ndarray, b: np.ndarray, eps: float) -> None:
    """Check the residual of A x = b for (batch, size, columns) of x and b."""
    half = len(diagonals) // 2
    size = x.shape[1]
    product, magnitude = np.zeros(x.shape, np.complex128), np.abs(wide(b))
    for place, diagonal in enumerate(diagonals):
        shift = place - half
        rows = np.arange(max(0, -shift), min(size, size - shift))
        term = wide(diagonal)[:, rows, None] * wide(x)[:, rows + shift]
        product[:, rows] += term
        magnitude[:, rows] += np.abs(term)
    # Elimination without pivoting is stable here, but for a modest growth.
    assert_close(product, b.astype(np.complex128), 4 * magnitude, eps, 2 * len(diagonals))


@ELEMENTS
@pytest.mark.parametrize("name", ["gtsv2", "gtsv2_nopivot"])
def test_tridiagonal_system(handle: int, name: str, element: Element) -> None:
    size, columns = 100, 6
    diagonals = bands(3, size, element, 1)
    b = random((size, columns), element)
    memory = [DeviceArray(diagonal[0]) for diagonal in diagonals]
    right = DeviceArray(np.asfortranarray(b))
    arguments = (handle, size, columns, *memory, right, size)
    buffer = workspace(call(f"{name}_buffer_size_ext", element, *arguments))
    call(name, element, *arguments, buffer)
    check_bands(diagonals, right.get()[None], b[None], element.eps)


@ELEMENTS
@pytest.mark.parametrize("interleaved", [False, True], ids=["strided", "interleaved"])
@pytest.mark.parametrize("width", [3, 5])
def test_batch_of_banded_systems(
    handle: int, width: int, interleaved: bool, element: Element
) -> None:
    if width == 5 and not interleaved:
        pytest.skip("pentadiagonal systems are interleaved")
    size, batch = 64, 9
    diagonals = bands(width, size, element, batch)
    b = random((batch, size), element)
    order = "F" if interleaved else "C"
    memory = [DeviceArray(np.array(values, order=order)) for values in (*diagonals, b)]
    if interleaved:
        name = "gtsv_interleaved_batch" if width == 3 else "gpsv_interleaved_batch"
        arguments = (handle, 0, size, *memory, batch)
    else:
        name = "gtsv2strided_batch"
        arguments = (handle, size, *memory, batch, size)
    buffer = workspace(call(f"{name}_buffer_size_ext", element, *arguments))
    call(name, element, *arguments, buffer)
    check_bands(diagonals, memory[-1].get()[..., None], b[..., None], element.eps)


@ELEMENTS
def test_counts_and_compression(handle: int, element: Element) -> None:
    a = random_csr(50, 40, element)
    if not element.is_complex:
        a.data = np.abs(a.data)  # csr2csr_compress drops negative numbers; nnz_compress does not
    csr, total = Csr(a, element), Cell()
    full = DeviceArray(np.asfortranarray(a.toarray()))
    per_row = DeviceArray(np.zeros(50, np.int32))
    with legacy("mat_descr") as descr:
        call("nnz", element, handle, Direction.ROW, 50, 40, descr, full, 50, per_row, total)
        assert np.array_equal(per_row.get(), np.diff(a.indptr))
        assert total.value == a.nnz
        tolerance = 0.75
        arguments = (handle, 50, descr, csr.values, csr.offsets, per_row, total)
        call("nnz_compress", element, *arguments, tolerance)
        kept = np.abs(a.data) > tolerance
        assert total.value == kept.sum()
        found = Csr.empty(50, 40, total.value, element)
        source = (csr.values, csr.indices, csr.offsets, a.nnz, per_row)
        target = (found.values, found.indices, found.offsets)
        call("csr2csr_compress", element, handle, 50, 40, descr, *source, *target, tolerance)
    expected = a.copy()
    expected.data[~kept] = 0
    assert np.array_equal(found.get().toarray(), expected.toarray())


@REAL
def test_pruning(handle: int, element: Element) -> None:
    a = random_csr(50, 40, element, 0.5)
    csr, total, threshold = Csr(a, element), Cell(), Scalar(0.6, element)
    found = Csr.empty(50, 40, a.nnz, element)
    with legacy("mat_descr") as descr, legacy("prune_info") as info:
        source = (handle, 50, 40, a.nnz, descr, *csr.arrays, threshold, descr)
        size = call("prune_csr2csr_buffer_size_ext", element, *source, *found.arrays)
        buffer = workspace(size)
        call("prune_csr2csr_nnz", element, *source, found.offsets, total, buffer)
        kept = np.abs(a.data) > threshold.value
        assert total.value == kept.sum()
        call("prune_csr2csr", element, *source, *found.arrays, buffer)
        found.nonzeros = total.value
        offsets = found.offsets.get()
        assert np.array_equal(np.diff(offsets), np.diff(np.append(0, np.cumsum(kept))[a.indptr]))
        assert np.array_equal(found.values.get()[: total.value], a.data[kept])

        full = DeviceArray(np.asfortranarray(a.toarray()))
        share = (handle, 50, 40, full, 50, 75.0, descr)
        name = "prune_dense2csr_by_percentage_buffer_size_ext"
        buffer = workspace(call(name, element, *share, *found.arrays, info))
        name = "prune_dense2csr_nnz_by_percentage"
        call(name, element, *share, found.offsets, total, info, buffer)
        # Of 2000 elements three quarters go, and zeros are the smallest.
        cut = np.sort(np.abs(a.toarray()).ravel())[1500]
        assert abs(total.value - np.count_nonzero(np.abs(a.data) > cut)) <= 2


def blocks(handle: int, a: sp.csr_array, element: Element, size: int) -> list[DeviceArray]:
    """Convert to BSR on the device; values, offsets and indices."""
    csr, total = Csr(a, element), Cell()
    rows, columns = a.shape
    with legacy("mat_descr") as descr:
        offsets = DeviceArray(np.zeros(rows // size + 1, np.int32))
        shape = (handle, Direction.ROW, rows, columns, descr)
        pattern = (csr.offsets, csr.indices, size, descr, offsets, total)
        cusparse.xcsr2bsr_nnz(*shape, *pattern)
        values = DeviceArray(zeros(total.value * size**2, element))
        indices = DeviceArray(np.zeros(total.value, np.int32))
        target = (descr, values, offsets, indices)
        call("csr2bsr", element, *shape, *csr.arrays, size, *target)
    return [values, offsets, indices]


@ELEMENTS
def test_block_matrices(handle: int, element: Element) -> None:
    a, size = random_csr(48, 40, element), 4
    arrays = blocks(handle, a, element, size)
    count = len(arrays[2].get())
    reference = a.tobsr((size, size))
    assert count == len(reference.indices)
    stored = arrays[0].get().reshape(-1, size, size), arrays[2].get(), arrays[1].get()
    assert np.array_equal(sp.bsr_array(stored, a.shape).toarray(), a.toarray())

    x, y, (alpha, beta) = random(40, element), random(48, element), scalars(element)
    result, b = DeviceArray(y), random((40, 3), element)
    with legacy("mat_descr") as descr:
        shape = (handle, Direction.ROW, N, 12, 10, count, alpha, descr, *arrays, size)
        call("bsrmv", element, *shape, DeviceArray(x), beta, result)
        magnitude = abs(alpha.value) * (np.abs(wide(a)) @ np.abs(x)) + np.abs(beta.value * y)
        expected = alpha.value * (wide(a) @ wide(x)) + beta.value * wide(y)
        assert_close(result.get(), expected, magnitude, element.eps, 40)

        product = DeviceArray(np.asfortranarray(zeros((48, 3), element)))
        right, zero = DeviceArray(np.asfortranarray(b)), Scalar(0, element)
        shape = (handle, Direction.ROW, N, N, 12, 3, 10, count, alpha, descr, *arrays, size)
        call("bsrmm", element, *shape, right, 40, zero, product, 48)
        magnitude = abs(alpha.value) * (np.abs(wide(a)) @ np.abs(b))
        expected = alpha.value * (wide(a) @ wide(b))
        assert_close(product.get(), expected, magnitude, element.eps, 40)

        back = Csr.empty(48, 40, count * size**2, element)
        shape = (handle, Direction.ROW, 12, 10, descr, *arrays, size, descr)
        call("bsr2csr", element, *shape, *back.arrays)
    assert np.array_equal(back.get().toarray(), a.toarray())


def positive_tridiagonal(size: int, element: Element) -> sp.csr_array:
    """Fresh Hermitian positive definite matrix: its factorization has no fill-in."""
    off = random(size - 1, element)
    diagonal = (10 + np.random.default_rng().random(size)).astype(element.dtype)
    a = sp.csr_array(sp.diags_array([off.conj(), diagonal, off], offsets=[-1, 0, 1]))
    a.sort_indices()
    return a.astype(element.dtype)


@ELEMENTS
@pytest.mark.parametrize("name", ["csrilu02", "csric02"])
def test_incomplete_factorizations(handle: int, name: str, element: Element) -> None:
    a = positive_tridiagonal(60, element)
    csr = Csr(a, element)
    policy = cusparse.SolvePolicy.USE_LEVEL
    with legacy("mat_descr") as descr, legacy(f"{name}_info") as info:
        arguments = (handle, 60, a.nnz, descr, *csr.arrays, info)
        buffer = workspace(call(f"{name}_buffer_size", element, *arguments))
        call(f"{name}_analysis", element, *arguments, policy, buffer)
        call(name, element, *arguments, policy, buffer)
        assert getattr(cusparse, f"x{name}_zero_pivot")(handle, info) == -1
    factors = wide(csr.get())
    lower = np.tril(factors)
    if name == "csrilu02":
        product = (np.tril(factors, -1) + np.eye(60)) @ np.triu(factors)
    else:
        product = lower @ lower.conj().T
    assert_close(product, a, np.full((60, 60), 14.0), element.eps, 3)


@ELEMENTS
def test_a_zero_pivot_is_reported(handle: int, element: Element) -> None:
    a = sp.csr_array(np.array([[1, 2, 0], [0, 0, 3], [0, 4, 5]]).astype(element.dtype))
    csr = Csr(a, element)
    with legacy("mat_descr") as descr, legacy("csrilu02_info") as info:
        arguments = (handle, 3, a.nnz, descr, *csr.arrays, info)
        buffer = workspace(call("csrilu02_buffer_size", element, *arguments))
        call("csrilu02_analysis", element, *arguments, cusparse.SolvePolicy.NO_LEVEL, buffer)
        with pytest.raises(cusparse.cuSPARSEError) as caught:
            cusparse.xcsrilu02_zero_pivot(handle, info)
    assert caught.value.status is cusparse.Status.ZERO_PIVOT


@ELEMENTS
def test_triangular_solve_with_blocks(handle: int, element: Element) -> None:
    a = sp.csr_array(np.tril(positive_tridiagonal(48, element).toarray()))
    arrays = blocks(handle, a, element, 4)
    count = len(arrays[2].get())
    b, alpha = random(48, element), scalars(element)[0]
    right, x = DeviceArray(b), DeviceArray(np.zeros_like(b))
    policy = cusparse.SolvePolicy.USE_LEVEL
    with legacy("mat_descr") as descr, legacy("bsrsv2_info") as info:
        cusparse.set_mat_fill_mode(descr, cusparse.FillMode.LOWER)
        cusparse.set_mat_diag_type(descr, cusparse.DiagType.NON_UNIT)
        head, tail = (handle, Direction.ROW, N, 12, count), (descr, *arrays, 4, info)
        buffer = workspace(call("bsrsv2_buffer_size", element, *head, *tail))
        call("bsrsv2_analysis", element, *head, *tail, policy, buffer)
        assert cusparse.xbsrsv2_zero_pivot(handle, info) == -1
        call("bsrsv2_solve", element, *head, alpha, *tail, right, x, policy, buffer)
    found = wide(x.get())
    magnitude = np.abs(wide(a)) @ np.abs(found) + np.abs(alpha.value * b)
    assert_close(wide(a) @ found, alpha.value * wide(b), magnitude, element.eps, 8)


@ELEMENTS
def test_oblong_blocks(handle: int, element: Element) -> None:
    a = random_csr(24, 30, element)
    csr, total = Csr(a, element), Cell()
    offsets = DeviceArray(np.zeros(13, np.int32))
    with legacy("mat_descr") as descr:
        shape = (handle, Direction.ROW, 24, 30, descr)
        size = call("csr2gebsr_buffer_size", element, *shape, *csr.arrays, 2, 3)
        buffer = workspace(size)
        pattern = (csr.offsets, csr.indices, descr, offsets, 2, 3, total, buffer)
        cusparse.xcsr2gebsr_nnz(*shape, *pattern)
        assert total.value == len(a.tobsr((2, 3)).indices)
        values = DeviceArray(zeros(total.value * 6, element))
        arrays = (values, offsets, DeviceArray(np.zeros(total.value, np.int32)))
        call("csr2gebsr", element, *shape, *csr.arrays, descr, *arrays, 2, 3, buffer)
        back = Csr.empty(24, 30, total.value * 6, element)
        shape = (handle, Direction.ROW, 12, 10, descr)
        call("gebsr2csr", element, *shape, *arrays, 2, 3, descr, *back.arrays)
    assert np.array_equal(back.get().toarray(), a.toarray())
