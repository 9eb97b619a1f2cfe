"""Runs whose operand is on the other side: in host memory for the GPU, or the other way round.

The whole range of memory that the operand's elements lie in is copied, so that the plan, made for
the operand's own strides, fits the copy too. Both functions return when the result is there.
"""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.memory import Workspace
from gpumath._host.stream import refuse_capture
from gpumath.bindings import core

__all__ = ["run_on_device", "run_on_host"]

_ALIGNMENT = 16


class _Plan(Protocol):
    """What the plans of every unary operation have in common."""

    @property
    def device_id(self) -> int | None: ...
    @property
    def inplace(self) -> bool: ...
    @property
    def workspace_size(self) -> int: ...
    def execute(
        self,
        input: object,
        output: object,
        *,
        direction: int = ...,
        stream: Any = ...,
        workspace: int = ...,
        norm: Any = ...,
    ) -> None: ...
    def empty_result(self, operand: object, stream: Any = ...) -> Any: ...


def run_on_device(
    plan: _Plan,
    library: ArrayLibrary,
    operand: Any,
    out: Any,
    direction: int,
    stream: int,
    workspace: Workspace,
    norm: str | None,
) -> Any:
    """Copy an operand in host memory to the plan's device, run there, and copy the result back."""
    device_id = plan.device_id or 0
    source = core.TensorView(operand)
    low, size = source.span
    if size > 0:
        refuse_capture(stream, device_id, "the operand is in host memory", "copy it to the device")
    result = _result(plan, operand, out)
    target = core.TensorView(result)
    if size == 0:
        return result
    try:
        front = source.ptr - low
        _block, copied = _aligned(front, size, device_id, stream)
        core.copy(copied, low, size, device_id=device_id, stream=stream)
        result_low, result_size = target.span
        if plan.inplace:
            device_result = copied
        else:
            result_front = target.ptr - result_low
            _result_block, device_result = _aligned(result_front, result_size, device_id, stream)
        output_address = device_result + (target.ptr - result_low)
        scratch = 0
        if plan.workspace_size:
            scratch, _ = workspace(operand, plan.workspace_size, device_id, stream, captured=False)
        plan.execute(
            *(copied + front, output_address),
            direction=direction,
            stream=stream,
            workspace=scratch,
            norm=norm,
        )
        if _has_gaps(target):
            staged = np.empty(result_size, np.uint8)
            result_low = staged.ctypes.data
        core.copy(result_low, device_result, result_size, device_id=device_id, stream=stream)
    finally:
        # Also after an error: the copies read and write host memory that the caller may free.
        core.synchronize_stream(stream, device_id=device_id, interruptible=False)
    if _has_gaps(target):
        library.write(result, _elements(staged, target))
    return result


def run_on_host(
    plan: _Plan,
    library: ArrayLibrary,
    operand: Any,
    out: Any,
    device_id: int,
    direction: int,
    stream: int,
    norm: str | None,
) -> Any:
    """Copy an operand in device memory to the host, run there, and copy the result back."""
    refuse_capture(stream, device_id, "execution='cpu' copies and waits", "leave it out")
    # Libraries without a current stream of their own order here what makes the elements.
    source = core.TensorView(operand, stream=stream)
    low, size = source.span
    with library.on_stream(stream, device_id):
        result = _result(plan, operand, out, stream)
    if size == 0:
        return result
    target = core.TensorView(result, stream=stream)
    result_low, result_size = target.span
    staged = np.empty(size, np.uint8)
    staged_result = staged if plan.inplace else np.empty(result_size, np.uint8)
    try:
        core.copy(staged.ctypes.data, low, size, device_id=device_id, stream=stream)
        core.synchronize_stream(stream, device_id=device_id)
        plan.execute(
            staged.ctypes.data + (source.ptr - low),
            staged_result.ctypes.data + (target.ptr - result_low),
            direction=direction,
            norm=norm,
        )
        if _has_gaps(target):
            with library.on_stream(stream, device_id):
                library.write(result, _elements(staged_result, target))
        else:
            core.copy(
                result_low,
                staged_result.ctypes.data,
                result_size,
                device_id=device_id,
                stream=stream,
            )
    finally:
        # Also after an error: the copies use memory that is freed on return.
        core.synchronize_stream(stream, device_id=device_id, interruptible=False)
    return result


def _aligned(front: int, size: int, device_id: int, stream: int) -> tuple[core.MemoryPointer, int]:
    """Allocate device memory that is aligned for every type ``front`` bytes behind its start."""
    padding = -front % _ALIGNMENT
    block = core.allocate(padding + size, device_id=device_id, stream=stream)
    return block, block.device_ptr + padding


def _result(plan: _Plan, operand: Any, out: Any, stream: Any = None) -> Any:
    if out is not None:
        return out
    return operand if plan.inplace else plan.empty_result(operand, stream)


def _has_gaps(view: core.TensorView) -> bool:
    """Whether there is memory between the elements that does not belong to the operand."""
    return view.span[1] != view.itemsize * prod(view.shape)


def _elements(staged: npt.NDArray[np.uint8], view: core.TensorView) -> npt.NDArray[Any]:
    """View the elements of ``view`` in ``staged``, a copy of the range of memory it spans."""
    # NumPy lacks complex32, and nothing is computed here: integers of its size stand for it.
    dtype = np.dtype(np.int32 if view.dtype == "complex32" else view.dtype)
    strides = [stride * dtype.itemsize for stride in view.strides]
    return np.ndarray(view.shape, dtype, staged.data, view.ptr - view.span[0], strides)
