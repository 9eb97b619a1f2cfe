"""``Solver.execute`` and the methods of the classes of solvers in kernels."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from numba import cuda
from numba.cuda import types
from numba.cuda.core.errors import TypingError

from gpumath.device import _orthogonal, _solver_classes
from gpumath.device._numba._calls import (
    Builder,
    array_address,
    call,
    check_contiguous,
    device_method,
    link_of,
    value_address,
)
from gpumath.device._numba._objects import ObjectType
from gpumath.device._numba._vectors import array_type, holds
from gpumath.device._solver import Solver
from gpumath.device._solver_code import solver_fatbin
from gpumath.device._solver_properties import Composed
from gpumath.device._types import Complex

__all__ = ["SOLVER_TYPES"]

_INTEGERS = ("info", "ipiv")
_NUMPY_COMPLEX = {types.float32: types.complex64, types.float64: types.complex128}


class SolverType(ObjectType):
    """Type of one `gpumath.device.Solver`."""


SOLVER_TYPES: dict[type, type[ObjectType]] = {Solver: SolverType}


@cache
def _fatbin() -> Any:
    """Return what all solvers call, as what Numba links once."""
    return cuda.Fatbin(solver_fatbin(), name="cusolverdx")


@device_method(SolverType, "execute")
def _execute(solver: SolverType, *given: Any) -> tuple[Any, Builder]:
    description: Solver = solver.value
    forms = {api: description._parameters(api) for api in description._apis}
    for api, names in forms.items():
        if len(names) == len(given):
            return _resolve(description, "execute", api, dict(zip(names, given, strict=True)))
    shown = " or ".join(f"execute({', '.join(names)})" for names in forms.values())
    msg = f"Solver.execute has {len(given)} arguments; for {description.function!r}, it is {shown}"
    raise TypingError(msg)


def _resolve(solver: Solver, method: str, api: str, given: dict[str, Any]) -> tuple[Any, Builder]:
    """Resolve a call of a function with these types of arguments, by the names of C's."""
    for name, argument in given.items():
        _check(solver, method, name, argument)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        code = solver._code(api)
        addresses, pointers = [], []
        for argument, value in zip(given.values(), values[1:], strict=True):
            if isinstance(argument, types.Array):
                address = array_address(context, builder, argument, value)
                element = argument.dtype
            else:
                element = types.uint32
                address = value_address(context, builder, argument, value, element)
            addresses.append(address)
            pointers.append(types.CPointer(element))
        links = (link_of(code.symbols[0], code.ltoir), _fatbin())
        call(context, builder, code.symbols[0], types.void, tuple(pointers), addresses, *links)

    return types.void, build


def _check(solver: Solver, method: str, name: str, argument: Any) -> None:
    if name.startswith("ld"):
        fits, needed = isinstance(argument, types.Integer), "an integer"
    else:
        if name in _INTEGERS:
            wanted: Any = solver.info_type
        else:
            wanted = solver.precision if name == "lambda" else solver.value_type
        elements = [array_type(wanted)]
        if isinstance(wanted, Complex):
            elements.insert(0, _NUMPY_COMPLEX[array_type(wanted.real_dtype)])
        is_array = isinstance(argument, types.Array)
        fits = is_array and (argument.dtype in elements or holds(argument.dtype, wanted))
        needed = f"an array of {elements[0]}"
    if not fits:
        msg = f"{name} of {method} of {solver} is {argument}; {needed} is needed"
        raise TypingError(msg)
    check_contiguous(f"{name} of {method} of {solver}", argument)


def _register_class(described: type[Composed]) -> None:
    numba_type = type(f"{described.__name__}Type", (ObjectType,), {})
    SOLVER_TYPES[described] = numba_type
    for method, _ in described._METHODS:
        _register_method(numba_type, described, method)
    for matrix in described._MATRICES:
        _register_layout(numba_type, matrix)


def _register_method(numba_type: Any, described: type[Composed], method: str) -> None:
    public = inspect.signature(getattr(described, method))

    def resolve(this: Any, *given: Any) -> tuple[Any, Builder]:
        arguments = dict(zip(list(public.parameters)[1:], given, strict=True))
        description: Composed = this.value
        solver = _solver_of(description, method)
        dimensions = [name for name in arguments if name.startswith("ld")]
        passed = [name for name in dimensions if arguments[name] is not None]
        if passed and passed != dimensions:
            msg = f"{method} of {solver} gets {passed} alone; {dimensions} go together"
            raise TypingError(msg)
        api = "runtime_leading_dim" if passed else "compiled_leading_dim"
        order = solver._parameters(api)
        result, build = _resolve(solver, method, api, {n: arguments[n] for n in order})
        positions = [[n for n in arguments if arguments[n] is not None].index(n) for n in order]

        def build_in_order(context: Any, builder: Any, values: list[Any]) -> None:
            build(context, builder, [values[0], *(values[1 + place] for place in positions)])

        return result, build_in_order

    _with_signature(resolve, list(public.parameters.values()))
    device_method(numba_type, method)(resolve)


def _solver_of(description: Composed, method: str) -> Solver:
    if method == "solve" and "factorize" in dict(description._METHODS):
        m, n, _ = description.size
        if m != n:
            msg = f"{type(description).__name__}.solve needs a square matrix, and A is {m} x {n}"
            raise TypingError(msg)
    return description._solvers[method]


def _register_layout(numba_type: Any, matrix: str) -> None:
    """Make the methods that return strides and sizes callable in kernels."""

    def distances(this: Any, given: Any) -> Builder:
        (_, rows, columns), order, compiled_in = this.value._layout(matrix)
        count = columns if order == "col_major" else rows

        def build(context: Any, builder: Any, values: list[Any]) -> list[Any]:
            if given is None:
                distance = context.get_constant(types.int64, compiled_in)
            else:
                distance = context.cast(builder, values[1], given, types.int64)
            batch = builder.mul(distance, context.get_constant(types.int64, count))
            one = context.get_constant(types.int64, 1)
            return [batch, one, distance] if order == "col_major" else [batch, distance, one]

        return build

    def strides(this: Any, ld: Any = None) -> tuple[Any, Builder]:
        build = distances(this, ld)
        result = types.UniTuple(types.int64, 3)
        return result, lambda context, builder, values: context.make_tuple(
            builder, result, build(context, builder, values)
        )

    def size(this: Any, ld: Any = None) -> tuple[Any, Builder]:
        build = distances(this, ld)

        def build_size(context: Any, builder: Any, values: list[Any]) -> Any:
            batches = context.get_constant(types.int64, this.value.batches_per_block)
            return builder.mul(batches, build(context, builder, values)[0])

        return types.int64, build_size

    dimension = inspect.Parameter(
        f"ld{matrix[0]}", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None
    )
    this = inspect.Parameter("this", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for name, resolve in (("strides", strides), ("size", size)):
        _with_signature(resolve, [this, dimension])
        device_method(numba_type, f"{matrix}_{name}")(resolve)


def _with_signature(resolve: Any, parameters: list[inspect.Parameter]) -> None:
    resolve.__signature__ = inspect.Signature(parameters)


for _described in (
    _solver_classes.CholeskySolver,
    _solver_classes.LUSolver,
    _solver_classes.LUPivotSolver,
    _solver_classes.TriangularSolver,
    _orthogonal.QRFactorize,
    _orthogonal.LQFactorize,
    _orthogonal.QRMultiply,
    _orthogonal.LQMultiply,
    _orthogonal.LeastSquaresSolver,
):
    _register_class(_described)
