"""QR and LQ factorizations, products with their Q, and least squares, as classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._solver_classes import TransposeMode
from gpumath.device._solver_properties import (
    CommonOptions,
    Shape,
    SolverOptions,
    WithC,
    WithTau,
)

__all__ = ["LQFactorize", "LQMultiply", "LeastSquaresSolver", "QRFactorize", "QRMultiply"]


class _Factorize(WithTau):
    """What QR and LQ factorizations have in common."""

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        *,
        arrangement: Literal["col_major", "row_major"] | None = None,
        leading_dimension: int | None = None,
        **options: Unpack[CommonOptions],
    ) -> None:
        of_a = {"arrangement": arrangement, "leading_dimensions": leading_dimension}
        given = {name: (value,) for name, value in of_a.items() if value is not None}
        super().__init__(size, precision, execution, {**options, **given})

    def factorize(self, a: Any, tau: Any, lda: int | None = None) -> None:
        """Replace A by its factors, inside a kernel.

        Parameters
        ----------
        a : array
            The matrix A; then the triangular factor, and beyond its diagonal the vectors of the
            Householder reflections.
        tau : array
            The factors of the reflections.
        lda : int, optional
            Leading dimension. Default: the one that is compiled in.
        """
        del a, tau, lda
        only_in_kernels(f"{type(self).__name__}.factorize")


class QRFactorize(_Factorize):
    """QR factorization, with Q as Householder reflections.

    Parameters
    ----------
    size : sequence of int
        Rows and columns of A.
    precision, execution, arrangement, leading_dimension, **options
        As `Solver` says, of A alone.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> qr = device.QRFactorize((8, 5), np.float32, "Block", arrangement="row_major", sm=90)
    >>> qr.a_strides(), qr.tau_shape
    ((40, 5, 1), (1, 5))
    """

    _METHODS = (("factorize", "geqrf"),)


class LQFactorize(_Factorize):
    """LQ factorization, with Q as Householder reflections.

    Parameters
    ----------
    size : sequence of int
        Rows and columns of A.
    precision, execution, arrangement, leading_dimension, **options
        As `Solver` says, of A alone.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> lq = device.LQFactorize((5, 8), np.float32, "Block", sm=90)
    >>> lq.tau_size, lq.lda
    (5, 5)
    """

    _METHODS = (("factorize", "gelqf"),)


class _Multiply(WithC):
    """What multiplications by Q have in common."""

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        side: Literal["left", "right"],
        *,
        transpose_mode: TransposeMode = "non_transposed",
        **options: Unpack[SolverOptions],
    ) -> None:
        own = {"side": side, "transpose_mode": transpose_mode}
        super().__init__(size, precision, execution, {**options, **own})


class QRMultiply(_Multiply):
    """Product of a matrix C and the Q of a QR factorization.

    Parameters
    ----------
    size : sequence of int
        Rows and columns of C, and number of reflections.
    precision, execution, side, transpose_mode, **options
        As `Solver` says.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> multiply = device.QRMultiply((8, 3, 5), np.float32, "Block", "left", sm=90)
    >>> multiply.a_shape, multiply.c_shape, multiply.tau_shape
    ((1, 8, 5), (1, 8, 3), (1, 5))
    """

    _METHODS = (("multiply", "unmqr"),)

    @property
    def a_shape(self) -> Shape:
        """Problems of a block, rows and columns of A."""
        return (self.batches_per_block, self.m if self.side == "left" else self.n, self.k)


class LQMultiply(_Multiply):
    """Product of a matrix C and the Q of an LQ factorization.

    Parameters
    ----------
    size : sequence of int
        Rows and columns of C, and number of reflections.
    precision, execution, side, transpose_mode, **options
        As `Solver` says.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> multiply = device.LQMultiply((8, 3, 2), np.float32, "Block", "right", sm=90)
    >>> multiply.a_shape, multiply.c_strides()
    ((1, 2, 3), (24, 1, 8))
    """

    _METHODS = (("multiply", "unmlq"),)

    @property
    def a_shape(self) -> Shape:
        """Problems of a block, rows and columns of A."""
        return (self.batches_per_block, self.k, self.m if self.side == "left" else self.n)


class LeastSquaresSolver(WithTau):
    """Least squares solution of overdetermined systems, or shortest of underdetermined ones.

    Parameters
    ----------
    size : sequence of int
        ``(m, n, k)``: rows and columns of A, and right-hand sides.
    precision, execution, transpose_mode, **options
        As `Solver` says.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> least = device.LeastSquaresSolver((8, 5, 2), np.float64, "Block", sm=90)
    >>> least.b_shape, least.x_shape, least.bx_strides(), least.bx_size()
    ((1, 8, 2), (1, 5, 2), (16, 1, 8), 16)
    """

    _METHODS = (("solve", "gels"),)
    _MATRICES = ("a", "bx")
    _MORE = WithTau._MORE | {"transpose_mode", "b_shape", "x_shape"}

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        *,
        transpose_mode: TransposeMode = "non_transposed",
        **options: Unpack[SolverOptions],
    ) -> None:
        own = {"transpose_mode": transpose_mode}
        super().__init__(size, precision, execution, {**options, **own})

    @property
    def transpose_mode(self) -> str:
        """How A is used."""
        return str(self._source.transpose_mode)

    @property
    def _is_transposed(self) -> bool:
        return self.transpose_mode != "non_transposed"

    @property
    def b_shape(self) -> Shape:
        """Problems of a block, rows and columns of B."""
        return (self.batches_per_block, self.n if self._is_transposed else self.m, self.k)

    @property
    def x_shape(self) -> Shape:
        """Problems of a block, rows and columns of the solution."""
        return (self.batches_per_block, self.m if self._is_transposed else self.n, self.k)

    @property
    def _bx_shape(self) -> Shape:
        return (self.batches_per_block, max(self.m, self.n), self.k)

    def _layout(self, matrix: str) -> tuple[Shape, str, int]:
        if matrix == "bx":
            return self._bx_shape, self.b_arrangement, self.ldb
        return super()._layout(matrix)

    def bx_strides(self, *, ldb: int | None = None) -> Shape:
        """Return the distances, in elements, of problems, rows and columns of B."""
        return self._strides("bx", ldb)

    def bx_size(self, *, ldb: int | None = None) -> int:
        """Return how many elements the memory of B and the solution has."""
        return self._size("bx", ldb)

    def solve(
        self, a: Any, tau: Any, b: Any, lda: int | None = None, ldb: int | None = None
    ) -> None:
        """Replace B by the solution, inside a kernel.

        Parameters
        ----------
        a : array
            The matrix A; then its QR or LQ factorization.
        tau : array
            The factors of the Householder reflections.
        b : array
            Right-hand sides; then the solutions.
        lda, ldb : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, tau, b, lda, ldb
        only_in_kernels("LeastSquaresSolver.solve")
