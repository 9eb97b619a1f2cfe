"""What a matrix product is made of: types, arrangements, leading dimensions, shared memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpumath.device._arguments import as_count
from gpumath.device._types import Complex, SmallFloat

__all__ = [
    "MAX_ALIGNMENT",
    "Alignment",
    "Arrangement",
    "LeadingDimension",
    "Precision",
    "SharedStorageCalc",
    "TransposeMode",
    "element_size",
]


class Precision(NamedTuple):
    """Types of the numbers of the matrices of ``c = alpha * a @ b + beta * c``.

    Attributes
    ----------
    a, b, c : type or SmallFloat
        A type of NumPy, or one such as ``device.bfloat16``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> device.Precision(np.float16, np.float16, np.float32).c.__name__
    'float32'
    """

    a: Any
    b: Any
    c: Any


class Arrangement(NamedTuple):
    """Whether the columns or the rows of each matrix are contiguous.

    Attributes
    ----------
    a, b, c : {'col_major', 'row_major'}
        Arrangement of each matrix.

    Examples
    --------
    >>> from gpumath import device
    >>> device.Arrangement("row_major", "row_major", "row_major").a
    'row_major'
    """

    a: str
    b: str
    c: str


class TransposeMode(NamedTuple):
    """Whether the matrices are transposed; the older way to say what `Arrangement` says.

    Attributes
    ----------
    a, b : {'non_transposed', 'transposed', 'conj_transposed'}
        What is done to each matrix before the product.

    Examples
    --------
    >>> from gpumath import device
    >>> device.TransposeMode("non_transposed", "transposed").b
    'transposed'
    """

    a: str
    b: str


class LeadingDimension(NamedTuple):
    """Distances, in elements, of the columns of each matrix, or of its rows.

    Attributes
    ----------
    a, b, c : int
        Leading dimension of each matrix.

    Examples
    --------
    >>> from gpumath import device
    >>> device.LeadingDimension(32, 33, 32).b
    33
    """

    a: int
    b: int
    c: int


class Alignment(NamedTuple):
    """What the addresses of the matrices are multiples of, in bytes.

    Attributes
    ----------
    a, b, c : int
        Alignment of each matrix: a power of two from the size of its elements up to 16.

    Examples
    --------
    >>> from gpumath import device
    >>> device.Alignment(16, 16, 16).a
    16
    """

    a: int
    b: int
    c: int


MAX_ALIGNMENT = Alignment(16, 16, 16)
"""The largest alignment of each matrix."""


class SharedStorageCalc:
    """Adds up the shared memory of several matrices, each aligned.

    Examples
    --------
    >>> from gpumath import device
    >>> calculator = device.SharedStorageCalc()
    >>> calculator.add(16, 4, 25)  # 25 elements of 4 bytes
    0
    >>> calculator.add(16, 200)
    112
    >>> calculator.get()
    312
    """

    def __init__(self) -> None:
        self._size = 0

    def add(self, alignment: int, size: int, elements: Any = None) -> int:
        """Add a matrix.

        Parameters
        ----------
        alignment : int
            What its address is a multiple of, in bytes.
        size : int
            Bytes of the matrix, or with ``elements`` of an element.
        elements : int or Layout, optional
            Number of its elements.

        Returns
        -------
        int
            Where it begins, in bytes, as `shared_array` takes it.

        Raises
        ------
        ValueError
            A number is not positive.
        """
        alignment, size = as_count("alignment", alignment), as_count("size", size)
        if elements is not None:
            size *= as_count("elements", getattr(elements, "cosize", elements))
        offset = -(-self._size // alignment) * alignment
        self._size = offset + size
        return offset

    def get(self) -> int:
        """Return the bytes of all matrices."""
        return self._size


def element_size(value_type: Any) -> int:
    """Return the bytes of an element, whose type is a trait of a descriptor."""
    if isinstance(value_type, Complex):
        return 2 * element_size(value_type.real_dtype)
    dtype = value_type.dtype if isinstance(value_type, SmallFloat) else np.dtype(value_type)
    return int(dtype.itemsize)
