"""``Matmul.execute`` in kernels, with arrays."""

from __future__ import annotations

from typing import Any

from numba.cuda import types
from numba.cuda.core.errors import TypingError

from gpumath.device._numba._calls import (
    Builder,
    array_address,
    call,
    check_contiguous,
    device_method,
    link_of,
    value_address,
)
from gpumath.device._numba._objects import ObjectType, callable_type
from gpumath.device._numba._tensors import TensorType, call_tensor_function
from gpumath.device._numba._vectors import array_type, holds

__all__ = ["CallableMatmulType", "MatmulType"]


class MatmulType(ObjectType):
    """Type of one `gpumath.device.Matmul`."""


@device_method(MatmulType, "execute")
def _execute(
    matmul: MatmulType, first: Any, second: Any, third: Any, *others: Any
) -> tuple[Any, Builder]:
    operands = (first, second, third, *others)
    if len(operands) == 3:
        return _execute_tensors(matmul, {"a": first, "b": second, "c": third}, operands)
    if len(operands) == 5 and isinstance(second, TensorType):
        tensors = {"a": second, "b": third, "c": operands[4]}
        return _execute_tensors(matmul, tensors, operands)
    if len(operands) == 5:
        return _execute_arrays(matmul, operands, leading_dimensions=False)
    if len(operands) == 8:
        return _execute_arrays(matmul, operands, leading_dimensions=True)
    msg = (
        f"Matmul.execute has {len(operands)} arguments; it is called as "
        "execute(alpha, a, b, beta, c), execute(alpha, a, lda, b, ldb, beta, c, ldc) or "
        "execute(a, b, accumulator)"
    )
    raise TypingError(msg)


def _execute_tensors(
    matmul: MatmulType, tensors: dict[str, Any], operands: tuple[Any, ...]
) -> tuple[Any, Builder]:
    in_registers = len(operands) == 3
    for name, given in tensors.items():
        memories = ("rmem", "accumulator") if name == "c" and in_registers else ("smem",)
        if not isinstance(given, TensorType) or given.memory not in memories:
            where = "registers, or an accumulator," if len(memories) == 2 else "shared memory"
            msg = f"{name} of Matmul.execute is {given}; a tensor in {where} is needed"
            raise TypingError(msg)
        if given.layout.value._matmul._key != matmul.value._key:
            msg = f"{name} of Matmul.execute is {given}, a tensor of another product"
            raise TypingError(msg)
    if len({given.layout.value._is_suggested for given in tensors.values()}) > 1:
        msg = "the layouts of a, b and c are mixed; all suggested or all plain ones are needed"
        raise TypingError(msg)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        arguments = []
        for given, value in zip(operands, values[1:], strict=True):
            if isinstance(given, TensorType):
                arguments.append((given, value))
                continue
            scalar = tensors["c"].dtype
            address = value_address(context, builder, given, value, scalar)
            arguments.append((types.CPointer(scalar), address))
        call_tensor_function(context, builder, "EXECUTE", arguments)

    return types.void, build


def _execute_arrays(
    matmul: MatmulType, operands: tuple[Any, ...], *, leading_dimensions: bool
) -> tuple[Any, Builder]:
    names = ["alpha", "a", "lda", "b", "ldb", "beta", "c", "ldc"]
    if not leading_dimensions:
        names = [name for name in names if not name.startswith("ld")]
    product = matmul.value
    value_types = {name: getattr(product, f"{name}_value_type") for name in "abc"}
    for name, given in zip(names, operands, strict=True):
        _check(product, name, given, value_types)
    api = "dynamic_leading_dimensions" if leading_dimensions else "static_leading_dimensions"
    scalar = array_type(value_types["c"])

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        code = product._code(api)
        addresses, pointers = [], []
        for name, given, value in zip(names, operands, values[1:], strict=True):
            if isinstance(given, types.Array):
                element = given.dtype
                address = array_address(context, builder, given, value)
            else:
                element = types.uint32 if name.startswith("ld") else scalar
                address = value_address(context, builder, given, value, element)
            addresses.append(address)
            pointers.append(types.CPointer(element))
        link = link_of(code.symbols[0], code.ltoir)
        call(context, builder, code.symbols[0], types.void, tuple(pointers), addresses, link)

    return types.void, build


def _check(product: Any, name: str, given: Any, value_types: dict[str, Any]) -> None:
    check_contiguous(f"{name} of execute of {product}", given)
    if name in value_types:
        wanted = value_types[name]
        if isinstance(given, types.Array) and holds(given.dtype, wanted):
            return
        needed = f"an array made with dtype=matmul.{name}_value_type, {array_type(wanted)},"
    elif name.startswith("ld"):
        if isinstance(given, types.Integer):
            return
        needed = "an integer"
    else:
        is_complex = isinstance(given, types.Complex)
        if isinstance(given, types.Number) and (not is_complex or product.data_type == "complex"):
            return
        needed = "a real number" if is_complex else "a number"
    msg = f"{name} of execute of {product} is {given}; {needed} is needed"
    raise TypingError(msg)


CallableMatmulType = callable_type(MatmulType, _execute)
