"""CuPy arrays. Imported only when an operand is one."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import cupy

from gpumath._host.stream import BorrowedStream

__all__ = ["LIBRARY"]


class _Cupy:
    name = "cupy"

    def check_dtype(self, dtype: str) -> None:
        if dtype == "complex32":
            msg = (
                f"CuPy has no element type for a {dtype} result; convert the operand to single "
                "or double precision, or use a PyTorch tensor"
            )
            raise ValueError(msg)

    def write(self, operand: Any, values: Any) -> None:
        operand[...] = cupy.asarray(values)

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        with operand.device:
            return cupy.roll(operand, shifts, axes)

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(cupy.cuda.Device(device_id))
        if stream != cupy.cuda.get_current_stream().ptr:
            borrowed = _cupy_stream(stream, device_id) if stream else cupy.cuda.Stream.null
            stack.enter_context(borrowed)
        return stack

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        with self.on_stream(stream, device_id):
            block = cupy.cuda.alloc(size)
            # With its stream, whose handle another stream would get once it is gone.
            return block.ptr, (block, cupy.cuda.get_current_stream())

    def trim(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()


def _cupy_stream(stream: int, device_id: int) -> AbstractContextManager[object]:
    # CuPy 14 has from_external() and deprecates the class that came before it.
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(BorrowedStream(stream))  # type: ignore[no-any-return]  # CuPy has no type hints
    return cupy.cuda.ExternalStream(stream, device_id)  # type: ignore[no-any-return]


LIBRARY = _Cupy()
