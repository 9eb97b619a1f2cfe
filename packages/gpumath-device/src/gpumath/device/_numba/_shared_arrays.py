"""Arrays at constant offsets of a block's dynamic shared memory, in kernels."""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.errors import RequireLiteralValue, TypingError
from numba.cuda.cudadrv.nvvm import ADDRSPACE_SHARED
from numba.cuda.typing.npydecl import parse_dtype

from gpumath.device import _kernel_functions
from gpumath.device._numba._calls import Builder, device_function

# No instruction and no unit for copies needs more, except for what pipelines ask for.
_ALIGNMENT = 128
_SYMBOL = "gpumath_dynamic_shared_memory"


@device_function(_kernel_functions.shared_array)
def _shared_array(shape: Any, dtype: Any, offset: Any = None) -> tuple[Any, Builder]:
    extents = _constants("shape", shape)
    (start,) = _constants("offset", offset) if offset is not None else (0,)
    if not extents or min(extents) < 1 or start < 0:
        msg = (
            f"shared_array gets the shape {extents} and the offset {start}; extents of at least 1 "
            "and an offset of at least 0 are needed"
        )
        raise TypingError(msg)
    element = parse_dtype(dtype)
    if element is None:
        msg = f"shared_array gets the dtype {dtype}; a type of numbers is needed"
        raise TypingError(msg)
    array = types.Array(element, len(extents), "C")

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        del values
        size = context.get_abi_sizeof(context.get_data_type(element))
        if start % size:
            msg = (
                f"shared_array gets the offset {start} and elements of {size} bytes; a multiple "
                "of the size is needed"
            )
            raise TypingError(msg)
        return _array_at(context, builder, array, extents, start, size)

    return array, build


def _constants(name: str, given: Any) -> tuple[int, ...]:
    """Return the numbers that are in the types of one argument."""
    parts = tuple(given) if isinstance(given, types.BaseTuple) else (given,)
    if not all(isinstance(part, types.IntegerLiteral) for part in parts):
        msg = f"{name} of shared_array is {given}; constants are needed"
        raise RequireLiteralValue(msg)
    return tuple(part.literal_value for part in parts)


def _array_at(
    context: Any, builder: Any, array: Any, extents: tuple[int, ...], start: int, size: int
) -> Any:
    byte, index = ir.IntType(8), ir.IntType(64)
    memory = ir.ArrayType(byte, 0)
    symbol = builder.module.globals.get(_SYMBOL)
    if symbol is None:
        symbol = cgutils.add_global_variable(builder.module, memory, _SYMBOL, ADDRSPACE_SHARED)
        symbol.linkage, symbol.align = "external", _ALIGNMENT
    # All of the address is a constant, so the compiler knows which arrays are apart.
    address = builder.gep(symbol, [ir.Constant(index, 0), ir.Constant(index, start)])
    address = builder.addrspacecast(address, byte.as_pointer(), "generic")
    struct = context.make_array(array)(context, builder)
    strides = [size * prod(extents[axis + 1 :]) for axis in range(len(extents))]
    context.populate_array(
        struct,
        data=builder.bitcast(address, struct.data.type),
        shape=[context.get_constant(types.intp, extent) for extent in extents],
        strides=[context.get_constant(types.intp, stride) for stride in strides],
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return struct._getvalue()
