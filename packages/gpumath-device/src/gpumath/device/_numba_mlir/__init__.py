"""What numba-cuda-mlir, a second compiler of kernels, needs to know of device functions.

It has transforms, and matrix products of arrays. Importing this imports numba-cuda-mlir.
"""
# ruff: noqa: ARG001, ARG005 - the compiler passes the object, of which the type knows all

from __future__ import annotations

from typing import Any

import cffi
import numpy as np
from numba_cuda_mlir import cuda
from numba_cuda_mlir._mlir.dialects import llvm
from numba_cuda_mlir._mlir.extras import types as mlir_types
from numba_cuda_mlir.compiler import declare_device
from numba_cuda_mlir.cuda import vector_types
from numba_cuda_mlir.extending import (
    lowering_registry,
    overload_attribute,
    overload_method,
    refresh_registries,
    typing_registry,
)
from numba_cuda_mlir.lowering_utilities import to_mlir_type, unverified_convert
from numba_cuda_mlir.lowering_utilities.type_conversions import to_numba_type
from numba_cuda_mlir.models import PrimitiveModel, register_model
from numba_cuda_mlir.numba_cuda import types
from numba_cuda_mlir.numba_cuda.cudadrv.linkable_code import LTOIR
from numba_cuda_mlir.numba_cuda.extending import typeof_impl

from gpumath.device._fft import FFT
from gpumath.device._matmul import Matmul
from gpumath.device._numba_mlir._refusals import refuse
from gpumath.device._types import Complex, Vector

_FFI = cffi.FFI()


class ObjectType(types.Type):
    """Type of one object. All of the object is in the type."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(f"{type(value).__name__}{value._key}")


class FFTType(ObjectType):
    """Type of one `gpumath.device.FFT`."""


class MatmulType(ObjectType):
    """Type of one `gpumath.device.Matmul`."""


class _ObjectModel(PrimitiveModel):
    def __init__(self, manager: Any, object_type: Any) -> None:
        super().__init__(manager, object_type, mlir_types.i8())


def _register(python_class: Any, object_type: type[ObjectType]) -> None:
    typeof_impl.register(python_class)(lambda value, context: object_type(value))
    register_model(object_type)(_ObjectModel)
    to_mlir_type.register(object_type)(lambda value, context: mlir_types.i8())

    @unverified_convert.register(python_class)
    def _convert(value: Any, target_type: Any, signed: bool = False) -> Any:
        return llvm.mlir_undef(mlir_types.i8())

    for name in python_class._constants:
        _register_attribute(object_type, name)


def _register_attribute(object_type: type[ObjectType], name: str) -> None:
    def constant(value: Any) -> Any:
        return lambda instance: value

    # The compiler compares the signatures of the two functions, so neither has annotations.
    register = overload_attribute(
        *(object_type, name),
        inline="always",
        typing_registry=typing_registry,
        lowering_registry=lowering_registry,
    )
    register(lambda instance: constant(getattr(instance.value, name)))


@to_numba_type.register(Complex)
def _complex_type(value: Complex) -> Any:
    real = to_numba_type(np.dtype(value.real_dtype))
    return types.Complex(f"complex{2 * real.bitwidth}", real)


@to_numba_type.register(Vector)
def _vector_type(value: Vector) -> Any:
    return getattr(vector_types, f"float16x{value.size}")


@typeof_impl.register(Complex)
@typeof_impl.register(Vector)
def _typeof_number(value: Any, context: Any) -> Any:
    return typeof_impl(to_numba_type(value), context)


@cuda.jit(device=True, forceinline=True)
def _address(array: Any) -> Any:
    return _FFI.from_buffer(array)


_register(FFT, FFTType)
_register(Matmul, MatmulType)


@overload_method(FFTType, "execute", strict=False, typing_registry=typing_registry)
def _execute(fft: Any, data: Any, shared: Any = None) -> Any:
    transform = fft.value
    has_shared = isinstance(shared, types.Array)
    in_shared_memory = transform.execution == "Block" and not has_shared
    code = transform._code("shared_memory" if in_shared_memory else "register_memory")
    pointer = types.CPointer(to_numba_type(transform.value_type))
    function = _declare(code, (pointer,) * (1 + has_shared))
    if has_shared:

        def execute_with(fft: Any, data: Any, shared: Any = None) -> None:
            function(_address(data), _address(shared))

        return execute_with

    def execute(fft: Any, data: Any, shared: Any = None) -> None:
        function(_address(data))

    return execute


@overload_method(MatmulType, "execute", strict=False, typing_registry=typing_registry)
def _multiply(
    product: Any,
    p1: Any,
    p2: Any,
    p3: Any,
    p4: Any,
    p5: Any,
    p6: Any = None,
    p7: Any = None,
    p8: Any = None,
) -> Any:
    matmul = product.value
    runtime = isinstance(p8, types.Integer)
    code = matmul._code("dynamic_leading_dimensions" if runtime else "static_leading_dimensions")
    a, b, c = (types.CPointer(to_numba_type(value_type)) for value_type in matmul._value_types)
    number, leading = _pointer_to(matmul.c_value_type), _pointer_to(np.uint32)
    if runtime:
        ld = types.CPointer(types.uint32)
        function = _declare(code, (c, a, ld, b, ld, c, c, ld))

        def execute_with(  # type: ignore[no-untyped-def]  # the defaults are what counts
            product, p1, p2, p3, p4, p5, p6=None, p7=None, p8=None
        ):
            a, b, c = _address(p2), _address(p4), _address(p7)
            function(number(p1), a, leading(p3), b, leading(p5), number(p6), c, leading(p8))

        return execute_with
    function = _declare(code, (c, a, b, c, c))

    def execute(  # type: ignore[no-untyped-def]  # the defaults are what counts
        product, p1, p2, p3, p4, p5, p6=None, p7=None, p8=None
    ):
        function(number(p1), _address(p2), _address(p3), number(p4), _address(p5))

    return execute


def _declare(code: Any, arguments: tuple[Any, ...]) -> Any:
    link = LTOIR(code.ltoir)
    return declare_device(code.symbols[0], types.void(*arguments), link=link, abi="c")


def _pointer_to(dtype: Any) -> Any:
    """Return a function that returns the address of a copy of a number, in a kernel."""

    @cuda.jit(device=True, forceinline=True)
    def pointer(value: Any) -> Any:
        memory = cuda.local.array(shape=(1,), dtype=dtype)
        memory[0] = value
        return _FFI.from_buffer(memory)

    return pointer


refuse(MatmulType)
refresh_registries(include_uninitialized_cuda=False)
