"""Solvers of square and triangular systems, as classes of methods on the same matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._solver_properties import (
    Shape,
    SolverOptions,
    WithB,
    WithInfo,
)

__all__ = ["CholeskySolver", "LUPivotSolver", "LUSolver", "TransposeMode", "TriangularSolver"]

TransposeMode = Literal["non_transposed", "transposed", "conj_transposed"]


class CholeskySolver(WithInfo):
    """Cholesky factorization of Hermitian positive definite matrices, and solution with it.

    Parameters
    ----------
    size : sequence of int
        ``(n, n, k)`` for n equations with k right-hand sides, or ``(n,)`` for one.
    precision, execution, fill_mode, **options
        As `Solver` says.

    Raises
    ------
    ValueError
        An argument is not allowed, or A is not square.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> cholesky = device.CholeskySolver((16, 16, 3), np.float32, "Block", "lower", sm=90)
    >>> cholesky.a_shape, cholesky.a_strides(), cholesky.b_size(ldb=17)
    ((1, 16, 16), (256, 1, 16), 51)
    """

    _METHODS = (("factorize", "potrf"), ("solve", "potrs"))
    _MORE = WithInfo._MORE | {"fill_mode"}

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        fill_mode: Literal["upper", "lower"],
        **options: Unpack[SolverOptions],
    ) -> None:
        super().__init__(size, precision, execution, {**options, "fill_mode": fill_mode})
        if self.m != self.n:
            msg = f"size is {tuple(size)}; a Cholesky factorization needs a square matrix, m = n"
            raise ValueError(msg)

    @property
    def fill_mode(self) -> str:
        """Triangle of A that is used."""
        return str(self._source.fill_mode)

    def factorize(self, a: Any, info: Any, lda: int | None = None) -> None:
        """Replace A by its factor, inside a kernel.

        Parameters
        ----------
        a : array
            The matrix A; then L or U.
        info : array
            For each problem 0, or i if the leading minor of order i is not positive.
        lda : int, optional
            Leading dimension. Default: the one that is compiled in.
        """
        del a, info, lda
        only_in_kernels("CholeskySolver.factorize")

    def solve(self, a: Any, b: Any, lda: int | None = None, ldb: int | None = None) -> None:
        """Replace B by the solution, inside a kernel.

        Parameters
        ----------
        a : array
            The factor, as `factorize` left it.
        b : array
            Right-hand sides; then the solutions.
        lda, ldb : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, b, lda, ldb
        only_in_kernels("CholeskySolver.solve")


class _LU(WithInfo):
    """What solvers by LU factorization have in common."""

    _MORE = WithInfo._MORE | {"transpose_mode"}

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        *,
        transpose_mode: TransposeMode = "non_transposed",
        **options: Unpack[SolverOptions],
    ) -> None:
        of_methods: dict[str, dict[str, str]] = {
            "factorize": {"transpose_mode": "non_transposed"},
            "solve": {"transpose_mode": transpose_mode},
        }
        super().__init__(size, precision, execution, options, of_methods)
        self._transpose_mode = transpose_mode
        if self.m == self.n:
            self._solver("solve", dict(self._METHODS)["solve"])  # says what is not allowed

    @property
    def transpose_mode(self) -> str:
        """How `solve` uses A."""
        return self._transpose_mode


class LUSolver(_LU):
    """LU factorization without pivoting, and solution with it.

    It is for matrices that need no pivoting, such as diagonally dominant ones.

    Parameters
    ----------
    size : sequence of int
        ``(m, n, k)`` for k right-hand sides. Only square systems can be solved.
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
    >>> lu = device.LUSolver((8, 8, 2), np.float64, "Block", sm=90)
    >>> lu.b_shape, lu.info_shape
    ((1, 8, 2), (1,))
    """

    _METHODS = (("factorize", "getrf_no_pivot"), ("solve", "getrs_no_pivot"))

    def factorize(self, a: Any, info: Any, lda: int | None = None) -> None:
        """Replace A by its factors, inside a kernel.

        Parameters
        ----------
        a : array
            The matrix A; then U, and below its diagonal L without its diagonal of ones.
        info : array
            For each problem 0, or i if the i-th number on the diagonal of U is 0.
        lda : int, optional
            Leading dimension. Default: the one that is compiled in.
        """
        del a, info, lda
        only_in_kernels("LUSolver.factorize")

    def solve(self, a: Any, b: Any, lda: int | None = None, ldb: int | None = None) -> None:
        """Replace B by the solution, inside a kernel.

        Parameters
        ----------
        a : array
            The factors, as `factorize` left them.
        b : array
            Right-hand sides; then the solutions.
        lda, ldb : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, b, lda, ldb
        only_in_kernels("LUSolver.solve")


class LUPivotSolver(_LU):
    """LU factorization with partial pivoting, and solution with it.

    Parameters
    ----------
    size : sequence of int
        ``(m, n, k)`` for k right-hand sides. Only square systems can be solved.
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
    >>> lu = device.LUPivotSolver((8, 8, 2), np.float64, "Block", sm=90)
    >>> lu.ipiv_shape, lu.ipiv_size
    ((1, 8), 8)
    """

    _METHODS = (("factorize", "getrf_partial_pivot"), ("solve", "getrs_partial_pivot"))
    _MORE = _LU._MORE | {"ipiv_type", "ipiv_shape", "ipiv_strides", "ipiv_size"}

    @property
    def ipiv_type(self) -> Any:
        """Type of the indices of pivots."""
        return self._source.ipiv_type

    @property
    def ipiv_shape(self) -> tuple[int, int]:
        """Problems of a block, and pivots of each."""
        return (self.batches_per_block, min(self.m, self.n))

    @property
    def ipiv_strides(self) -> tuple[int, int]:
        """Strides of the indices of pivots, in elements."""
        return (self.ipiv_shape[1], 1)

    @property
    def ipiv_size(self) -> int:
        """How many indices of pivots there are."""
        return self.ipiv_shape[0] * self.ipiv_shape[1]

    def factorize(self, a: Any, ipiv: Any, info: Any, lda: int | None = None) -> None:
        """Replace A by its factors, inside a kernel.

        Parameters
        ----------
        a : array
            The matrix A; then U, and below its diagonal L without its diagonal of ones.
        ipiv : array
            Row i was exchanged with row ``ipiv[i] - 1``.
        info : array
            For each problem 0, or i if the i-th number on the diagonal of U is 0.
        lda : int, optional
            Leading dimension. Default: the one that is compiled in.
        """
        del a, ipiv, info, lda
        only_in_kernels("LUPivotSolver.factorize")

    def solve(
        self, a: Any, ipiv: Any, b: Any, lda: int | None = None, ldb: int | None = None
    ) -> None:
        """Replace B by the solution, inside a kernel.

        Parameters
        ----------
        a, ipiv : array
            The factors and pivots, as `factorize` left them.
        b : array
            Right-hand sides; then the solutions.
        lda, ldb : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, ipiv, b, lda, ldb
        only_in_kernels("LUPivotSolver.solve")


class TriangularSolver(WithB):
    """Solution of op(A) X = B, or of X op(A) = B, for triangular matrices A.

    Parameters
    ----------
    size : sequence of int
        Rows and columns of B.
    precision, execution, side, fill_mode, diag, transpose_mode, **options
        As `Solver` says.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> triangular = device.TriangularSolver(
    ...     (8, 3), np.float32, "Block", "right", "lower", "unit", sm=90
    ... )
    >>> triangular.a_shape, triangular.b_shape
    ((1, 3, 3), (1, 8, 3))
    """

    _METHODS = (("solve", "trsm"),)
    _MORE = WithB._MORE | {"side", "fill_mode", "diag", "transpose_mode"}

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        side: Literal["left", "right"],
        fill_mode: Literal["upper", "lower"],
        diag: Literal["unit", "non_unit"],
        transpose_mode: TransposeMode = "non_transposed",
        **options: Unpack[SolverOptions],
    ) -> None:
        own = {
            "side": side,
            "fill_mode": fill_mode,
            "diag": diag,
            "transpose_mode": transpose_mode,
        }
        super().__init__(size, precision, execution, {**options, **own})

    @property
    def side(self) -> str:
        """Side of A in the product."""
        return str(self._source.side)

    @property
    def fill_mode(self) -> str:
        """Triangle of A that is used."""
        return str(self._source.fill_mode)

    @property
    def diag(self) -> str:
        """Whether the diagonal of A is all ones."""
        return str(self._source.diag)

    @property
    def transpose_mode(self) -> str:
        """How A is used."""
        return str(self._source.transpose_mode)

    @property
    def a_shape(self) -> Shape:
        """Problems of a block, rows and columns of A."""
        order = self.m if self.side == "left" else self.n
        return (self.batches_per_block, order, order)

    @property
    def b_shape(self) -> Shape:
        """Problems of a block, rows and columns of B."""
        return (self.batches_per_block, self.m, self.n)

    def solve(self, a: Any, b: Any, lda: int | None = None, ldb: int | None = None) -> None:
        """Replace B by the solution, inside a kernel.

        Parameters
        ----------
        a : array
            The triangular matrix A.
        b : array
            Right-hand sides; then the solutions.
        lda, ldb : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, b, lda, ldb
        only_in_kernels("TriangularSolver.solve")
