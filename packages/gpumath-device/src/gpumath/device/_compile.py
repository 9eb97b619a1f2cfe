"""Compiles Python functions to device functions that CUDA C++ can call. Imports Numba."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from typing import Any

from gpumath.device import _check_numba  # noqa: F401 - before all that imports Numba

# isort: split
import numpy as np
from cuda.bindings.nvvm import nvvmError
from cuda.pathfinder import DynamicLibNotFoundError
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaError
from numba.cuda.compiler import compile_cuda
from numba.cuda.cudadrv import nvvm
from numba.cuda.cudadrv.error import CudaSupportError, NvvmError

__all__ = ["compile_callback"]

_SCALARS = {
    name: getattr(types, name)
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
}
# Names that NVCC gives to the structs of complex numbers. The linker inlines a function only if
# both sides use the same names.
_NVCC_STRUCTS = {"complex64": "struct.float2", "complex128": "struct.double2"}

_BYTE_POINTER = ir.IntType(8).as_pointer()
_OFFSET = ir.IntType(64)
_QUOTED_NAME = re.compile(r'@"([^"]+)"')
# Held while LLVM modules are edited, because the modules of all threads share their types.
_BUILD_LOCK = threading.Lock()


def compile_callback(
    function: Callable[..., Any],
    *,
    stores: bool,
    element: str,
    user_info: Any,
    symbol: str,
    compute_capability: int,
    representation: str,
) -> bytes:
    """Compile a function to a callback, as `gpumath.device.compile_fft_callback` documents."""
    element_type = _SCALARS[element]
    pointer, info = types.CPointer(element_type), types.CPointer(_type_of(user_info))
    stored = (element_type,) if stores else ()
    arguments = (pointer, types.uint64, *stored, info, pointer)
    nvvm_options: dict[str, Any] = {"opt": 3}
    if representation == "ltoir":
        nvvm_options["gen-lto"] = None
    python_function = getattr(function, "py_func", function)
    try:
        compiled = compile_cuda(
            python_function,
            types.void if stores else element_type,
            arguments,
            forceinline=True,
            nvvm_options=nvvm_options,
            cc=divmod(compute_capability, 10),
        )
    except NumbaError as error:
        name = getattr(python_function, "__qualname__", python_function)
        signature = ", ".join(map(str, arguments))
        msg = f"Numba cannot compile {name}({signature}): {error}"
        raise ValueError(msg) from error
    except DynamicLibNotFoundError as error:
        msg = f"{error}\nTo fix it: pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
        raise RuntimeError(msg) from error
    except CudaSupportError as error:
        msg = (
            "Numba compiles the device functions that a function calls for the GPU of the machine, "
            f"and finds none: {error}"
        )
        raise RuntimeError(msg) from error
    library = compiled.library
    inner = library.get_function(compiled.fndesc.llvm_func_name)
    with _BUILD_LOCK:
        _add_entry(inner, symbol, element, stores=stores)
        inner.linkage = "internal"
        names = {f.name for module in library.modules for f in module.functions if f.blocks}
        texts = _with_unique_names(library.llvm_strs, names - {symbol})
    options = nvvm_options | {"arch": f"compute_{compute_capability}"}
    try:
        code: bytes = nvvm.compile_ir(texts, **options)
    except (nvvmError, NvvmError) as error:
        msg = f"NVVM cannot compile for the compute capability {compute_capability}: {error}"
        raise ValueError(msg) from error
    return code.rstrip(b"\0\n ") if representation == "ptx" else code


def _type_of(user_info: Any) -> types.Type:
    if isinstance(user_info, types.Type):
        return user_info
    try:
        return _SCALARS[np.dtype(user_info).name]
    except (TypeError, KeyError):
        msg = (
            f"user_info_dtype is {user_info!r}; {', '.join(_SCALARS)}, or a type of Numba is needed"
        )
        raise ValueError(msg) from None


def _add_entry(inner: ir.Function, symbol: str, element: str, *, stores: bool) -> None:
    """Add the function that C++ calls, with exactly the types that NVCC gives to it.

    It calls ``inner``, which Numba has compiled.
    """
    module = inner.module
    real = ir.FloatType() if element in ("float32", "complex64") else ir.DoubleType()
    number: ir.Type = real
    if element in _NVCC_STRUCTS:
        number = module.context.get_identified_type(_NVCC_STRUCTS[element])
        if number.is_opaque:
            number.set_body(real, real)
    parameters = [_BYTE_POINTER, _OFFSET, _BYTE_POINTER, _BYTE_POINTER]
    if stores:
        parameters.insert(2, number)
    returned = ir.VoidType() if stores else number
    entry = ir.Function(module, ir.FunctionType(returned, parameters), symbol)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    # A function of Numba takes the address of its result first, and a complex number as two
    # numbers.
    slot = builder.alloca(inner.args[0].type.pointee)
    values = list(entry.args)
    if stores and number is not real:
        values[2:3] = [builder.extract_value(entry.args[2], part) for part in range(2)]
    passed = [
        builder.bitcast(value, argument.type) if value.type == _BYTE_POINTER else value
        for value, argument in zip(values, inner.args[1:], strict=True)
    ]
    builder.call(inner, [slot, *passed])
    if stores:
        builder.ret_void()
        return
    result = builder.load(slot)
    if number is not real:
        parts = [builder.extract_value(result, part) for part in range(2)]
        result = ir.Constant(number, ir.Undefined)
        for part, value in enumerate(parts):
            result = builder.insert_value(result, value, part)
    builder.ret(result)


def _with_unique_names(texts: list[str], names: set[str]) -> list[str]:
    """Add a digest of the code to the names of functions.

    Numba makes names unique within a process only. Without the digest, the linker could confuse
    functions of two callbacks that were compiled in two processes.
    """
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    def rename(match: re.Match[str]) -> str:
        name = match[1]
        return f'@"{name}_{digest}"' if name in names else match[0]

    return [_QUOTED_NAME.sub(rename, text) for text in texts]
