"""One execution of a plan, wherever operand and computation are."""

from __future__ import annotations

from typing import Any

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.memory import Workspace
from gpumath._host.stream import resolve_stream, stream_handle
from gpumath._host.transfer import run_on_device, run_on_host
from gpumath.bindings import core

__all__ = ["run"]


def run(
    plan: core.FftPlan,
    library: ArrayLibrary,
    operand: Any,
    device_id: int | None,
    direction: int,
    stream: object,
    workspace: Workspace,
    *,
    blocking: bool,
) -> Any:
    """Transform ``operand``, which is on ``device_id``, and return the result.

    Work on a GPU whose operand is there is submitted to ``stream``, and waited for if ``blocking``.
    Otherwise the result is there on return.
    """
    if plan.execution == "cpu":
        if device_id is not None:
            handle = resolve_stream(library, device_id, stream)
            return run_on_host(plan, library, operand, device_id, direction, handle)
        if stream is not None:
            stream_handle(stream)
        result = operand if plan.inplace else _empty_result(plan, library, operand)
        plan.execute(operand, result, direction=direction)
        return result
    if device_id is None:
        handle = 0 if stream is None else stream_handle(stream)
        return run_on_device(plan, library, operand, direction, handle, workspace)
    handle = resolve_stream(library, device_id, stream)
    if plan.inplace:
        result = operand
    elif stream is None:
        result = _empty_result(plan, library, operand)
    else:
        with library.on_stream(handle, device_id):
            result = _empty_result(plan, library, operand)
    address = workspace.address(library, plan.workspace_size, device_id, handle)
    plan.execute(operand, result, direction=direction, stream=handle, workspace=address)
    if blocking:
        core.synchronize_stream(handle, device_id=device_id)
    return result


def _empty_result(plan: core.FftPlan, library: ArrayLibrary, operand: Any) -> Any:
    return library.empty(operand, plan.output_shape, plan.output_strides, plan.output_dtype)
