"""One execution of a plan, wherever operand and computation are."""

from __future__ import annotations

import logging
import time
from typing import Any

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.memory import Workspace
from gpumath._host.numpy_arrays import LIBRARY
from gpumath._host.stream import resolve_stream, stream_handle
from gpumath._host.transfer import run_on_host
from gpumath.bindings import core
from gpumath.fft._options import FFTDirection, FFTOptions, Norm

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
    direction: FFTDirection,
    stream: object,
    workspace: Workspace,
    logger: logging.Logger,
    *,
    blocking: bool,
    norm: Norm | None = None,
) -> Any:
    """Transform ``operand``, which is on ``device_id``, to ``out`` or to a new array.

    Work on a GPU whose operand is there is submitted to ``stream``, and waited for if ``blocking``.
    Otherwise the result is there on return. ``plan.run()`` alone does the same where the operand
    is in host memory or the plan runs on its device, no stream is given and nothing is logged.
    """
    start = time.perf_counter()
    copied = ""
    if device_id is None:
        handle = 0 if stream is None else stream_handle(stream)
        if plan.device_id is None:
            result = plan.run(operand, out, direction, norm=norm)
        elif plan.device_ids is not None:
            result = plan.run(operand, out, direction, norm=norm)
            copied = f", operand and result spread over the CUDA devices {plan.device_ids}"
        else:
            result = plan.run(operand, out, direction, handle, workspace, norm=norm)
            copied = f", operand and result copied between host memory and device {plan.device_id}"
    else:
        handle = resolve_stream(operand, device_id, stream)
        if plan.device_id is None:
            result = run_on_host(plan, library, operand, out, device_id, direction, handle, norm)
            copied = f", operand and result copied between device {device_id} and host memory"
        elif out is not None or plan.inplace or handle == core.current_stream(operand):
            result = plan.run(operand, out, direction, handle, workspace, blocking, norm)
        else:
            with library.on_stream(handle, device_id):
                result = plan.run(operand, None, direction, handle, workspace, blocking, norm)
    elapsed = 1e3 * (time.perf_counter() - start)
    logger.info("%s: %.3f ms of host time%s", direction.name, elapsed, copied)
    return result
