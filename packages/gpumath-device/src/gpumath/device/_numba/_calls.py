"""Functions and methods that kernels call, as LLVM code which calls compiled device functions.

They are typed and lowered here, rather than written as Python functions with ``overload``, because
Numba compiles those for the GPU of the machine, which need not be there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.core.errors import TypingError
from numba.cuda.extending import infer, infer_getattr, lower_builtin
from numba.cuda.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    Signature,
    infer_global,
    signature,
)

from gpumath.device._numba._shared_memory import allow_large_shared_memory
from gpumath.device._numba._vectors import VectorType, pair

__all__ = [
    "Builder",
    "array_address",
    "call",
    "check_contiguous",
    "device_function",
    "device_method",
    "link_of",
    "value_address",
]

# Gets the context, the LLVM builder and the arguments, and returns the result.
Builder = Callable[[Any, Any, list[Any]], Any]
# Gets the types of the arguments, and returns the type of the result and what builds the call.
Resolver = Callable[..., tuple[Any, Builder]]


def device_function(function: Callable[..., Any]) -> Callable[[Resolver], Resolver]:
    """Make a Python function callable in kernels.

    The decorated function has the parameters of ``function``, and gets their types; None for those
    that are not given. It returns the type of the result, and a `Builder`, which gets values for
    the parameters that are given.
    """

    def decorate(resolve: Resolver) -> Resolver:
        template = _template(function, resolve, bound=False)
        infer(template)
        infer_global(function, types.Function(template))
        lower_builtin(function, types.VarArg(types.Any))(_lowering(resolve))
        return resolve

    return decorate


def device_method(type_class: type, name: str) -> Callable[[Resolver], Any]:
    """Make a method of a type callable in kernels.

    The decorated function gets the type of the object first. Otherwise it is as `device_function`
    says. Its name stands for the template of the method then.
    """

    def decorate(resolve: Resolver) -> Any:
        key = f"{type_class.__module__}.{type_class.__name__}.{name}"
        template = _template(key, resolve, bound=True)

        class Method(AttributeTemplate):
            key = type_class

            def generic_resolve(self, this: Any, attribute: str) -> Any:
                return types.BoundFunction(template, this) if attribute == name else None

        infer_getattr(Method)
        lower_builtin(key, type_class, types.VarArg(types.Any))(_lowering(resolve))
        return template

    return decorate


def _template(name: Any, resolve: Resolver, *, bound: bool) -> Any:
    parameters = list(inspect.signature(resolve).parameters.values())[bound:]
    python_signature = inspect.Signature(parameters)
    has_star = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)

    class Template(AbstractTemplate):
        key = name

        def generic(self, args: Any, kws: Any) -> Any:
            receiver = (self.this,) if bound else ()
            if has_star:
                result, _ = resolve(*receiver, *args)
                return signature(result, *args, recvr=self.this)
            try:
                given = python_signature.bind(*args, **kws)
            except TypeError as error:
                raise TypingError(str(error)) from None
            given.apply_defaults()
            arguments = tuple(
                types.Omitted(None) if value is None else value for value in given.args
            )
            result, _ = resolve(*receiver, *_given(arguments))
            typed = signature(result, *arguments, recvr=self.this if bound else None)
            return typed.replace(pysig=python_signature)

    return Template


def _given(arguments: Any) -> list[Any]:
    return [
        None if isinstance(argument, types.Omitted | types.NoneType) else argument
        for argument in arguments
    ]


def _lowering(resolve: Resolver) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, typed: Signature, values: Any) -> Any:
        given = _given(typed.args)
        _, build = resolve(*given)
        result = build(
            context, builder, [v for v, known in zip(values, given, strict=True) if known]
        )
        return context.get_dummy_value() if result is None else result

    return lower


# What the functions of libmathdx are linked with, by their names, which depend on all that they do.
_LINKS: dict[str, Any] = {}


def link_of(symbol: str, code: bytes) -> Any:
    """Return LTO-IR as what Numba links, the same for the same function: it is linked once."""
    if symbol not in _LINKS:
        _LINKS[symbol] = cuda.LTOIR(code, setup_callback=allow_large_shared_memory)
    return _LINKS[symbol]


@cache
def _declare(symbol: str, result: Any, arguments: tuple[Any, ...], link: tuple[Any, ...]) -> Any:
    return cuda.declare_device(symbol, result(*arguments), link=link, abi="c")


def call(
    context: Any,
    builder: Any,
    symbol: str,
    result: Any,
    arguments: tuple[Any, ...],
    values: list[Any],
    *link: Any,
) -> Any:
    """Call a C function in a kernel, and link its code with the kernel.

    Parameters
    ----------
    context, builder : object
        What a `Builder` gets.
    symbol : str
        Name of the function.
    result : numba.types.Type
        Type of what it returns, or ``types.void``.
    arguments : tuple of numba.types.Type
        Types of its arguments.
    values : list
        LLVM values of the arguments.
    *link : LinkableCode
        Code of the function, such as what `link_of` returns.
    """
    function = _declare(symbol, result, arguments, link)
    implementation = context.get_function(function, result(*arguments))
    if result != types.void:
        return implementation(builder, values)
    # Numba would declare that the function returns an address, and then it is not inlined.
    context.add_linking_libs(implementation.libs)
    packer = context.get_arg_packer(arguments)
    declared = ir.FunctionType(ir.VoidType(), packer.argument_types)
    callee = cgutils.get_or_insert_function(builder.module, declared, symbol)
    builder.call(callee, packer.as_arguments(builder, values))
    return None


def array_address(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the address of an array's first element, in a kernel."""
    pointer = context.make_array(array_type)(context, builder, array).data
    if pointer.type.addrspace:
        pointer = builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee), "generic")
    return pointer


def check_contiguous(name: str, given: Any) -> None:
    """Refuse an array in a kernel whose elements may not be next to each other.

    The functions get an address alone. Of two and more dimensions, rows or columns may be apart,
    as a leading dimension says.
    """
    if isinstance(given, types.Array) and given.ndim == 1 and given.layout == "A":
        msg = f"{name} is {given}, whose elements may be apart; a contiguous array is needed"
        raise TypingError(msg)


def value_address(context: Any, builder: Any, given: Any, value: Any, wanted: Any) -> Any:
    """Convert a number, and return the address of the result, in a kernel."""
    if isinstance(wanted, VectorType) and given != wanted:
        value = pair(context, builder, wanted, given, value)
    else:
        value = context.cast(builder, value, given, wanted)
    return cgutils.alloca_once_value(builder, value)
