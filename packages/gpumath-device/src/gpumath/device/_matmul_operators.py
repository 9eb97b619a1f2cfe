"""The operators of a matrix product: what a user chooses, checked, and as libmathdx takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from gpumath.bindings.mathdx import (
    CommondxExecution,
    CublasdxApi,
    CublasdxArrangement,
    CublasdxFunction,
    CublasdxTransposeMode,
    CublasdxType,
)
from gpumath.device._architecture import ComputeCapability, Dim3, as_compute_capability
from gpumath.device._arguments import as_block, as_count, as_tuple, is_suggested, one_of
from gpumath.device._code_cache import cached
from gpumath.device._compilers import register_loaded_compilers
from gpumath.device._descriptor import Descriptor, explained
from gpumath.device._matmul_types import (
    MAX_ALIGNMENT,
    Alignment,
    Arrangement,
    LeadingDimension,
    Precision,
    TransposeMode,
    element_size,
)
from gpumath.device._types import (
    INT_NP_TYPES,
    REAL_NP_TYPES,
    SMALL_FLOATS,
    as_precision,
    complex_of,
    mathdx_precision,
    precision_name,
)

__all__ = ["APIS", "MatmulOperators"]

_ARCHITECTURE_SPECIFIC = ((9, 0), (10, 0), (10, 3), (11, 0))
APIS = {
    "static_leading_dimensions": CublasdxApi.SMEM,
    "dynamic_leading_dimensions": CublasdxApi.SMEM_DYNAMIC_LD,
    "tensors": CublasdxApi.TENSORS,
}
_ARRANGEMENTS = {member.name.lower(): int(member) for member in CublasdxArrangement}
_TRANSPOSE_MODES = {member.name.lower(): int(member) for member in CublasdxTransposeMode}
_SUGGESTIONS = ("BLOCK_DIM", "SUGGESTED_BLOCK_DIM", "SUGGESTED_LEADING_DIMENSION")


class MatmulOperators:
    """The operators of a matrix product, as `Matmul` documents them."""

    def __init__(
        self,
        size: Sequence[int],
        precision: Any,
        data_type: Literal["real", "complex"],
        *,
        sm: ComputeCapability | int | None = None,
        block_size: int | Literal["suggested"] | None = None,
        block_dim: Sequence[int] | Literal["suggested"] | None = None,
        leading_dimension: Sequence[int] | Literal["suggested"] | None = None,
        transpose_mode: Sequence[str] | None = None,
        arrangement: Sequence[str] | None = None,
        alignment: Sequence[int] | None = None,
        function: Literal["MM"] = "MM",
        static_block_dim: bool = False,
        execution: Literal["Block", "Thread"] = "Block",
        with_pipeline: bool = False,
        enable_input_streaming: bool = False,
    ) -> None:
        register_loaded_compilers()
        self._sm = as_compute_capability(sm)
        if self._sm[:2] not in _ARCHITECTURE_SPECIFIC:
            self._sm = self._sm._replace(arch="")
        m, n, k = (as_count("size", number) for number in as_tuple("size", size, 3))
        self._size = (m, n, k)
        self._data_type = one_of("data_type", data_type, ("real", "complex"))
        self._precision = _checked_precision(precision)
        self._function = one_of("function", function, ("MM",))
        self._execution = one_of("execution", execution, ("Block", "Thread"))
        self._set_arrangement(arrangement, transpose_mode)
        self._flags = {
            name: bool(one_of(name.lower(), value, (False, True)))
            for name, value in (
                ("STATIC_BLOCK_DIM", static_block_dim),
                ("WITH_PIPELINE", with_pipeline),
                ("ENABLE_INPUT_STREAMING", enable_input_streaming),
            )
        }
        self._alignment = None if alignment is None else self._checked_alignment(alignment)
        self._leading_dimension: LeadingDimension | None = None
        self._block_dim: Dim3 | None = None
        if leading_dimension is not None and not is_suggested(leading_dimension):
            self._leading_dimension = self._checked_leading_dimension(leading_dimension)
        block = _checked_block(block_size, block_dim)
        # The suggestions are those for a product without choices.
        suggested_ld = is_suggested(leading_dimension) and self._suggestion(2)
        suggested_block = is_suggested(block) and self._suggestion(1)
        if suggested_ld:
            self._leading_dimension = LeadingDimension(*suggested_ld)
        if isinstance(block, Dim3):
            self._block_dim = block
        elif suggested_block:
            self._block_dim = Dim3(*suggested_block)

    def _set_arrangement(
        self, arrangement: Sequence[str] | None, transpose_mode: Sequence[str] | None
    ) -> None:
        self._arrangement: Arrangement | None = None
        self._transpose_mode: TransposeMode | None = None
        if (arrangement is None) == (transpose_mode is None):
            both = "neither is" if arrangement is None else "both are"
            msg = f"one of arrangement and transpose_mode is needed, and {both} given"
            raise ValueError(msg)
        if arrangement is not None:
            values = as_tuple("arrangement", arrangement, 3)
            kinds = tuple(_ARRANGEMENTS)
            self._arrangement = Arrangement(*(one_of("arrangement", v, kinds) for v in values))
        if transpose_mode is not None:
            values = as_tuple("transpose_mode", transpose_mode, 2)
            kinds = tuple(_TRANSPOSE_MODES)
            modes = (one_of("transpose_mode", v, kinds) for v in values)
            self._transpose_mode = TransposeMode(*modes)

    def _checked_alignment(self, alignment: Sequence[int]) -> Alignment:
        values = [as_count("alignment", v) for v in as_tuple("alignment", alignment, 3)]
        bounds = zip(self._default_alignment, values, MAX_ALIGNMENT, strict=True)
        for size, value, most in bounds:
            if not size <= value <= most or value & (value - 1):
                msg = (
                    f"alignment is {tuple(alignment)!r}; powers of two from the sizes of the "
                    f"elements, {tuple(self._default_alignment)}, up to {most} are needed"
                )
                raise ValueError(msg)
        return Alignment(*values)

    def _checked_leading_dimension(self, given: Any) -> LeadingDimension:
        name = "leading_dimension"
        values = LeadingDimension(*(as_count(name, v) for v in as_tuple(name, given, 3)))
        if any(value < least for value, least in zip(values, self._least_ld, strict=True)):
            msg = f"{name} is {tuple(values)}; at least {tuple(self._least_ld)} is needed"
            raise ValueError(msg)
        return values

    def _suggestion(self, index: int) -> tuple[int, ...]:
        """Return one of `_SUGGESTIONS`, which cuBLASDx compiles a program for."""
        operators = self._operators("static_leading_dimensions")

        def ask() -> bytes:
            with explained(repr(self)):
                descriptor = Descriptor("cublasdx", operators)
                values = [descriptor.integers(name, 3) for name in _SUGGESTIONS]
            return json.dumps(values).encode()

        key = tuple(sorted(operators.items()))
        values: list[list[int]] = json.loads(cached("matmul-traits", key, ask))
        return tuple(values[index])

    def _operators(self, api: str) -> dict[str, Any]:
        architecture = (self._sm.integer, 1) if self._sm.arch == "a" else (self._sm.integer,)
        operators: dict[str, Any] = {
            "API": int(APIS[api]),
            "SIZE": self._size,
            "PRECISION": tuple(int(mathdx_precision(p)) for p in self._precision),
            "FUNCTION": int(CublasdxFunction[self._function]),
            "EXECUTION": int(CommondxExecution[self._execution.upper()]),
            "TYPE": int(CublasdxType[self._data_type.upper()]),
            "SM": architecture,
        }
        if self._block_dim:
            operators["BLOCK_DIM"] = tuple(self._block_dim)
        if self._leading_dimension and api != "dynamic_leading_dimensions":
            operators["LEADING_DIMENSION"] = tuple(self._leading_dimension)
        if self._transpose_mode:
            modes = tuple(_TRANSPOSE_MODES[mode] for mode in self._transpose_mode)
            operators["TRANSPOSE_MODE"] = modes
        if self._arrangement:
            operators["ARRANGEMENT"] = tuple(_ARRANGEMENTS[a] for a in self._arrangement)
        if self._alignment:
            operators["ALIGNMENT"] = tuple(self._alignment)
        return operators | {name: 1 for name, value in self._flags.items() if value}

    def __repr__(self) -> str:
        options: dict[str, Any] = {
            "sm": str(self._sm),
            "arrangement": self._arrangement and tuple(self._arrangement),
            "transpose_mode": self._transpose_mode and tuple(self._transpose_mode),
            "block_dim": self._block_dim and tuple(self._block_dim),
            "leading_dimension": self._leading_dimension and tuple(self._leading_dimension),
            "alignment": self._alignment and tuple(self._alignment),
        }
        more = ", ".join(f"{name}={value!r}" for name, value in options.items() if value)
        precisions = "(" + ", ".join(map(precision_name, self._precision)) + ")"
        return f"Matmul({self._size}, {precisions}, {self._data_type!r}, {more})"

    @property
    def size(self) -> tuple[int, int, int]:
        """The numbers m, n and k."""
        return self._size

    @property
    def precision(self) -> Precision:
        """Types of the numbers of the matrices."""
        return self._precision

    @property
    def data_type(self) -> str:
        """``'real'`` or ``'complex'``."""
        return self._data_type

    @property
    def sm(self) -> ComputeCapability:
        """GPUs that the code is compiled for."""
        return self._sm

    @property
    def function(self) -> str:
        """``'MM'``."""
        return self._function

    @property
    def execution(self) -> str:
        """``'Block'`` or ``'Thread'``."""
        return self._execution

    @property
    def arrangement(self) -> Arrangement | None:
        """Arrangement of the matrices, if it was given."""
        return self._arrangement

    @property
    def transpose_mode(self) -> TransposeMode | None:
        """What is done to a and b, if it was given."""
        return self._transpose_mode

    @property
    def static_block_dim(self) -> bool:
        """Whether the kernel runs with exactly ``block_dim`` threads."""
        return self._flags["STATIC_BLOCK_DIM"]

    @property
    def with_pipeline(self) -> bool:
        """Whether pipelines feed the product."""
        return self._flags["WITH_PIPELINE"]

    @property
    def enable_input_streaming(self) -> bool:
        """Whether pipelines feed the product without a conversion."""
        return self._flags["ENABLE_INPUT_STREAMING"]

    @property
    def a_dim(self) -> tuple[int, int]:
        """Shape of a, as it is stored."""
        m, _, k = self._size
        return (k, m) if self._is_transposed(0) else (m, k)

    @property
    def b_dim(self) -> tuple[int, int]:
        """Shape of b, as it is stored."""
        _, n, k = self._size
        return (n, k) if self._is_transposed(1) else (k, n)

    @property
    def c_dim(self) -> tuple[int, int]:
        """Shape of c."""
        return self._size[:2]

    def _is_transposed(self, index: int) -> bool:
        modes = self._transpose_mode
        return modes is not None and modes[index] != "non_transposed"

    @cached_property
    def _value_types(self) -> tuple[Any, Any, Any]:
        a, b, c = self._precision
        if self._data_type == "real":
            return a, b, c
        return complex_of(a), complex_of(b), complex_of(c)

    @cached_property
    def _default_alignment(self) -> Alignment:
        return Alignment(*map(element_size, self._value_types))

    def _lines(self) -> list[tuple[int, int]]:
        """Return, for each matrix, the length and the number of its columns, or of its rows."""
        arrangement = self._arrangement or ("col_major",) * 3
        dims = (self.a_dim, self.b_dim, self.c_dim)
        return [
            dim if kind == "col_major" else dim[::-1]
            for dim, kind in zip(dims, arrangement, strict=True)
        ]

    @cached_property
    def _least_ld(self) -> LeadingDimension:
        return LeadingDimension(*(length for length, _ in self._lines()))

    def _spans(self, leading_dimension: Sequence[int]) -> list[int]:
        pairs = zip(leading_dimension, self._lines(), strict=False)
        return [ld * count for ld, (_, count) in pairs]


def _checked_precision(precision: Any) -> Precision:
    """Return the types of the numbers of the three matrices."""
    allowed = [*REAL_NP_TYPES, *SMALL_FLOATS, *INT_NP_TYPES]
    is_one = isinstance(precision, str) or not isinstance(precision, Sequence)
    given = (precision,) * 3 if is_one else as_tuple("precision", precision, 3)
    return Precision(*(as_precision(value, "precision", allowed) for value in given))


def _checked_block(block_size: Any, block_dim: Any) -> Dim3 | str | None:
    """Return the threads of a block, which are given in one of two ways, or ``'suggested'``."""
    if block_size is not None and block_dim is not None:
        msg = f"block_size is {block_size} and block_dim is {block_dim!r}; one of them is needed"
        raise ValueError(msg)
    given = block_dim if block_size is None else block_size
    if given is None:
        return None
    if is_suggested(given):
        return "suggested"
    if block_size is not None:
        block_dim = (block_size, 1, 1)
    return as_block(as_tuple("block_dim", block_dim, 3))
