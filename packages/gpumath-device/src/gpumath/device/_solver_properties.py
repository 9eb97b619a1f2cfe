"""What the classes of solvers have in common: shapes, strides and sizes of their matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np

from gpumath.device._architecture import ComputeCapability, Dim3
from gpumath.device._arguments import as_count
from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._solver import Solver
from gpumath.device._solver_functions import LEADING_DIMENSIONS

__all__ = [
    "CommonOptions",
    "Composed",
    "Shape",
    "SolverOptions",
    "WithB",
    "WithC",
    "WithInfo",
    "WithTau",
]

Shape = tuple[int, int, int]


class CommonOptions(TypedDict, total=False):
    """Arguments that all classes of solvers take, as `Solver` says."""

    sm: ComputeCapability | int | None
    batches_per_block: int | Literal["suggested"] | None
    data_type: Literal["real", "complex"] | None
    block_dim: Sequence[int] | Literal["suggested"] | None


class SolverOptions(CommonOptions, total=False):
    """Arguments that all classes with two matrices take, as `Solver` says."""

    arrangement: Sequence[str] | None
    leading_dimensions: Sequence[int] | None


class Composed:
    """A class whose methods are functions of cuSOLVERDx on the same matrices.

    ``_METHODS`` has their names. The first one decides the threads of a block, so that all methods
    compute with the same.
    """

    _METHODS: ClassVar[tuple[tuple[str, str], ...]]
    # What kernels may read beside what all classes have.
    _MORE: ClassVar[frozenset[str]] = frozenset()
    _MATRICES: ClassVar[tuple[str, ...]] = ("a",)

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        options: Mapping[str, Any],
        of_methods: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._arguments = {"size": size, "precision": precision, "execution": execution, **options}
        self._of_methods = of_methods or {}
        self._source = self._solver(*self._METHODS[0])

    def _solver(self, method: str, function: str, **shared: Any) -> Solver:
        arguments = {**self._arguments, **self._of_methods.get(method, {}), **shared}
        return Solver(function, **arguments)

    @cached_property
    def _solvers(self) -> dict[str, Solver]:
        """The solver of each method."""
        shared = {"batches_per_block": self.batches_per_block, "block_dim": self.block_dim}
        return {name: self._solver(name, function, **shared) for name, function in self._METHODS}

    def _parameters(self, method: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the parameters of a method: the arrays, and the leading dimensions."""
        arrays = self._solvers[method].arguments
        return arrays, tuple(LEADING_DIMENSIONS[name] for name in arrays if name in "abc")

    @property
    def size(self) -> Shape:
        """Numbers m, n and k."""
        return self._source.size

    @property
    def m(self) -> int:
        """First number of the size."""
        return self._source.m

    @property
    def n(self) -> int:
        """Second number of the size."""
        return self._source.n

    @property
    def k(self) -> int:
        """Third number of the size."""
        return self._source.k

    @property
    def precision(self) -> Any:
        """Type of real and imaginary parts."""
        return self._source.precision

    @property
    def execution(self) -> str:
        """``'Block'``."""
        return self._source.execution

    @property
    def sm(self) -> ComputeCapability:
        """GPUs that the code is compiled for."""
        return self._source.sm

    @property
    def arrangement(self) -> tuple[str, str]:
        """Order of A, and of B or C."""
        return self._source.arrangement

    @property
    def a_arrangement(self) -> str:
        """Order of A."""
        return self._source.a_arrangement

    @property
    def b_arrangement(self) -> str:
        """Order of B or C."""
        return self._source.b_arrangement

    @property
    def batches_per_block(self) -> int:
        """How many problems a block computes at once."""
        return self._source.batches_per_block

    @property
    def data_type(self) -> str:
        """``'real'`` or ``'complex'``."""
        return self._source.data_type

    @property
    def leading_dimensions(self) -> tuple[int, int]:
        """Leading dimensions of A, and of B or C; 0 where there is no such matrix."""
        return self._source.leading_dimensions

    @property
    def lda(self) -> int:
        """Leading dimension of A."""
        return self._source.lda

    @property
    def ldb(self) -> int:
        """Leading dimension of B or C."""
        return self._source.ldb

    @property
    def block_dim(self) -> Dim3:
        """Threads of a block."""
        return self._source.block_dim

    @property
    def block_size(self) -> int:
        """How many threads a block has."""
        return self._source.block_size

    @property
    def value_type(self) -> Any:
        """Type of the elements of matrices."""
        return self._source.value_type

    @property
    def a_shape(self) -> Shape:
        """Problems of a block, rows and columns of A."""
        return (self.batches_per_block, self.m, self.n)

    def a_strides(self, *, lda: int | None = None) -> Shape:
        """Return the distances, in elements, of problems, rows and columns of A."""
        return self._strides("a", lda)

    def a_size(self, *, lda: int | None = None) -> int:
        """Return how many elements the memory of A has."""
        return self._size("a", lda)

    def _layout(self, matrix: str) -> tuple[Shape, str, int]:
        """Return the shape, the order and the leading dimension of a matrix in memory."""
        if matrix == "a":
            return self.a_shape, self.a_arrangement, self.lda
        return getattr(self, f"{matrix}_shape"), self.b_arrangement, self.ldb

    def _strides(self, matrix: str, leading_dimension: int | None) -> Shape:
        (_, rows, columns), order, compiled_in = self._layout(matrix)
        distance = compiled_in
        if leading_dimension is not None:
            name, least = f"ld{matrix[0]}", rows if order == "col_major" else columns
            distance = as_count(name, leading_dimension)
            if distance < least:
                msg = f"{name} is {distance}; at least {least} is needed"
                raise ValueError(msg)
        if order == "col_major":
            return (distance * columns, 1, distance)
        return (distance * rows, distance, 1)

    def _size(self, matrix: str, leading_dimension: int | None) -> int:
        return self.batches_per_block * self._strides(matrix, leading_dimension)[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._solvers.values()))})"

    @property
    def _key(self) -> tuple[object, ...]:
        return tuple(solver._key for solver in self._solvers.values())

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)

    @property
    def _constants(self) -> frozenset[str]:
        common = {
            *("size", "m", "n", "k", "precision", "execution", "sm", "arrangement", "value_type"),
            *("a_arrangement", "b_arrangement", "batches_per_block", "data_type", "lda", "ldb"),
            *("leading_dimensions", "block_dim", "block_size", "a_shape"),
        }
        return frozenset(common) | self._MORE


class WithB(Composed):
    """Solvers of systems with right-hand sides B, which the solutions replace."""

    _MATRICES = ("a", "b")
    _MORE = frozenset({"b_shape"})

    @property
    def b_shape(self) -> Shape:
        """Problems of a block, rows and columns of B."""
        return (self.batches_per_block, self.n, self.k)

    def b_strides(self, *, ldb: int | None = None) -> Shape:
        """Return the distances, in elements, of problems, rows and columns of B."""
        return self._strides("b", ldb)

    def b_size(self, *, ldb: int | None = None) -> int:
        """Return how many elements the memory of B has."""
        return self._size("b", ldb)


class WithInfo(WithB):
    """Solvers that say for each problem whether it was solved."""

    _MORE = WithB._MORE | {"info_type", "info_shape", "info_strides"}

    @property
    def info_type(self) -> type[np.int32]:
        """Type of the elements of info."""
        return np.int32

    @property
    def info_shape(self) -> tuple[int]:
        """Shape of info: one number for each problem of a block."""
        return (self.batches_per_block,)

    @property
    def info_strides(self) -> tuple[int]:
        """Strides of info, in elements."""
        return (1,)


class WithTau(Composed):
    """Classes that make or use Householder reflections."""

    _MORE = frozenset({"tau_type", "tau_shape", "tau_strides", "tau_size"})

    @property
    def tau_type(self) -> Any:
        """Type of the factors of Householder reflections."""
        return self.value_type

    @property
    def tau_shape(self) -> tuple[int, int]:
        """Problems of a block, and reflections of each."""
        return (self.batches_per_block, min(self.m, self.n))

    @property
    def tau_strides(self) -> tuple[int, int]:
        """Strides of tau, in elements."""
        return (self.tau_shape[1], 1)

    @property
    def tau_size(self) -> int:
        """How many elements tau has."""
        return prod(self.tau_shape)


class WithC(WithTau):
    """Classes that multiply a matrix C by Q, in place."""

    _MATRICES = ("a", "c")
    _MORE = WithTau._MORE | {"c_shape", "side", "transpose_mode"}

    @property
    def side(self) -> str:
        """Side of Q in the product."""
        return str(self._source.side)

    @property
    def transpose_mode(self) -> str:
        """How Q is used."""
        return str(self._source.transpose_mode)

    @property
    def tau_shape(self) -> tuple[int, int]:
        """Problems of a block, and reflections of each."""
        return (self.batches_per_block, self.k)

    @property
    def c_shape(self) -> Shape:
        """Problems of a block, rows and columns of C."""
        return (self.batches_per_block, self.m, self.n)

    def c_strides(self, *, ldc: int | None = None) -> Shape:
        """Return the distances, in elements, of problems, rows and columns of C."""
        return self._strides("c", ldc)

    def c_size(self, *, ldc: int | None = None) -> int:
        """Return how many elements the memory of C has."""
        return self._size("c", ldc)

    def multiply(
        self, a: Any, tau: Any, c: Any, lda: int | None = None, ldc: int | None = None
    ) -> None:
        """Multiply C by Q, in place, inside a kernel.

        Parameters
        ----------
        a, tau : array
            Householder reflections, as the factorization left them.
        c : array
            The matrix C.
        lda, ldc : int, optional
            Leading dimensions, both or none. Default: those that are compiled in.
        """
        del a, tau, c, lda, ldc
        only_in_kernels(f"{type(self).__name__}.multiply")
