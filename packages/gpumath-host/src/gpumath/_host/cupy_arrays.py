"""CuPy arrays. Imported only when an operand is one."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from math import prod
from typing import Any

import cupy
import numpy as np

from gpumath._host.stream import BorrowedStream

__all__ = ["LIBRARY"]

_DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


class _Cupy:
    name = "cupy"

    def device_id(self, operand: Any) -> int:
        device_id: int = operand.data.device_id
        return device_id

    def check_dtype(self, dtype: str) -> None:
        if dtype not in _DTYPES:
            msg = (
                f"CuPy has no element type for a {dtype} result; convert the operand to single "
                "or double precision, or use a PyTorch tensor"
            )
            raise ValueError(msg)

    def is_complex(self, operand: Any) -> bool:
        return bool(operand.dtype.kind == "c")

    def empty(self, like: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
        element = _DTYPES[dtype]
        size = element.itemsize
        device_id = like.data.device_id
        byte_strides = [stride * size for stride in strides]
        with _on_device(device_id):
            # Without memory of its own, cupy.ndarray refuses strides.
            memory = cupy.cuda.alloc(prod(shape) * size)
            return cupy.ndarray(shape, element, memory, byte_strides)

    def write(self, operand: Any, values: Any) -> None:
        operand[...] = cupy.asarray(values)

    def current_stream(self, device_id: int) -> int:
        stream: int = cupy.cuda.get_current_stream(device_id).ptr
        return stream

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:
        if stream == self.current_stream(device_id):
            return _on_device(device_id)
        stack = ExitStack()
        stack.enter_context(cupy.cuda.Device(device_id))
        stack.enter_context(_cupy_stream(stream, device_id) if stream else cupy.cuda.Stream.null)
        return stack

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        with self.on_stream(stream, device_id):
            block = cupy.cuda.alloc(size)
        return block.ptr, block


def _on_device(device_id: int) -> AbstractContextManager[object]:
    if cupy.cuda.runtime.getDevice() == device_id:
        return _NO_CHANGE
    return cupy.cuda.Device(device_id)  # type: ignore[no-any-return]  # CuPy has no type hints


def _cupy_stream(stream: int, device_id: int) -> AbstractContextManager[object]:
    # CuPy 14 has from_external() and deprecates the class that came before it.
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(BorrowedStream(stream))  # type: ignore[no-any-return]  # CuPy has no type hints
    return cupy.cuda.ExternalStream(stream, device_id)  # type: ignore[no-any-return]


_NO_CHANGE = nullcontext()

LIBRARY = _Cupy()
