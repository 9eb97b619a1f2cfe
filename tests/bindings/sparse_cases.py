"""Random sparse matrices, in NumPy and on the device, for the tests of cuSPARSE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpumath.bindings import cusparse
from gpumath.bindings.cusparse import IndexBase, IndexType, Order
from tests.helpers.device_arrays import DeviceArray

N, T, H = cusparse.Operation


@dataclass(frozen=True)
class Element:
    """An element type: its letter in legacy names, its number in C, and its rounding error."""

    letter: str
    dtype: Any
    cuda: int
    eps: float

    @property
    def is_complex(self) -> bool:
        return np.dtype(self.dtype).kind == "c"

    def rounded(self, values: Any) -> np.ndarray:
        """Values of this type, in the nearest type that NumPy computes with."""
        if self.letter == "bfloat16":
            bits = np.asarray(values, np.float32).view(np.uint32)
            return (bits & np.uint32(0xFFFF0000)).view(np.float32)
        rounded = np.asarray(values, self.dtype)
        return rounded.astype(np.float32) if self.letter == "half" else rounded

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Bytes of `rounded` values as the device has them."""
        if self.letter == "bfloat16":
            bits = np.asarray(values, np.float32).view(np.uint32) >> np.uint32(16)
            return bits.astype(np.uint16)
        return np.asarray(values, self.dtype)

    def loaded(self, values: np.ndarray) -> np.ndarray:
        """Values from their bytes on the device."""
        if self.letter == "bfloat16":
            return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return values.astype(np.float32) if self.letter == "half" else values


S = Element("s", np.float32, 0, 2.0**-23)
D = Element("d", np.float64, 1, 2.0**-52)
C = Element("c", np.complex64, 4, 2.0**-23)
Z = Element("z", np.complex128, 5, 2.0**-52)
HALF = Element("half", np.float16, 2, 2.0**-10)
BFLOAT = Element("bfloat16", np.uint16, 14, 2.0**-7)
INT8 = Element("int8", np.int8, 3, 0.0)
INT32 = Element("int32", np.int32, 10, 0.0)

ELEMENTS = pytest.mark.parametrize("element", [S, D, C, Z], ids=lambda element: element.letter)


@pytest.fixture(scope="module")
def handle() -> Iterator[int]:
    """A context."""
    handle = cusparse.create()
    yield handle
    cusparse.destroy(handle)


def random(shape: Any, element: Element = D) -> np.ndarray:
    """Fresh random values that the type holds."""
    rng = np.random.default_rng()
    if np.dtype(element.dtype).kind == "i":
        return rng.integers(-9, 10, shape).astype(element.dtype)
    values = rng.standard_normal(shape)
    return element.rounded(
        values + 1j * rng.standard_normal(shape) if element.is_complex else values
    )


def zeros(shape: Any, element: Element) -> np.ndarray:
    """Zeros as the device stores them."""
    return np.zeros(shape, element.dtype)


def random_csr(rows: int, columns: int, element: Element = D, density: float = 0.1) -> sp.csr_array:
    """Fresh random matrix with sorted 32-bit indices, and an empty row."""
    present = np.random.default_rng().random((rows, columns)) < density
    present[rows // 2] = False
    present[0, 0] = True
    matrix = sp.csr_array(present)
    matrix.sort_indices()
    indices, offsets = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sp.csr_array((random(matrix.nnz, element), indices, offsets), (rows, columns))


def wide(values: Any) -> np.ndarray:
    """Dense copy in double precision."""
    dense = values.toarray() if sp.issparse(values) else np.asarray(values)
    return dense.astype(np.complex128 if dense.dtype.kind == "c" else np.float64)


def applied(matrix: np.ndarray, operation: int) -> np.ndarray:
    """Return a matrix, its transpose or its adjoint."""
    return {N: matrix, T: matrix.T, H: matrix.conj().T}[cusparse.Operation(operation)]


def assert_close(found: Any, expected: Any, magnitude: Any, eps: float, terms: int) -> None:
    """Compare with the rounding error of sums of so many terms of this magnitude in all."""
    error = np.abs(wide(found) - wide(expected))
    assert (error <= 2 * (terms + 4) * eps * wide(magnitude) + 1e-300).all(), error.max()


class Scalar:
    """A number in host memory, whose address C gets."""

    def __init__(self, value: Any, element: Element) -> None:
        self.cell = np.array([value], element.dtype)

    def __index__(self) -> int:
        return int(self.cell.ctypes.data)

    @property
    def value(self) -> Any:
        return self.cell[0]


def scalars(element: Element) -> tuple[Scalar, Scalar]:
    """Fresh alpha and beta."""
    alpha, beta = random(2, element)
    return Scalar(alpha, element), Scalar(beta, element)


class Cell:
    """An integer in host memory that C writes."""

    def __init__(self, dtype: Any = np.int32) -> None:
        self.cell = np.zeros(1, dtype)

    def __index__(self) -> int:
        return int(self.cell.ctypes.data)

    @property
    def value(self) -> int:
        return int(self.cell[0])


class Csr:
    """The three arrays of a CSR matrix on the device."""

    def __init__(self, matrix: sp.csr_array, element: Element = D) -> None:
        self.matrix = matrix
        self.rows, self.columns = matrix.shape
        self.nonzeros = int(matrix.nnz)
        self.values = DeviceArray(element.stored(matrix.data))
        self.offsets = DeviceArray(matrix.indptr.astype(np.int32))
        self.indices = DeviceArray(matrix.indices.astype(np.int32))

    @classmethod
    def empty(cls, rows: int, columns: int, nonzeros: int, element: Element = D) -> Csr:
        """Room for a matrix of so many nonzeros."""
        found = cls.__new__(cls)
        found.rows, found.columns, found.nonzeros = rows, columns, nonzeros
        found.values = DeviceArray(np.zeros(nonzeros, element.dtype))
        found.offsets = DeviceArray(np.zeros(rows + 1, np.int32))
        found.indices = DeviceArray(np.zeros(nonzeros, np.int32))
        return found

    @property
    def arrays(self) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Values, offsets and indices, as the legacy functions take them."""
        return self.values, self.offsets, self.indices

    def get(self) -> sp.csr_array:
        """The matrix that is on the device now."""
        arrays = self.values.get(), self.indices.get(), self.offsets.get()
        return sp.csr_array(arrays, (self.rows, self.columns))


class Descriptor:
    """A generic descriptor with the arrays that it refers to; freed with it."""

    def __init__(self, descriptor: int, kind: str, *arrays: Any) -> None:
        self._descriptor, self._kind, self.arrays = descriptor, kind, arrays

    def __index__(self) -> int:
        return self._descriptor

    def get(self) -> np.ndarray:
        """Values of a vector or a dense matrix."""
        return self.arrays[-1].get()

    def __del__(self) -> None:
        getattr(cusparse, f"destroy_{self._kind}")(self._descriptor)


def vector(values: np.ndarray, element: Element) -> Descriptor:
    memory = DeviceArray(element.stored(values))
    return Descriptor(cusparse.create_dn_vec(len(values), memory, element.cuda), "dn_vec", memory)


def sparse_vector(size: int, indices: np.ndarray, values: np.ndarray, e: Element) -> Descriptor:
    places, memory = DeviceArray(indices.astype(np.int32)), DeviceArray(e.stored(values))
    types = (IndexType.INDEX_32I, IndexBase.ZERO, e.cuda)
    descriptor = cusparse.create_sp_vec(size, len(indices), places, memory, *types)
    return Descriptor(descriptor, "sp_vec", places, memory)


def dense(values: np.ndarray, element: Element, order: Order = Order.COL) -> Descriptor:
    """Describe a dense matrix, stored by columns or by rows."""
    rows, columns = values.shape
    stored = np.array(element.stored(values), order="F" if order == Order.COL else "C")
    memory = DeviceArray(stored)
    leading = rows if order == Order.COL else columns
    descriptor = cusparse.create_dn_mat(rows, columns, leading, memory, element.cuda, order)
    return Descriptor(descriptor, "dn_mat", memory)


def sparse(matrix: sp.csr_array, element: Element, kind: str = "csr") -> Descriptor:
    """Describe a sparse matrix in a format; blocks of `bsr` and `blocked_ell` are 16 by 16."""
    rows, columns = matrix.shape
    index = (IndexType.INDEX_32I, IndexType.INDEX_32I, IndexBase.ZERO, element.cuda)
    if kind in ("csr", "csc", "coo"):
        other = matrix.asformat(kind)
        first = other.row if kind == "coo" else other.indptr
        second = other.col if kind == "coo" else other.indices
        places = DeviceArray(first.astype(np.int32)), DeviceArray(second.astype(np.int32))
        memory = DeviceArray(element.stored(other.data))
        create = getattr(cusparse, f"create_{kind}")
        types = index[1:] if kind == "coo" else index
        descriptor = create(rows, columns, other.nnz, *places, memory, *types)
        return Descriptor(descriptor, "sp_mat", *places, memory)
    if kind == "bsr":
        blocks = matrix.tobsr((16, 16))
        places = (
            DeviceArray(blocks.indptr.astype(np.int32)),
            DeviceArray(blocks.indices.astype(np.int32)),
        )
        memory = DeviceArray(element.stored(blocks.data))
        shape = (rows // 16, columns // 16, len(blocks.indices), 16, 16)
        descriptor = cusparse.create_bsr(*shape, *places, memory, *index, Order.ROW)
        return Descriptor(descriptor, "sp_mat", *places, memory)
    if kind == "sliced_ell":
        return _sliced_ell(matrix, element)
    assert kind == "blocked_ell"
    # All blocks are there, and every value is 0 until a dense matrix is converted.
    blocks_of_rows = np.tile(np.arange(columns // 16, dtype=np.int32), (rows // 16, 1))
    block_columns, values = (
        DeviceArray(blocks_of_rows),
        DeviceArray(zeros((rows, columns), element)),
    )
    blocked = (rows, columns, 16, columns, block_columns, values, *index[1:])
    descriptor = cusparse.create_blocked_ell(*blocked)
    return Descriptor(descriptor, "sp_mat", block_columns, values)


def _sliced_ell(matrix: sp.csr_array, element: Element) -> Descriptor:
    """Slices of 8 rows, each as wide as its longest row; by columns; gaps have the index -1."""
    rows, columns = matrix.shape
    offsets, indices, values = [0], [], []
    for start in range(0, rows, 8):
        lengths = np.diff(matrix.indptr)[start : start + 8]
        width = int(lengths.max())
        places = np.full((width, 8), -1, np.int32)
        numbers = np.zeros((width, 8), matrix.dtype)
        for row, length in enumerate(lengths):
            first = matrix.indptr[start + row]
            places[:length, row] = matrix.indices[first : first + length]
            numbers[:length, row] = matrix.data[first : first + length]
        indices.append(places.ravel())
        values.append(numbers.ravel())
        offsets.append(offsets[-1] + width * 8)
    arrays = (
        DeviceArray(np.array(offsets, np.int32)),
        DeviceArray(np.concatenate(indices)),
        DeviceArray(element.stored(np.concatenate(values))),
    )
    types = (IndexType.INDEX_32I, IndexType.INDEX_32I, IndexBase.ZERO, element.cuda)
    shape = (rows, columns, matrix.nnz, offsets[-1], 8)
    return Descriptor(cusparse.create_sliced_ell(*shape, *arrays, *types), "sp_mat", *arrays)


@contextmanager
def legacy(kind: str, *arguments: int) -> Iterator[int]:
    """Create what `create_kind` makes, such as `mat_descr` or `csrilu02_info`, and free it."""
    created = getattr(cusparse, f"create_{kind}")(*arguments)
    try:
        yield created
    finally:
        getattr(cusparse, f"destroy_{kind}")(created)
