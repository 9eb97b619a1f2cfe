"""Factorizations and solvers inside kernels, by cuSOLVERDx: what to compute, and its code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gpumath.bindings import nvrtc
from gpumath.bindings.mathdx import (
    CommondxExecution,
    CusolverdxApi,
    CusolverdxArrangement,
    CusolverdxFunction,
    CusolverdxType,
)
from gpumath.device._architecture import (
    ComputeCapability,
    Dim3,
    as_compute_capability,
)
from gpumath.device._arguments import as_block, as_count, is_suggested, one_of
from gpumath.device._code_cache import cached
from gpumath.device._descriptor import CompiledCode, Descriptor, compiled_execute, explained
from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._solver_functions import (
    FUNCTIONS,
    LEADING_DIMENSIONS,
    OPTIONS,
    as_counts,
    as_pair,
    checked_options,
    default_leading_dimensions,
)
from gpumath.device._types import as_precision, complex64, complex128, mathdx_precision

__all__ = ["Solver"]

_APIS = {
    "compiled_leading_dim": CusolverdxApi.SMEM,
    "runtime_leading_dim": CusolverdxApi.SMEM_DYNAMIC_LD,
}
_DIMENSIONS = ("BLOCK_DIM", "SUGGESTED_BLOCK_DIM")
_COUNTS = ("SUGGESTED_BATCHES_PER_BLOCK", "WORKSPACE_SIZE")
_ARRANGEMENTS = tuple(order.name.lower() for order in CusolverdxArrangement)
# Compilers that may compile gesv_no_pivot wrongly for compute capability 12.0 (NVIDIA's bug
# 5288270), and the header refuses them.
_MISCOMPILING = ((12, 8), (12, 9), (13, 0))


class Solver:
    """A factorization or a solver that the threads of a block compute inside a kernel.

    The object is used in a kernel as it is: its attributes are constants there, and its method
    ``execute`` computes. Nothing has to be linked. Matrices are in shared memory, as the attributes
    ``arrangement`` and ``leading_dimensions`` say.

    Parameters
    ----------
    function : str
        Name of the function, as in LAPACK:

        - Cholesky: ``'potrf'`` (factorize), ``'potrs'`` (solve), ``'posv'`` (both)
        - LU: ``'getrf_no_pivot'``, ``'getrs_no_pivot'``, ``'gesv_no_pivot'``, and
          ``'getrf_partial_pivot'``, ``'getrs_partial_pivot'``, ``'gesv_partial_pivot'``
        - QR and LQ: ``'geqrf'``, ``'gelqf'`` (factorize), ``'unmqr'``, ``'unmlq'`` (multiply by Q),
          ``'ungqr'``, ``'unglq'`` (make Q)
        - ``'gels'`` (least squares), ``'trsm'`` (triangular), ``'gtsv_no_pivot'`` (tridiagonal)
        - eigenvalues: ``'heev'`` (Hermitian), ``'htev'`` (tridiagonal)
    size : sequence of int
        ``(m,)`` for ``(m, m, 1)``, ``(m, n)`` for ``(m, n, 1)``, or ``(m, n, k)``.
    precision : {numpy.float32, numpy.float64}
        Type of real and imaginary parts.
    execution : {'Block'}
        Who computes.
    sm : ComputeCapability or int, optional
        GPUs to compile for, such as ``ComputeCapability(9, 0)`` or 90. Default: the current GPU.
    arrangement : sequence of {'col_major', 'row_major'}, optional
        Order of A, and of B or C. Default: ``'col_major'``.
    transpose_mode : {'non_transposed', 'transposed', 'conj_transposed'}, optional
        How A is used by LU solvers, ``'unmqr'``, ``'unmlq'``, ``'gels'`` and ``'trsm'``. Of real
        numbers ``'transposed'``, of complex ones ``'conj_transposed'``.
    side : {'left', 'right'}, optional
        Side of A or Q in the product: for ``'trsm'``, ``'unmqr'`` and ``'unmlq'``, which need it.
    diag : {'unit', 'non_unit'}, optional
        Whether the diagonal of A is all ones: for ``'trsm'``, which needs it.
    fill_mode : {'upper', 'lower'}, optional
        Triangle of A: for Cholesky functions, ``'trsm'`` and ``'heev'``, which need it.
    batches_per_block : int or 'suggested', optional
        How many problems a block computes at once. Default: 1.
    data_type : {'real', 'complex'}, optional
        Default: ``'real'``.
    leading_dimensions : sequence of int, optional
        Of A, and of B or C. Default: without gaps.
    block_dim : sequence of int or 'suggested', optional
        Threads of a block in one to three directions. Default: cuSOLVERDx's.
    job : str, optional
        Eigenvectors of ``'heev'`` (``'no_vectors'``, ``'overwrite_vectors'``) and ``'htev'``
        (``'no_vectors'``, ``'all_vectors'``, ``'multiply_vectors'``), which need it.

    Raises
    ------
    ValueError
        An argument is not allowed, or cuSOLVERDx does not support the combination.
    gpumath.bindings.errors.LibraryNotFoundError
        libmathdx or NVRTC is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> cholesky = device.Solver("potrf", (32,), np.float64, "Block", fill_mode="lower", sm=90)
    >>> cholesky.size, cholesky.lda, cholesky.arguments
    ((32, 32, 1), 32, ('a', 'info'))
    """

    def __init__(
        self,
        function: str,
        size: Sequence[int],
        precision: Any,
        execution: Literal["Block"],
        *,
        sm: ComputeCapability | int | None = None,
        arrangement: Sequence[str] | None = None,
        transpose_mode: str | None = None,
        side: str | None = None,
        diag: str | None = None,
        fill_mode: str | None = None,
        batches_per_block: int | Literal["suggested"] | None = None,
        data_type: Literal["real", "complex"] | None = None,
        leading_dimensions: Sequence[int] | None = None,
        block_dim: Sequence[int] | Literal["suggested"] | None = None,
        job: str | None = None,
    ) -> None:
        self._sm = as_compute_capability(sm)
        self._function: str = one_of("function", function, tuple(FUNCTIONS))
        sizes = as_counts("size", size, 3)
        self._size = (sizes[0], sizes[min(1, len(sizes) - 1)], sizes[2] if len(sizes) > 2 else 1)
        self._precision = as_precision(precision, "precision", [np.float32, np.float64])
        self._execution = one_of("execution", execution, ("Block",))
        self._data_type = one_of("data_type", data_type or "real", ("real", "complex"))
        self._options = checked_options(
            function,
            transpose_mode=transpose_mode,
            side=side,
            diag=diag,
            fill_mode=fill_mode,
            job=job,
        )
        unused = "conj_transposed" if self._data_type == "real" else "transposed"
        if transpose_mode == unused:
            msg = (
                f"transpose_mode is {unused!r}, which cuSOLVERDx does not have for "
                f"{self._data_type} numbers; 'non_transposed' or the other one is needed"
            )
            raise ValueError(msg)
        self._arrangement: tuple[str, str] = as_pair("arrangement", arrangement, ("col_major",) * 2)
        for order in self._arrangement:
            one_of("arrangement", order, _ARRANGEMENTS)
        default = default_leading_dimensions(self._function, self._size, self._arrangement, side)
        self._leading_dimensions = as_pair("leading_dimensions", leading_dimensions, default)
        self._check_leading_dimensions(default)
        self._check_compiler()
        self._batches_per_block = 1
        self._block_dim: Dim3 | None = None
        if batches_per_block is not None and not is_suggested(batches_per_block):
            self._batches_per_block = as_count("batches_per_block", batches_per_block)
        if isinstance(block_dim, str):
            one_of("block_dim", block_dim, ("suggested",))
        elif block_dim is not None:
            self._block_dim = as_block(as_counts("block_dim", block_dim, 3))
        if is_suggested(batches_per_block):
            self._batches_per_block = self._traits()["SUGGESTED_BATCHES_PER_BLOCK"][0]
        if is_suggested(block_dim):
            self._block_dim = Dim3(*self._traits()["SUGGESTED_BLOCK_DIM"])

    def _check_leading_dimensions(self, least: tuple[int, int]) -> None:
        for name, given, needed in zip(
            ("lda", "ldb"), self._leading_dimensions, least, strict=True
        ):
            if needed and as_count(name, given) < needed:
                msg = f"leading_dimensions has {name}={given}; at least {needed} is needed"
                raise ValueError(msg)

    def _check_compiler(self) -> None:
        is_affected = self._function == "gesv_no_pivot" and self._data_type == "real"
        if is_affected and self._sm[:2] == (12, 0) and nvrtc.version() in _MISCOMPILING:
            version = ".".join(map(str, nvrtc.version()))
            msg = (
                f"NVRTC {version} may compile 'gesv_no_pivot' of real numbers wrongly for compute "
                "capability 12.0 (NVIDIA's bug 5288270); update NVRTC, or use 'gesv_partial_pivot'"
            )
            raise ValueError(msg)

    def _operators(self, api: str = "compiled_leading_dim") -> dict[str, Any]:
        operators: dict[str, Any] = {
            "FUNCTION": int(CusolverdxFunction[self._function.upper()]),
            "SIZE": self._size,
            "PRECISION": int(mathdx_precision(self._precision)),
            "EXECUTION": int(CommondxExecution.BLOCK),
            "SM": self._sm.integer,
            "ARRANGEMENT": tuple(int(CusolverdxArrangement[o.upper()]) for o in self._arrangement),
            "TYPE": int(CusolverdxType[self._data_type.upper()]),
            "LEADING_DIMENSION": self._leading_dimensions,
            "BATCHES_PER_BLOCK": self._batches_per_block,
            "API": int(_APIS[api]),
        }
        operators |= {
            name.upper(): int(OPTIONS[name][value.upper()]) for name, value in self._options.items()
        }
        if self._block_dim is not None:
            operators["BLOCK_DIM"] = tuple(self._block_dim)
        return operators

    def _traits(self) -> dict[str, list[int]]:
        """Return what libmathdx says of this solver. It compiles a kernel to answer."""
        operators = self._operators()

        def produce() -> bytes:
            with explained(repr(self)):
                descriptor = Descriptor("cusolverdx", operators)
                traits = {name: descriptor.integers(name, 3) for name in _DIMENSIONS}
                return json.dumps(traits | {n: [descriptor.integer(n)] for n in _COUNTS}).encode()

        key = tuple(sorted(operators.items()))
        traits: dict[str, list[int]] = json.loads(cached("solver traits", key, produce))
        return traits

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        name = np.dtype(self._precision).name
        return (
            f"Solver({self._function!r}, {self._size}, {name}, {self._data_type!r}, sm={self._sm}"
            f"{options})"
        )

    @property
    def function(self) -> str:
        """Name of the function."""
        return self._function

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments of `execute`, with leading dimensions that are compiled in."""
        names = FUNCTIONS[self._function].arguments
        if self._function == "htev" and self._options["job"] == "no_vectors":
            return tuple(name for name in names if name != "v")
        return names

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers m, n and k."""
        return self._size

    @property
    def m(self) -> int:
        """First number of the size."""
        return self._size[0]

    @property
    def n(self) -> int:
        """Second number of the size."""
        return self._size[1]

    @property
    def k(self) -> int:
        """Third number of the size."""
        return self._size[2]

    @property
    def precision(self) -> Any:
        """Type of real and imaginary parts."""
        return self._precision

    @property
    def execution(self) -> str:
        """``'Block'``."""
        return self._execution

    @property
    def sm(self) -> ComputeCapability:
        """GPUs that the code is compiled for."""
        return self._sm

    @property
    def arrangement(self) -> tuple[str, str]:
        """Order of A, and of B or C."""
        return self._arrangement

    @property
    def a_arrangement(self) -> str:
        """Order of A."""
        return self._arrangement[0]

    @property
    def b_arrangement(self) -> str:
        """Order of B or C."""
        return self._arrangement[1]

    @property
    def transpose_mode(self) -> str | None:
        """How A is used, if that was given."""
        return self._options.get("transpose_mode")

    @property
    def side(self) -> str | None:
        """Side of A or Q in the product, if that was given."""
        return self._options.get("side")

    @property
    def diag(self) -> str | None:
        """Whether the diagonal of A is all ones, if that was given."""
        return self._options.get("diag")

    @property
    def fill_mode(self) -> str | None:
        """Triangle of A, if that was given."""
        return self._options.get("fill_mode")

    @property
    def job(self) -> str | None:
        """Which eigenvectors are computed, if that was given."""
        return self._options.get("job")

    @property
    def batches_per_block(self) -> int:
        """How many problems a block computes at once."""
        return self._batches_per_block

    @property
    def data_type(self) -> str:
        """``'real'`` or ``'complex'``."""
        return self._data_type

    @property
    def leading_dimensions(self) -> tuple[int, int]:
        """Leading dimensions of A, and of B or C; 0 where there is no such matrix."""
        return self._leading_dimensions

    @property
    def lda(self) -> int:
        """Leading dimension of A."""
        return self._leading_dimensions[0]

    @property
    def ldb(self) -> int:
        """Leading dimension of B or C."""
        return self._leading_dimensions[1]

    @cached_property
    def block_dim(self) -> Dim3:
        """Threads of a block."""
        return self._block_dim or Dim3(*self._traits()["BLOCK_DIM"])

    @property
    def block_size(self) -> int:
        """How many threads a block has."""
        return self.block_dim.x * self.block_dim.y * self.block_dim.z

    @cached_property
    def workspace_size(self) -> int:
        """Length of the workspace, in elements of ``value_type``."""
        return self._traits()["WORKSPACE_SIZE"][0]

    @property
    def value_type(self) -> Any:
        """Type of the elements of matrices."""
        if self._data_type == "real":
            return self._precision
        return complex64 if self._precision is np.float32 else complex128

    @property
    def tau_type(self) -> Any:
        """Type of the factors of Householder reflections."""
        return self.value_type

    @property
    def info_type(self) -> type[np.int32]:
        """Type of the elements of info."""
        return np.int32

    @property
    def ipiv_type(self) -> type[np.int32]:
        """Type of the indices of pivots."""
        return np.int32

    def execute(self, *arguments: Any) -> None:
        """Compute, inside a kernel.

        Parameters
        ----------
        *arguments : array or int
            The arrays that the attribute ``arguments`` names. Where leading dimensions are chosen
            at run time, each matrix is followed by its own. Arrays are in shared memory; ``info``,
            ``ipiv`` and ``tau`` may be in any memory that all threads of the block see.

        Raises
        ------
        RuntimeError
            It is called outside of a kernel.
        """
        del arguments
        only_in_kernels("Solver.execute")

    @property
    def _apis(self) -> tuple[str, ...]:
        """Ways to call the C function."""
        has_matrices = any(name in LEADING_DIMENSIONS for name in self.arguments)
        return tuple(_APIS) if has_matrices else ("compiled_leading_dim",)

    def _parameters(self, api: str) -> tuple[str, ...]:
        """Return the names of the C function's parameters."""
        if api == "compiled_leading_dim":
            return self.arguments
        names: list[str] = []
        for name in self.arguments:
            names.append(name)
            if name in LEADING_DIMENSIONS:
                names.append(LEADING_DIMENSIONS[name])
        return tuple(names)

    def _code(self, api: str, target: ComputeCapability | None = None) -> CompiledCode:
        """Return the code of `execute`, with leading dimensions compiled in or passed."""
        return compiled_execute("cusolverdx", self._operators(api), target or self._sm, self)

    @property
    def _key(self) -> tuple[object, ...]:
        return (*sorted(self._operators().items()), str(self._sm))

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)

    _constants = frozenset(
        {
            *("function", "size", "m", "n", "k", "precision", "execution", "sm", "arrangement"),
            *("a_arrangement", "b_arrangement", "transpose_mode", "side", "diag", "fill_mode"),
            *("batches_per_block", "data_type", "leading_dimensions", "lda", "ldb", "block_dim"),
            *("block_size", "job", "workspace_size", "value_type", "info_type", "ipiv_type"),
            "tau_type",
        }
    )
