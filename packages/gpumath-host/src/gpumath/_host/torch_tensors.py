"""PyTorch tensors, on the CPU or a CUDA device. Imported only when an operand is one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch

__all__ = ["LIBRARY"]


class _Torch:
    name = "torch"

    def check_dtype(self, dtype: str) -> None:
        """PyTorch has every element type."""

    def write(self, operand: Any, values: Any) -> None:
        if operand.dtype is torch.complex32:
            operand = operand.view(torch.int32)
        # from_numpy() takes neither negative strides nor other gaps than PyTorch's own.
        operand.copy_(torch.from_numpy(np.ascontiguousarray(values)))

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        return torch.roll(operand, shifts, axes)

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:
        # From the handle 0, PyTorch would make a new stream.
        if stream in _DEFAULT:
            borrowed = torch.cuda.default_stream(device_id)
        else:
            borrowed = torch.cuda.ExternalStream(stream, device=device_id)
        context: AbstractContextManager[object] = torch.cuda.stream(borrowed)
        return context

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        with self.on_stream(stream, device_id):
            block = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", device_id))
        return block.data_ptr(), block

    def trim(self) -> None:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


_DEFAULT = (0, 1)

LIBRARY = _Torch()
