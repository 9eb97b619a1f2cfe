"""NumPy arrays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gpumath.bindings import core

__all__ = ["LIBRARY"]


class _Numpy:
    name = "numpy"

    def check_dtype(self, dtype: str) -> None:
        if dtype == "complex32":
            msg = (
                f"NumPy has no element type for a {dtype} result; convert the operand to single "
                "or double precision, or use a PyTorch tensor on a GPU"
            )
            raise ValueError(msg)

    def write(self, operand: Any, values: Any) -> None:
        """NumPy has no arrays in device memory."""

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        return np.roll(operand, shifts, axes)

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:  # noqa: ARG002 - NumPy has host memory only
        return nullcontext()

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        block = core.allocate(size, device_id=device_id, stream=stream)
        return block.device_ptr, block

    def trim(self) -> None:
        """NumPy has no pool."""


LIBRARY = _Numpy()
