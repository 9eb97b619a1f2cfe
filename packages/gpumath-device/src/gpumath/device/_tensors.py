"""Layouts of the tensors of matrix products, and the code of functions for tensors.

A tensor is an array and a layout. Layouts of shared memory avoid bank conflicts, and those of
registers say which elements of c a thread holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpumath.bindings import mathdx
from gpumath.bindings.mathdx import (
    CommondxExecution,
    CommondxPrecision,
    CommondxValueType,
    CublasdxApi,
    CublasdxDeviceFunctionOption,
    CublasdxDeviceFunctionTrait,
    CublasdxDeviceFunctionType,
    CublasdxFunction,
    CublasdxTensorTrait,
    CublasdxTensorType,
    CublasdxType,
)
from gpumath.device._architecture import ComputeCapability
from gpumath.device._arguments import as_count
from gpumath.device._code_cache import cached
from gpumath.device._descriptor import CompiledCode, Descriptor, compiled, explained, produce_ltoir
from gpumath.device._matmul_types import element_size
from gpumath.device._types import value_type_number

if TYPE_CHECKING:
    from gpumath.device._matmul import Matmul

__all__ = [
    *("EXECUTE_TENSORS", "SPANS", "Layout", "accumulator_functions", "copy_wait_code"),
    *("create_tensors", "tensor_function"),
]

EXECUTE_TENSORS = tuple(
    member.name.lower() for member in CublasdxTensorType if not member.name.startswith("GMEM")
)
"""Names of the tensors that a product reads and writes: those outside of global memory."""

SPANS = ("cosize", "storage_bytes")
"""Attributes of layouts that depend on the leading dimension where there is one."""

_TRAITS = ("LOGICAL_SIZE", "STORAGE_BYTES", "ALIGNMENT_BYTES")


class Layout:
    """Where the elements of a matrix are in memory. The methods of `Matmul` return layouts.

    Attributes
    ----------
    size : int
        Number of elements.
    cosize : int
        Number of elements that the layout spans in memory.
    alignment : int
        What the address of the memory must be a multiple of, in bytes.
    storage_bytes : int
        Bytes that the layout spans.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> arrangement = ("row_major", "col_major", "row_major")
    >>> product = device.Matmul((8, 8, 8), np.float32, "real", arrangement=arrangement, sm=90)
    >>> product.get_layout_gmem_a().size
    64
    """

    def __init__(
        self,
        matmul: Matmul,
        tensor: str,
        leading_dimension: int | None = None,
        value_type: Any = None,
    ) -> None:
        self._matmul = matmul
        # A member of CublasdxTensorType in lower case, such as 'suggested_smem_a'.
        self._tensor = tensor
        self._index = "abc".index(tensor[-1])
        self._memory = tensor.removeprefix("suggested_").partition("_")[0]
        own_type = matmul._value_types[self._index]
        self._value_type = own_type if value_type is None else value_type
        # As an argument of libmathdx: the matrix, and its other type of numbers if it has one.
        other = None if self._value_type is own_type else value_type_number(self._value_type)
        self._argument = (tensor, other)
        self._leading_dimension: int | None = None
        if leading_dimension is not None:
            self._leading_dimension = as_count("leading_dimension", leading_dimension)

    def _like(self, value_type: Any) -> Layout:
        """Return this layout for another type of elements."""
        return Layout(self._matmul, self._tensor, self._leading_dimension, value_type)

    @property
    def _is_suggested(self) -> bool:
        return self._tensor.startswith("suggested_")

    @cached_property
    def _traits(self) -> tuple[int, int, int]:
        if self._memory == "gmem":
            rows, columns = (self._matmul.a_dim, self._matmul.b_dim, self._matmul.c_dim)[
                self._index
            ]
            ld = self._leading_dimension or self._matmul.leading_dimension[self._index]
            span = self._matmul._spans([ld] * 3)[self._index]
            size = element_size(self._value_type)
            return rows * columns, span * size, size
        return _traits_of(self._matmul, self._argument)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._traits[0]

    @property
    def storage_bytes(self) -> int:
        """Bytes that the layout spans."""
        return self._traits[1]

    @property
    def cosize(self) -> int:
        """Number of elements that the layout spans in memory."""
        return self.storage_bytes // element_size(self._value_type)

    @property
    def alignment(self) -> int:
        """What the address of the memory must be a multiple of, in bytes."""
        return self._traits[2]

    def __repr__(self) -> str:
        return f"Layout({self._tensor!r} of {self._matmul!r})"

    @property
    def _key(self) -> tuple[object, ...]:
        return (*self._argument, *self._matmul._key)

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)

    @property
    def _constants(self) -> tuple[str, ...]:
        """Attributes that are the same for all layouts of this key."""
        constants = ("size", "alignment")
        return constants if self._memory == "gmem" else (*constants, *SPANS)


def _traits_of(matmul: Matmul, argument: tuple[str, int | None]) -> tuple[int, int, int]:
    """Return size, bytes and alignment, for which cuBLASDx compiles a program.

    It is asked for all layouts of a product at once.
    """
    operators = matmul._operators("tensors")
    arguments: list[tuple[str, int | None]] = [(name, None) for name in EXECUTE_TENSORS]
    if argument not in arguments:
        arguments = [argument]

    def ask() -> bytes:
        with explained(repr(matmul)):
            descriptor = Descriptor("cublasdx", operators)
            tensors = create_tensors(descriptor, arguments)
            mathdx.cublasdx_finalize_tensors(len(tensors), tensors)
            read = mathdx.cublasdx_get_tensor_trait_int64
            traits = [[read(t, CublasdxTensorTrait[name]) for name in _TRAITS] for t in tensors]
            for tensor in tensors:
                mathdx.cublasdx_destroy_tensor(tensor)
        return json.dumps(traits).encode()

    key = (*sorted(operators.items()), tuple(arguments))
    traits: list[list[int]] = json.loads(cached("matmul-layouts", key, ask))
    size, storage, alignment = traits[arguments.index(argument)]
    return size, storage, alignment


def create_tensors(
    descriptor: Descriptor, arguments: Sequence[tuple[str, int | None]]
) -> list[int]:
    tensors = []
    for name, value_type in arguments:
        number = CublasdxTensorType[name.upper()]
        tensor = mathdx.cublasdx_create_tensor(descriptor.handle, number)
        if value_type is not None:
            tensor = mathdx.cublasdx_make_tensor_like(tensor, CommondxValueType(value_type))
        tensors.append(tensor)
    return tensors


def tensor_function(
    matmul: Matmul,
    function: str,
    *layouts: Layout,
    alignment: int | None = None,
    target: ComputeCapability | None = None,
) -> CompiledCode:
    """Compile a function of cuBLASDx for tensors.

    Parameters
    ----------
    matmul : Matmul
        The product that the tensors belong to.
    function : str
        Name of a member of ``CublasdxDeviceFunctionType``.
    *layouts : Layout
        Layouts of its arguments.
    alignment : int, optional
        What the addresses of a copy are multiples of, in bytes.
    target : ComputeCapability, optional
        GPUs that the code is for. Default: those of the product.
    """
    operators = matmul._operators("tensors")
    arguments = tuple(layout._argument for layout in layouts)
    asked = f"{function.lower()} of {matmul!r}"
    return _device_function(asked, operators, function, arguments, target or matmul.sm, alignment)


def _device_function(
    asked: str,
    operators: dict[str, Any],
    function: str,
    arguments: tuple[tuple[str, int | None], ...],
    target: ComputeCapability,
    alignment: int | None = None,
) -> CompiledCode:
    def compile_now() -> tuple[Sequence[str], Any, bytes]:
        with explained(asked):
            descriptor = Descriptor("cublasdx", operators)
            tensors = create_tensors(descriptor, arguments)
            kind = CublasdxDeviceFunctionType[function]
            create = mathdx.cublasdx_create_device_function
            handle = create(descriptor.handle, kind, len(tensors), tensors)
            if alignment is not None:
                option = CublasdxDeviceFunctionOption.COPY_ALIGNMENT
                mathdx.cublasdx_set_device_function_option_int64(handle, option, alignment)
            trait = CublasdxDeviceFunctionTrait.SYMBOL
            size = mathdx.cublasdx_get_device_function_trait_str_size(handle, trait)
            symbol = bytearray(size)
            mathdx.cublasdx_get_device_function_trait_str(handle, trait, size, symbol)
            finalize = mathdx.cublasdx_finalize_device_functions
            isa, ltoir = produce_ltoir(target, lambda code: finalize(code, 1, [handle]))
            mathdx.cublasdx_destroy_device_function(handle)
            for tensor in tensors:
                mathdx.cublasdx_destroy_tensor(tensor)
            return [symbol[:-1].decode()], isa, ltoir

    key = (function, arguments, alignment, *sorted(operators.items()))
    return compiled("matmul-function", key, target, compile_now)


def accumulator_functions(matmul: Matmul, prefix: str) -> list[tuple[Any, ...]]:
    """Return the arguments of `tensor_function` for what kernels do with an accumulator.

    Parameters
    ----------
    matmul : Matmul
        The product.
    prefix : {'suggested_', ''}
        Which layouts.
    """
    a, b, accumulator, fragment = (
        Layout(matmul, prefix + tensor)
        for tensor in ("smem_a", "smem_b", "accumulator_c", "rmem_c")
    )
    global_a, global_b, global_c = (Layout(matmul, f"gmem_{name}") for name in "abc")
    about = ("MAP_IDX2CRD_PARTITIONER", "IS_THREAD_ACTIVE", "IS_PREDICATED", "IS_INDEX_IN_BOUNDS")
    functions = [
        *(("EXECUTE", a, b, accumulator), ("CLEAR", accumulator), ("CREATE", accumulator)),
        *(("COPY", global_a, a), ("COPY", global_b, b), ("COPY", accumulator, fragment)),
        *(("COPY", global_c, fragment), ("COPY", fragment, global_c)),
        *(("AXPBY", fragment, fragment), *((name, fragment) for name in about)),
    ]
    return [(matmul, *function) for function in functions]


def copy_wait_code(target: ComputeCapability) -> CompiledCode:
    """Compile the function that waits for copies, which is the same for all products."""
    smallest = {
        "API": int(CublasdxApi.TENSORS),
        "FUNCTION": int(CublasdxFunction.MM),
        "EXECUTION": int(CommondxExecution.BLOCK),
        "PRECISION": (int(CommondxPrecision.F32),) * 3,
        "TYPE": int(CublasdxType.REAL),
        "SM": (target.integer,),
        "SIZE": (1, 1, 1),
        "BLOCK_DIM": (32, 1, 1),
    }
    return _device_function("copy_wait", smallest, "COPY_WAIT", (), target)
