"""NumPy arrays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gpumath.bindings import core

__all__ = ["LIBRARY"]

_DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


class _Numpy:
    name = "numpy"

    def device_id(self, operand: Any) -> None:  # noqa: ARG002 - NumPy has host memory only
        return None

    def check_dtype(self, dtype: str) -> None:
        if dtype not in _DTYPES:
            msg = (
                f"NumPy has no element type for a {dtype} result; convert the operand to single "
                "or double precision, or use a PyTorch tensor on a GPU"
            )
            raise ValueError(msg)

    def is_complex(self, operand: Any) -> bool:
        return bool(operand.dtype.kind == "c")

    def empty(self, like: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:  # noqa: ARG002 - all NumPy arrays are on the same device
        element = _DTYPES[dtype]
        size = element.itemsize
        return np.ndarray(shape, element, None, 0, [stride * size for stride in strides])

    def write(self, operand: Any, values: Any) -> None:
        operand[...] = values

    def current_stream(self, device_id: int) -> int:  # noqa: ARG002 - the default stream of any device
        return 0

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        block = core.allocate(size, device_id=device_id, stream=stream)
        return block.device_ptr, block


LIBRARY = _Numpy()
