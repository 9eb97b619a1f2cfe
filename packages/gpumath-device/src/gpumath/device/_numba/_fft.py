"""``FFT.execute`` in kernels."""

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
)
from gpumath.device._numba._objects import ObjectType, callable_type
from gpumath.device._numba._vectors import array_type

__all__ = ["CallableFFTType", "FFTType"]


class FFTType(ObjectType):
    """Type of one `gpumath.device.FFT`."""


@device_method(FFTType, "execute")
def _execute(fft: FFTType, data: Any, shared: Any = None) -> tuple[Any, Builder]:
    transform = fft.value
    element = array_type(transform.value_type)
    arrays = {"data": data}
    if shared is not None:
        arrays["shared"] = shared
        if transform.execution == "Thread":
            msg = (
                f"shared is passed to {transform}, but a thread's transform needs no shared memory"
            )
            raise TypingError(msg)
    for name, given in arrays.items():
        if not isinstance(given, types.Array) or given.dtype != element:
            msg = (
                f"{name} of FFT.execute is {given}; an array made with dtype=fft.value_type is "
                f"needed, whose elements are {element}"
            )
            raise TypingError(msg)
        check_contiguous(f"{name} of FFT.execute", given)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        in_shared_memory = transform.execution == "Block" and "shared" not in arrays
        code = transform._code("shared_memory" if in_shared_memory else "register_memory")
        pointers = [
            array_address(context, builder, given, value)
            for given, value in zip(arrays.values(), values[1:], strict=True)
        ]
        arguments = (types.CPointer(element),) * len(pointers)
        link = link_of(code.symbols[0], code.ltoir)
        call(context, builder, code.symbols[0], types.void, arguments, pointers, link)

    return types.void, build


CallableFFTType = callable_type(FFTType, _execute)
