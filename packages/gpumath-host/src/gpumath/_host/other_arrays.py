"""Arrays of every other library: JAX, Numba, gpumath itself, whatever lends its memory.

Results are gpumath arrays, which every library can take over without a copy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any

import numpy as np

from gpumath.bindings import core

__all__ = ["LIBRARY"]


class _Current(threading.local):
    """The stream that results are allocated on."""

    stream: int = 0


class _Other:
    name = "any other array class"

    def __init__(self) -> None:
        self._current = _Current()

    def device_id(self, operand: Any) -> int | None:
        return core.TensorView(operand).device_id

    def check_dtype(self, dtype: str) -> None:
        """Accept all: gpumath arrays have every element type."""

    def is_complex(self, operand: Any) -> bool:
        return core.TensorView(operand).dtype.startswith("complex")

    def empty(self, like: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
        device_id = self.device_id(like)
        if device_id is None:
            return core.Array(shape, dtype, kind="host", strides=strides)
        stream = self._current.stream
        return core.Array(shape, dtype, device_id=device_id, stream=stream, strides=strides)

    def write(self, operand: Any, values: Any) -> None:
        view = core.TensorView(operand)
        if view.device != "cpu":
            msg = (
                "the operand has gaps between its elements, which inplace=True and execution='cpu' "
                "would overwrite on the device; copy it first, or leave one of them out"
            )
            raise ValueError(msg)
        low, size = view.span
        if prod(view.shape) == 0:
            return
        memory: Any = (ctypes.c_char * size).from_address(low)
        strides = [stride * view.itemsize for stride in view.strides]
        target: Any = np.ndarray(view.shape, values.dtype, memory, view.ptr - low, strides)
        target[...] = values

    def current_stream(self, device_id: int) -> int:  # noqa: ARG002 - the default stream of any device
        return 0

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:  # noqa: ARG002
        return self._on(stream)

    @contextmanager
    def _on(self, stream: int) -> Iterator[None]:
        before, self._current.stream = self._current.stream, stream
        try:
            yield
        finally:
            self._current.stream = before

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        block = core.allocate(size, device_id=device_id, stream=stream)
        return block.device_ptr, block


LIBRARY = _Other()
