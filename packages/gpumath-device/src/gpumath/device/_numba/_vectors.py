"""Short vectors of numbers, aligned to their size. Pairs convert from and to complex numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.cudadecl import registry
from numba.cuda.cudaimpl import lower_attr
from numba.cuda.datamodel import models
from numba.cuda.extending import (
    as_numba_type,
    lower_builtin,
    lower_cast,
    register_model,
    type_callable,
)
from numba.cuda.np.numpy_support import from_dtype
from numba.cuda.typeconv import Conversion
from numba.cuda.typing.templates import AttributeTemplate

from gpumath.device._types import Complex, SmallFloat, Vector, bfloat16

__all__ = [
    *("VectorType", "array_type", "holds", "number_class", "pair"),
    *("float16x2", "float16x4", "float32x2", "float32x4", "float64x2", "float64x4", "uint32x4"),
    *("float16x2_type", "float16x4_type", "float32x2_type", "float32x4_type"),
    *("float64x2_type", "float64x4_type", "uint32x4_type"),
]


class VectorType(types.Number):
    """Type of a vector of 2 or 4 numbers."""

    def __init__(self, number: Any, count: int) -> None:
        super().__init__(name=f"{number}x{count}")
        self.dtype = number
        self.count = count
        self.bitwidth = number.bitwidth * count
        # The function that makes a vector in a kernel.
        self.make: Any = None

    def _converts(self, other: Any) -> bool:
        is_pair = self.count == 2 and isinstance(self.dtype, types.Float)
        return is_pair and isinstance(other, types.Complex)

    def can_convert_from(self, context: Any, other: Any) -> Any:
        del context
        if not self._converts(other):
            return None
        return _conversion(other.bitwidth, self.bitwidth)

    def can_convert_to(self, context: Any, other: Any) -> Any:
        del context
        if not self._converts(other):
            return None
        return _conversion(self.bitwidth, other.bitwidth)


def _conversion(source: int, target: int) -> Conversion:
    if source == target:
        return Conversion.exact
    return Conversion.safe if source < target else Conversion.unsafe


class VectorClass(types.NumberClass):
    """Type of a vector type itself, which is called to make a vector."""

    def get_impl_key(self, signature: Any) -> Any:
        del signature
        return self.instance_type.make


register_model(VectorClass)(models.OpaqueModel)


@registry.register_attr
class _VectorClassCall(AttributeTemplate):
    key = VectorClass

    def resolve___call__(self, vector_class: VectorClass) -> Any:
        return self.context.resolve_value_type(vector_class.instance_type.make)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: VectorType) -> None:
        number = manager.lookup(vector.dtype).get_value_type()
        super().__init__(manager, vector, ir.VectorType(number, vector.count))


@registry.register_attr
class _VectorParts(AttributeTemplate):
    key = VectorType

    def generic_resolve(self, vector: VectorType, name: str) -> Any:
        return vector.dtype if name in tuple("xyzw"[: vector.count]) else None


def _part(builder: Any, value: Any, index: int) -> Any:
    return builder.extract_element(value, ir.Constant(ir.IntType(32), index))


def _packed(context: Any, builder: Any, vector: VectorType, parts: list[Any]) -> Any:
    value = ir.Constant(context.get_value_type(vector), ir.Undefined)
    for index, part in enumerate(parts):
        value = builder.insert_element(value, part, ir.Constant(ir.IntType(32), index))
    return value


for _index, _name in enumerate("xyzw"):

    @lower_attr(VectorType, _name)
    def _lower_part(
        context: Any, builder: Any, vector: VectorType, value: Any, index: int = _index
    ) -> Any:
        del context, vector
        return _part(builder, value, index)


def _allow_in_arrays(number: Any) -> None:
    # Numba asks this set whether a type may be that of an array in a kernel.
    types.number_domain |= frozenset([number])


def vector_type(number: Any, count: int) -> tuple[Any, VectorType]:
    """Make a type of vectors, and the function that makes such a vector in a kernel."""
    vector = VectorType(number, count)
    _allow_in_arrays(vector)

    class make:  # noqa: N801 - users see the name of the type
        """Makes a vector of numbers of its parts, inside kernels."""

    make.__name__ = make.__qualname__ = vector.name
    vector.make = make
    as_numba_type.register(make, vector)
    is_pair = count == 2 and isinstance(number, types.Float)

    @type_callable(make)
    def type_make(context: Any) -> Any:
        del context

        def typer(x: Any, y: Any = None, z: Any = None, w: Any = None) -> Any:
            given = [part for part in (x, y, z, w) if part is not None]
            numbers = types.Integer | types.Float
            fits = len(given) == count and all(isinstance(part, numbers) for part in given)
            is_complex = is_pair and len(given) == 1 and isinstance(x, types.Complex)
            return vector if fits or is_complex else None

        return typer

    @lower_builtin(make, *(count * [types.Any]))
    def lower_make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        parts = [
            context.cast(builder, value, given, number)
            for value, given in zip(arguments, signature.args, strict=True)
        ]
        return _packed(context, builder, vector, parts)

    if is_pair:

        @lower_builtin(make, types.Complex)
        def lower_make_of_complex(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.cast(builder, args[0], signature.args[0], vector)

    return make, vector


def pair(context: Any, builder: Any, vector: VectorType, given: Any, value: Any) -> Any:
    """Convert a number, which may be complex, to a pair."""
    if isinstance(given, VectorType):
        parts, number = [_part(builder, value, index) for index in range(2)], given.dtype
    elif isinstance(given, types.Complex):
        both = context.make_complex(builder, given, value=value)
        parts, number = [both.real, both.imag], given.underlying_float
    else:
        parts, number = [value, context.get_constant_null(given)], given
    casts = [context.cast(builder, part, number, vector.dtype) for part in parts]
    return _packed(context, builder, vector, casts)


@lower_cast(types.Complex, VectorType)
def _complex_to_vector(context: Any, builder: Any, given: Any, vector: Any, value: Any) -> Any:
    return pair(context, builder, vector, given, value)


@lower_cast(VectorType, types.Complex)
def _vector_to_complex(context: Any, builder: Any, vector: Any, wanted: Any, value: Any) -> Any:
    pair = cgutils.create_struct_proxy(wanted)(context, builder)
    real = wanted.underlying_float
    pair.real = context.cast(builder, _part(builder, value, 0), vector.dtype, real)
    pair.imag = context.cast(builder, _part(builder, value, 1), vector.dtype, real)
    return pair._getvalue()


float16x2, float16x2_type = vector_type(types.float16, 2)
float16x4, float16x4_type = vector_type(types.float16, 4)
float32x2, float32x2_type = vector_type(types.float32, 2)
float32x4, float32x4_type = vector_type(types.float32, 4)
float64x2, float64x2_type = vector_type(types.float64, 2)
float64x4, float64x4_type = vector_type(types.float64, 4)
uint32x4, uint32x4_type = vector_type(types.uint32, 4)
_allow_in_arrays(types.bfloat16)

_PAIRS = {
    types.float16: float16x2_type,
    types.float32: float32x2_type,
    types.float64: float64x2_type,
}


@cache
def _pair_of(number: Any) -> VectorType:
    return _PAIRS.get(number) or vector_type(number, 2)[1]


@cache
def array_type(value: Any) -> Any:
    """Return Numba's type of the numbers of an operand, as arrays in kernels hold them.

    Parameters
    ----------
    value : type, SmallFloat, Complex or Vector
        Type of numbers, as a trait of a descriptor says it.
    """
    if isinstance(value, Complex):
        number = value.real_dtype
        small = isinstance(number, SmallFloat)
        # Vectors of numbers that Numba does not have hold their bits.
        return _pair_of(from_dtype(number.dtype) if small else array_type(number))
    if isinstance(value, Vector):
        return float16x2_type if value.size == 2 else float16x4_type
    if value is bfloat16:
        return types.bfloat16
    if isinstance(value, SmallFloat):
        return from_dtype(value.dtype)
    return from_dtype(np.dtype(value))


def holds(element: Any, value: Any) -> bool:
    """Return whether an array with these elements can hold the numbers of an operand.

    Integers of the same size can hold the bits of numbers that Numba does not have.
    """
    wanted = array_type(value)
    small = isinstance(value, SmallFloat) and isinstance(element, types.Integer | types.Float)
    return element == wanted or (small and element.bitwidth == 8 * value.dtype.itemsize)


def number_class(value: Any) -> Any:
    """Return the type of ``value`` where a kernel uses it as the dtype of an array."""
    number = array_type(value)
    return VectorClass(number) if isinstance(number, VectorType) else types.NumberClass(number)
