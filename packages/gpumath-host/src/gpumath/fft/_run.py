"""One execution of a plan, wherever operand and computation are."""

from __future__ import annotations

from typing import Any

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.memory import Workspace
from gpumath._host.numpy_arrays import LIBRARY
from gpumath._host.stream import refuse_capture, resolve_stream, stream_handle
from gpumath._host.transfer import run_on_device, run_on_host
from gpumath.bindings import core
from gpumath.fft._options import FFTOptions

__all__ = ["run", "workspace_for"]


def workspace_for(library: ArrayLibrary, device_id: int | None, options: FFTOptions) -> Workspace:
    """Source of device memory to work in, for operands on ``device_id``."""
    # For operands in host memory it is gpumath's own pool.
    return Workspace(LIBRARY if device_id is None else library, options.allocator)


def run(
    plan: core.FftPlan,
    library: ArrayLibrary,
    operand: Any,
    out: Any,
    device_id: int | None,
    direction: int,
    stream: object,
    workspace: Workspace,
    *,
    blocking: bool,
) -> Any:
    """Transform ``operand``, which is on ``device_id``, to ``out`` or to a new array.

    Work on a GPU whose operand is there is submitted to ``stream``, and waited for if ``blocking``.
    Otherwise the result is there on return. ``plan.run()`` alone does the same where the plan runs
    on the operand's device and no stream is given.
    """
    if device_id is None:
        handle = 0 if stream is None else stream_handle(stream)
        if plan.device_id is None:
            return plan.run(operand, out, direction)
        return run_on_device(plan, library, operand, out, direction, handle, workspace)
    handle = resolve_stream(operand, device_id, stream)
    if plan.device_id is None:
        return run_on_host(plan, library, operand, out, device_id, direction, handle)
    if out is not None or plan.inplace:
        return plan.run(operand, out, direction, handle, workspace, blocking)
    current = core.current_stream(operand)
    if handle == current:
        return plan.run(operand, None, direction, handle, workspace, blocking)
    refuse_capture(handle, device_id, "a new result is made on another stream", "give out=")
    with library.on_stream(handle, device_id):
        return plan.run(operand, None, direction, handle, workspace, blocking)
