"""Runs on the CPU of operands in device memory. The other way round is the core's business.

The whole range of memory that the operand's elements lie in is copied, so that the plan, made for
the operand's own strides, fits the copy too.
"""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.stream import refuse_capture
from gpumath.bindings import core

__all__ = ["run_on_host"]


class _Plan(Protocol):
    """What the plans of every unary operation have in common."""

    @property
    def inplace(self) -> bool: ...
    def execute(
        self,
        input: object,
        output: object,
        *,
        direction: int = ...,
        norm: Any = ...,
    ) -> None: ...
    def empty_result(self, operand: object, stream: Any = ...) -> Any: ...


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
    """Copy an operand in device memory to the host, run there, and copy the result back.

    The result is there on return.
    """
    refuse_capture(stream, device_id, "execution='cpu' copies and waits", "leave it out")
    # Libraries without a current stream of their own order here what makes the elements.
    source = core.TensorView(operand, stream=stream)
    low, size = source.span
    with library.on_stream(stream, device_id):
        if out is not None:
            result = out
        else:
            result = operand if plan.inplace else plan.empty_result(operand, stream)
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


def _has_gaps(view: core.TensorView) -> bool:
    """Whether there is memory between the elements that does not belong to the operand."""
    return view.span[1] != view.itemsize * prod(view.shape)


def _elements(staged: npt.NDArray[np.uint8], view: core.TensorView) -> npt.NDArray[Any]:
    """View the elements of ``view`` in ``staged``, a copy of the range of memory it spans."""
    # NumPy lacks complex32, and nothing is computed here: integers of its size stand for it.
    dtype = np.dtype(np.int32 if view.dtype == "complex32" else view.dtype)
    strides = [stride * dtype.itemsize for stride in view.strides]
    return np.ndarray(view.shape, dtype, staged.data, view.ptr - view.span[0], strides)
