"""Arrays of every other library: JAX, Numba, gpumath itself, whatever lends its memory.

Results are gpumath arrays, which every library can take over without a copy.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gpumath.bindings import core

__all__ = ["LIBRARY"]


class _Other:
    name = "any other array class"

    def check_dtype(self, dtype: str) -> None:
        """Accept all: gpumath arrays have every element type."""

    def write(self, operand: Any, values: Any) -> None:  # noqa: ARG002 - there is nothing to call
        msg = (
            "the operand has gaps between its elements, which inplace=True and execution='cpu' "
            "would overwrite on the device; copy it first, or leave one of them out"
        )
        raise ValueError(msg)

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:  # noqa: ARG002 - there is nothing to call
        msg = (
            f"the operand is a {type(operand).__name__}; a NumPy array, a CuPy array or a PyTorch "
            "tensor is needed, for example from cupy.asarray()"
        )
        raise ValueError(msg)

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:  # noqa: ARG002 - results are made for the stream that they are given
        return nullcontext()

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        block = core.allocate(size, device_id=device_id, stream=stream)
        return block.device_ptr, block

    def trim(self) -> None:
        """Other libraries have pools that are not known here."""


LIBRARY = _Other()
