"""PyTorch tensors, on the CPU or a CUDA device. Imported only when an operand is one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

__all__ = ["LIBRARY"]

_DTYPES = {
    "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64,
    "complex32": torch.complex32,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}


class _Torch:
    name = "torch"

    def device_id(self, operand: Any) -> int | None:
        if operand.requires_grad or operand.layout is not torch.strided:
            _refuse(operand)
        if operand.is_cpu:
            return None
        if not operand.is_cuda:
            msg = (
                f"the operand is on the device {operand.device}; CPU and CUDA tensors are accepted"
            )
            raise ValueError(msg)
        device_id: int = operand.device.index
        return device_id

    def check_dtype(self, dtype: str) -> None:
        """PyTorch has every element type."""

    def is_complex(self, operand: Any) -> bool:
        return bool(operand.is_complex())

    def empty(self, like: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
        return torch.empty_strided(shape, strides, dtype=_DTYPES[dtype], device=like.device)

    def write(self, operand: Any, values: Any) -> None:
        if operand.dtype is torch.complex32:
            operand = operand.view(torch.int32)
        # from_numpy() takes neither negative strides nor other gaps than PyTorch's own.
        operand.copy_(torch.from_numpy(np.ascontiguousarray(values)))

    def current_stream(self, device_id: int) -> int:
        return _current_stream(device_id)

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:
        if stream == _current_stream(device_id):
            return _NO_CHANGE
        # PyTorch knows the legacy default stream by 0 alone.
        if stream == _LEGACY:
            borrowed = torch.cuda.default_stream(device_id)
        else:
            borrowed = torch.cuda.ExternalStream(stream, device=device_id)
        context: AbstractContextManager[object] = torch.cuda.stream(borrowed)
        return context

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        with self.on_stream(stream, device_id):
            block = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", device_id))
        return block.data_ptr(), block


def _refuse(operand: Any) -> None:
    if operand.layout is not torch.strided:
        msg = (
            f"the operand is a PyTorch tensor of layout {operand.layout}; only dense tensors are "
            "accepted: call its to_dense() first"
        )
        raise ValueError(msg)
    # A result without gradient would be a silent loss; where gradients are off, there is none.
    if torch.is_grad_enabled():
        msg = (
            "the operand requires a gradient, and gpumath does not differentiate; call its "
            "detach() first, or work under torch.no_grad()"
        )
        raise ValueError(msg)


def _public_current_stream(device_id: int) -> int:
    handle: int = torch.cuda.current_stream(device_id).cuda_stream
    return handle


# The raw accessor takes 0.1 µs, the public one 4 µs. CPU-only builds of PyTorch lack it.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _public_current_stream)

_NO_CHANGE = nullcontext()
_LEGACY = 1

LIBRARY = _Torch()
