"""The functions of `gpumath.device.random` in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.core.errors import TypingError
from numba.cuda.descriptor import cuda_target
from numba.cuda.np.numpy_support import from_dtype

from gpumath.device import _random_code, random
from gpumath.device._check_numba import refresh
from gpumath.device._numba._calls import (
    Builder,
    array_address,
    call,
    check_contiguous,
    device_function,
    link_of,
)
from gpumath.device._numba._vectors import (
    float32x2_type,
    float32x4_type,
    float64x2_type,
    uint32x4_type,
)
from gpumath.device._random_states import STATES

__all__ = ["new_states", "type_of"]

_GENERATORS = {from_dtype(states.dtype): name for name, states in STATES.items()}
_NUMBERS = {
    "u32": types.uint32,
    "u64": types.uint64,
    "float": types.float32,
    "double": types.float64,
    "void": types.void,
}
_VECTORS = {
    ("u32", 4): uint32x4_type,
    ("float", 2): float32x2_type,
    ("float", 4): float32x4_type,
    ("double", 2): float64x2_type,
}
_ADDRESS = types.CPointer(types.uint8)


def new_states(count: int, dtype: np.dtype[Any]) -> Any:
    """Return an array of states in the memory of the current GPU, with zeros."""
    return cuda.to_device(np.zeros(count, dtype))


def type_of(function: Callable[..., Any]) -> Any:
    """Return Numba's type of one of the functions."""
    return cuda_target.typing_context.resolve_value_type(function)


def _resolve(public_name: str, name: str, given: list[Any]) -> tuple[Any, Builder]:
    """Resolve a call; ``given`` are the types of the arguments in C's order, the state last."""
    function = _random_code.FUNCTIONS[name]
    generator = _generator(public_name, function, given[-1])
    parameters = [_random_code.c_type(kind, generator) for kind in function.parameters]
    if len(given) != len(parameters) + 1:
        msg = (
            f"random.{public_name} gets {len(given)} arguments, and for {generator} it takes "
            f"{len(parameters) + 1}"
        )
        raise TypingError(msg)
    for number, (kind, argument) in enumerate(zip(parameters, given[:-1], strict=True)):
        _check(public_name, number, kind, argument)
    result_name = _random_code.c_type(function.result, generator)
    result = _NUMBERS[result_name]
    vector = _VECTORS[result_name, function.width] if function.width > 1 else None

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        kinds: list[Any] = []
        passed: list[Any] = []
        for kind, argument, value in zip(parameters, given[:-1], values[:-1], strict=True):
            if kind.endswith("*"):
                kinds.append(_ADDRESS)
                passed.append(_pointer(context, builder, argument, value))
            else:
                kinds.append(_NUMBERS[kind])
                passed.append(context.cast(builder, value, argument, kinds[-1]))
        slot = None
        if vector is not None:
            slot = cgutils.alloca_once(builder, context.get_value_type(vector))
            kinds.append(_ADDRESS)
            passed.append(_generic(builder, slot))
        kinds.append(_ADDRESS)
        passed.append(_generic(builder, values[-1]))
        returned = types.void if vector is not None else result
        symbol = _random_code.symbol(name, generator)
        code = link_of(f"gpumath_random_{generator}", _random_code.compiled(generator))
        value = call(context, builder, symbol, returned, tuple(kinds), passed, code)
        if slot is not None:
            return builder.load(slot)
        return None if result is types.void else value

    return vector or result, build


def _generator(name: str, function: _random_code.Function, state: Any) -> str:
    generator = _GENERATORS.get(state)
    if generator is None:
        msg = (
            f"the state of random.{name} is {state}; an element of an array of states is needed, "
            f"such as states[i] of states = random.StatesPhilox4_32_10(n)"
        )
        raise TypingError(msg)
    if generator not in function.generators:
        msg = f"random.{name} is for {', '.join(function.generators)}, and not for {generator}"
        raise TypingError(msg)
    return generator


def _check(name: str, number: int, kind: str, argument: Any) -> None:
    if kind.endswith("*"):
        bits = 64 if "u64" in kind else 32
        is_array = (
            isinstance(argument, types.Array)
            and isinstance(argument.dtype, types.Integer)
            and argument.dtype.bitwidth == bits
        )
        fits = isinstance(argument, types.CPointer) or is_array
        needed = f"an array of uint{bits}, or a pointer,"
    else:
        is_integer = kind.startswith("u")
        numbers = types.Integer if is_integer else types.Integer | types.Float
        fits = isinstance(argument, numbers)
        needed = "an integer" if is_integer else "a number"
    check_contiguous(f"argument {number + 1} of random.{name}", argument)
    if not fits:
        msg = f"argument {number + 1} of random.{name} is {argument}; {needed} is needed"
        raise TypingError(msg)


def _pointer(context: Any, builder: Any, argument: Any, value: Any) -> Any:
    if isinstance(argument, types.Array):
        value = array_address(context, builder, argument, value)
    return _generic(builder, value)


def _generic(builder: Any, pointer: Any) -> Any:
    """Return an address as that of bytes, in the address space that C functions expect."""
    if pointer.type.addrspace:
        generic = ir.PointerType(pointer.type.pointee)
        pointer = builder.addrspacecast(pointer, generic, "generic")
    return builder.bitcast(pointer, ir.IntType(8).as_pointer())


def _register_init() -> None:
    function: Any = random.init

    @device_function(function._function)
    def resolve(first: Any, second: Any, third: Any, fourth: Any = None) -> tuple[Any, Builder]:
        given = [argument for argument in (first, second, third, fourth) if argument is not None]
        generator = _GENERATORS.get(given[-1], "")
        name = "init"
        if "Sobol" in generator:
            name = "init_scrambled" if "Scrambled" in generator else "init_points"
        return _resolve("init", name, given)


def _register_skip(name: str) -> None:
    function: Any = getattr(random, name)

    @device_function(function._function)
    def resolve(n: Any, state: Any) -> tuple[Any, Builder]:
        return _resolve(name, name, [n, state])


def _register_sampler(name: str) -> None:
    function: Any = getattr(random, name)

    def rotated(state: Any, *parameters: Any) -> tuple[Any, Builder]:
        result, build = _resolve(name, name, [*parameters, state])

        def build_rotated(context: Any, builder: Any, values: list[Any]) -> Any:
            return build(context, builder, [*values[1:], values[0]])

        return result, build_rotated

    match len(_random_code.FUNCTIONS[name].parameters):
        case 0:

            @device_function(function._function)
            def resolve(state: Any) -> tuple[Any, Builder]:
                return rotated(state)

        case 1:

            @device_function(function._function)
            def resolve_poisson(state: Any, lambda_: Any) -> tuple[Any, Builder]:
                return rotated(state, lambda_)

        case _:

            @device_function(function._function)
            def resolve_log_normal(state: Any, mean: Any, stddev: Any) -> tuple[Any, Builder]:
                return rotated(state, mean, stddev)


_register_init()
for _name in _random_code.FUNCTIONS:
    if _name.startswith("skipahead"):
        _register_skip(_name)
    elif not _name.startswith("init"):
        _register_sampler(_name)
refresh()
