"""Tensors in kernels: an address and, in global memory, a leading dimension."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.errors import RequireLiteralValue, TypingError
from numba.cuda.core.targetconfig import ConfigStack
from numba.cuda.cudaimpl import lower_constant
from numba.cuda.datamodel import models
from numba.cuda.extending import infer_getattr, lower_builtin, lower_getattr, register_model
from numba.cuda.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_global,
    signature,
)

from gpumath.device import _kernel_functions
from gpumath.device._architecture import ComputeCapability
from gpumath.device._numba._calls import (
    Builder,
    array_address,
    call,
    device_function,
    link_of,
    value_address,
)
from gpumath.device._numba._objects import constant_attributes, lower_constant_attribute
from gpumath.device._numba._vectors import array_type
from gpumath.device._tensors import SPANS, Layout, copy_wait_code, tensor_function
from gpumath.device._types import value_type_like

__all__ = ["LayoutType", "TensorType", "as_argument", "call_tensor_function", "new_tensor"]


@constant_attributes
class LayoutType(types.Type):
    """Type of a layout. Its value is the leading dimension, if that is known in kernels only."""

    def __init__(self, layout: Layout) -> None:
        self.value = layout
        super().__init__(name=f"Layout{layout._key}")

    @property
    def has_leading_dimension(self) -> bool:
        return self.value._memory == "gmem"


@register_model(LayoutType)
class _LayoutModel(models.StructModel):
    def __init__(self, manager: Any, layout: LayoutType) -> None:
        members = [("ld", types.int64)] if layout.has_leading_dimension else []
        super().__init__(manager, layout, members)


class TensorType(types.Type):
    """Type of a tensor with a layout."""

    kind = "Tensor"

    def __init__(self, layout: LayoutType) -> None:
        self.layout = layout
        self.dtype = array_type(layout.value._value_type)
        super().__init__(name=f"{self.kind}({layout})")

    @property
    def memory(self) -> str:
        return self.layout.value._memory

    def __init_subclass__(cls) -> None:
        register_model(cls)(_TensorModel)


@register_model(TensorType)
class _TensorModel(models.StructModel):
    def __init__(self, manager: Any, tensor: TensorType) -> None:
        members = [("address", types.voidptr)]
        if tensor.layout.has_leading_dimension:
            members.append(("ld", types.int64))
        super().__init__(manager, tensor, members)


class _Argument(types.Type):
    """Type of a tensor as libmathdx's functions take it."""

    def __init__(self, strides: int) -> None:
        self.strides = strides
        super().__init__(name=f"libmathdx_tensor({strides})")


@register_model(_Argument)
class _ArgumentModel(models.PrimitiveModel):
    def __init__(self, manager: Any, argument: _Argument) -> None:
        # The name that NVRTC gives to the struct, because linked functions must agree on it.
        name = f"struct.libmathdx_tensor_{argument.strides}s_0s"
        struct = ir.global_context.get_identified_type(name)
        if struct.is_opaque:
            address = ir.IntType(8).as_pointer()
            strides = [ir.ArrayType(ir.IntType(64), argument.strides)] if argument.strides else []
            struct.set_body(address, *strides)
        super().__init__(manager, argument, struct)


def default_leading_dimension(layout: Layout) -> int:
    """Return the leading dimension that was given to a layout, or that of its product."""
    return layout._leading_dimension or layout._matmul.leading_dimension[layout._index]


@infer_getattr
class _SpanAttributes(AttributeTemplate):
    key = LayoutType

    def generic_resolve(self, layout: LayoutType, name: str) -> Any:
        return types.int64 if layout.has_leading_dimension and name in SPANS else None


def _lower_span(name: str) -> None:
    @lower_getattr(LayoutType, name)
    def lower(context: Any, builder: Any, layout: LayoutType, value: Any) -> Any:
        constant = getattr(layout.value, name)
        if not layout.has_leading_dimension:
            return lower_constant_attribute(context, builder, constant)
        # Layouts of one type may differ in the leading dimension, of which the span is a multiple.
        ld = cgutils.create_struct_proxy(layout)(context, builder, value).ld
        factor = constant // default_leading_dimension(layout.value)
        return builder.mul(ld, context.get_constant(types.int64, factor))


for _name in SPANS:
    _lower_span(_name)


@lower_constant(LayoutType)
def _lower_layout(context: Any, builder: Any, numba_type: LayoutType, layout: Layout) -> Any:
    struct = cgutils.create_struct_proxy(numba_type)(context, builder)
    if numba_type.has_leading_dimension:
        struct.ld = context.get_constant(types.int64, default_leading_dimension(layout))
    return struct._getvalue()


def new_tensor(context: Any, builder: Any, tensor: TensorType, address: Any, ld: Any = None) -> Any:
    """Return a tensor at an address."""
    struct = cgutils.create_struct_proxy(tensor)(context, builder)
    struct.address = builder.bitcast(address, ir.IntType(8).as_pointer())
    if tensor.layout.has_leading_dimension:
        struct.ld = ld
    return struct._getvalue()


def new_fragment(context: Any, builder: Any, tensor: TensorType) -> Any:
    """Return a tensor in new memory of the thread, which becomes registers."""
    layout = tensor.layout.value
    memory = ir.ArrayType(ir.IntType(8), layout.storage_bytes)
    address = cgutils.alloca_once(builder, memory)
    address.align = max(layout.alignment, layout._matmul.alignment.c, 16)
    return new_tensor(context, builder, tensor, address)


def build_fragment(fragment: TensorType) -> tuple[Any, Builder]:
    """Return a type of fragments, and what makes one in a kernel."""

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        del values
        return new_fragment(context, builder, fragment)

    return fragment, build


def call_tensor_function(
    context: Any,
    builder: Any,
    function: str,
    operands: list[tuple[Any, Any]],
    *,
    alignment: int | None = None,
    layouts: list[Layout] | None = None,
) -> None:
    """Call a function of cuBLASDx for tensors.

    Parameters
    ----------
    function : str
        Name of a member of ``CublasdxDeviceFunctionType``.
    operands : list
        Types and values of the arguments: tensors, and addresses with their pointer types.
    alignment : int, optional
        What the addresses of a copy are multiples of, in bytes.
    layouts : list of Layout, optional
        Layouts that the function is compiled for. Default: those of the operands.
    """
    if layouts is None:
        layouts = [given.layout.value for given, _ in operands if isinstance(given, TensorType)]
    code = tensor_function(layouts[0]._matmul, function, *layouts, alignment=alignment)
    arguments, values = [], []
    for given, value in operands:
        if isinstance(given, TensorType):
            argument, passed = as_argument(context, builder, given, value)
        else:
            argument, passed = given, value
        arguments.append(argument)
        values.append(passed)
    symbol = code.symbols[0]
    link = link_of(symbol, code.ltoir)
    call(context, builder, symbol, types.void, tuple(arguments), values, link)


def as_argument(context: Any, builder: Any, tensor: TensorType, value: Any) -> tuple[Any, Any]:
    """Return the type and the value of a tensor as libmathdx's functions take it."""
    argument = _Argument(int(tensor.layout.has_leading_dimension))
    source = cgutils.create_struct_proxy(tensor)(context, builder, value)
    struct = ir.Constant(context.get_value_type(argument), ir.Undefined)
    struct = builder.insert_value(struct, source.address, 0)
    if argument.strides:
        struct = builder.insert_value(struct, source.ld, [1, 0])
    return argument, struct


@device_function(_kernel_functions.make_tensor)
def _make_tensor(array: Any, layout: Any) -> tuple[Any, Builder]:
    if not isinstance(array, types.Array) or not isinstance(layout, LayoutType):
        msg = f"make_tensor gets {array} and {layout}; an array and a layout are needed"
        raise TypingError(msg)
    tensor = TensorType(layout)
    if array.dtype != tensor.dtype:
        value_type = value_type_like(layout.value._value_type, _number_of(array.dtype))
        tensor = TensorType(LayoutType(layout.value._like(value_type)))

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        ld = None
        if layout.has_leading_dimension:
            ld = cgutils.create_struct_proxy(layout)(context, builder, values[1]).ld
        address = array_address(context, builder, array, values[0])
        return new_tensor(context, builder, tensor, address, ld)

    return tensor, build


def _number_of(dtype: Any) -> str:
    return str(getattr(dtype, "dtype", dtype))


@device_function(_kernel_functions.make_fragment_like)
def _make_fragment_like(tensor: Any, dtype: Any) -> tuple[Any, Builder]:
    _check_memory("make_fragment_like", {"tensor": tensor}, "rmem")
    number = getattr(dtype, "dtype", dtype)
    value_type = value_type_like(tensor.layout.value._value_type, _number_of(number))
    return build_fragment(TensorType(LayoutType(tensor.layout.value._like(value_type))))


@device_function(_kernel_functions.copy)
def _copy(src: Any, dst: Any, alignment: Any = None) -> tuple[Any, Builder]:
    return _resolve_copy("copy", src, dst, alignment, ("gmem", "smem"))


@device_function(_kernel_functions.copy_fragment)
def _copy_fragment(src: Any, dst: Any, alignment: Any = None) -> tuple[Any, Builder]:
    return _resolve_copy("copy_fragment", src, dst, alignment, ("gmem", "smem", "rmem"))


def _resolve_copy(
    name: str, src: Any, dst: Any, alignment: Any, memories: tuple[str, ...]
) -> tuple[Any, Builder]:
    _check_memory(name, {"src": src, "dst": dst}, *memories)
    is_fragment = "rmem" in (src.memory, dst.memory)
    if is_fragment != (name == "copy_fragment"):
        msg = f"{name} is called with {src.memory} and {dst.memory}; copy_fragment copies fragments"
        raise TypingError(msg)
    number = None
    if alignment is not None:
        if not isinstance(alignment, types.Literal):
            msg = f"alignment of {name} must be a constant"
            raise RequireLiteralValue(msg)
        number = alignment.literal_value
        if number not in (1, 2, 4, 8, 16):
            msg = f"alignment of {name} is {number}; 1, 2, 4, 8 or 16 is needed"
            raise TypingError(msg)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        operands = [(src, values[0]), (dst, values[1])]
        call_tensor_function(context, builder, "COPY", operands, alignment=number)

    return types.void, build


@device_function(_kernel_functions.copy_wait)
def _copy_wait() -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> None:
        del values
        target = ComputeCapability(*ConfigStack().top().compute_capability)
        code = copy_wait_code(target)
        link = link_of(code.symbols[0], code.ltoir)
        call(context, builder, code.symbols[0], types.void, (), [], link)

    return types.void, build


@device_function(_kernel_functions.clear)
def _clear(arr: Any) -> tuple[Any, Builder]:
    _check_memory("clear", {"arr": arr}, "rmem", "accumulator")

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        call_tensor_function(context, builder, "CLEAR", [(arr, values[0])])

    return types.void, build


@device_function(_kernel_functions.axpby)
def _axpby(alpha: Any, x_tensor: Any, beta: Any, y_tensor: Any) -> tuple[Any, Builder]:
    _check_memory("axpby", {"x_tensor": x_tensor, "y_tensor": y_tensor}, "rmem")

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        axpby(context, builder, (alpha, x_tensor, beta, y_tensor), values)

    return types.void, build


def axpby(context: Any, builder: Any, given: tuple[Any, ...], values: list[Any]) -> None:
    """Build ``y = alpha * x + beta * y`` of fragments."""
    alpha, x, beta, y = given
    bytes_pointer = types.CPointer(types.uint8)
    operands = []
    for number, tensor, index in ((alpha, x, 0), (beta, y, 2)):
        address = value_address(context, builder, number, values[index], tensor.dtype)
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        operands += [(bytes_pointer, address), (tensor, values[index + 1])]
    call_tensor_function(context, builder, "AXPBY", operands)


def _check_memory(name: str, tensors: dict[str, Any], *memories: str) -> None:
    for argument, tensor in tensors.items():
        if not isinstance(tensor, TensorType) or tensor.memory not in memories:
            msg = f"{argument} of {name} is {tensor}; a tensor in {' or '.join(memories)} is needed"
            raise TypingError(msg)


@infer_getattr
class _TensorAttributes(AttributeTemplate):
    key = TensorType

    def resolve_layout(self, tensor: TensorType) -> LayoutType:
        return tensor.layout


@lower_getattr(TensorType, "layout")
def _lower_tensor_layout(context: Any, builder: Any, tensor: TensorType, value: Any) -> Any:
    layout = cgutils.create_struct_proxy(tensor.layout)(context, builder)
    if tensor.layout.has_leading_dimension:
        layout.ld = cgutils.create_struct_proxy(tensor)(context, builder, value).ld
    return layout._getvalue()


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        del kws
        tensor, index = args
        fits = isinstance(tensor, TensorType) and isinstance(index, types.Integer)
        return signature(tensor.dtype, tensor, index) if fits and tensor.memory == "rmem" else None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        del kws
        tensor, index, _ = args
        fits = isinstance(tensor, TensorType) and isinstance(index, types.Integer)
        if not fits or tensor.memory != "rmem":
            return None
        return signature(types.void, tensor, index, tensor.dtype)


def _element(context: Any, builder: Any, tensor: TensorType, value: Any, index: Any) -> Any:
    address = cgutils.create_struct_proxy(tensor)(context, builder, value).address
    pointer = builder.bitcast(address, context.get_data_type(tensor.dtype).as_pointer())
    return builder.gep(pointer, [index])


@lower_builtin(operator.getitem, TensorType, types.Integer)
def _lower_getitem(context: Any, builder: Any, typed: Any, values: Any) -> Any:
    tensor = typed.args[0]
    return builder.load(_element(context, builder, tensor, *values))


@lower_builtin(operator.setitem, TensorType, types.Integer, types.Any)
def _lower_setitem(context: Any, builder: Any, typed: Any, values: Any) -> Any:
    builder.store(values[2], _element(context, builder, typed.args[0], *values[:2]))
    return context.get_dummy_value()
