"""From what the user asks to a plan, for the functions and for the class."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpumath._host.execution import (
    Execution,
    ExecutionCPU,
    ExecutionCUDA,
    resolve_execution,
)
from gpumath._host.libraries import ArrayLibrary
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.fft._options import FFTOptions, Kind

__all__ = ["Setup", "describe", "logger_of", "set_up"]

_DEFAULT_OPTIONS = FFTOptions()
_ROOT_LOGGER = logging.getLogger()


class Setup(NamedTuple):
    """A planned transform, the device of its operand (None: host memory), and the options."""

    plan: core.FftPlan
    device_id: int | None
    options: FFTOptions


def set_up(
    library: ArrayLibrary,
    operand: Any,
    kind: Kind | None,
    axes: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
) -> Setup:
    """Check the user's arguments and plan; a function, unlike the class, says its ``kind``."""
    device_id = library.device_id(operand)
    if options is None and execution is None:
        chosen = _DEFAULT_OPTIONS
        plan = core.FftPlan(operand, axes=axes, kind=kind)
    else:
        chosen = resolve_options(FFTOptions, options)
        if kind is not None and chosen.fft_type not in (None, kind):
            msg = (
                f"options.fft_type is {chosen.fft_type!r}, and this function does {kind}; leave "
                "it out, or use the class FFT"
            )
            raise ValueError(msg)
        where = resolve_execution(execution)
        target = None
        if isinstance(where, ExecutionCUDA) and device_id is None:
            # An operand in device memory, in contrast, brings its own device.
            target = where.device_id
        plan = core.FftPlan(
            operand,
            axes=axes,
            kind=kind or chosen.fft_type,
            execution=None if where is None else where.name,
            device_id=target,
            num_threads=where.num_threads if isinstance(where, ExecutionCPU) else None,
            inplace=chosen.inplace,
            last_axis_parity=chosen.last_axis_parity,
            result_layout=chosen.result_layout,
        )
    library.check_dtype(plan.output_dtype)
    return Setup(plan, device_id, chosen)


def logger_of(options: FFTOptions) -> logging.Logger:
    """Where to log: the user's logger or the root logger."""
    return _ROOT_LOGGER if options.logger is None else options.logger


def describe(plan: core.FftPlan) -> str:
    """One line about a plan, for the log."""
    place = "the CPU" if plan.execution == "cpu" else f"CUDA device {plan.device_id}"
    return (
        f"{plan.kind} transform of {plan.input_dtype} operands of shape {plan.input_shape} and "
        f"strides {plan.input_strides} along axes {plan.axes}, by {plan.engine} on {place}, "
        f"with a workspace of {plan.workspace_size} bytes"
    )
