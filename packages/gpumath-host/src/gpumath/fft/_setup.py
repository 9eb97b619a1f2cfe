"""From what the user asks to a plan, for the functions and for the class."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

from gpumath._host.execution import (
    Execution,
    ExecutionCPU,
    ExecutionCUDA,
    resolve_execution,
)
from gpumath._host.libraries import ArrayLibrary, library_of
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.fft._options import FFTOptions, Kind

__all__ = ["Setup", "check_fits", "describe", "logger_of", "set_up"]

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
        plan = _make_plan(operand, axes, kind=kind)
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
        plan = _make_plan(
            operand,
            axes,
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


def _make_plan(operand: Any, axes: Sequence[int] | None, **choices: Any) -> core.FftPlan:
    try:
        return core.FftPlan(operand, axes=axes, **choices)
    except (TypeError, OverflowError) as error:
        try:
            all_fit = axes is None or max(abs(index(axis)) for axis in axes) < 2**63
        except TypeError:
            all_fit = False
        if all_fit:
            raise
        msg = f"axes is {axes!r}; a sequence of integers, such as [0, 1], or None is needed"
        raise (TypeError if isinstance(error, TypeError) else ValueError)(msg) from None


def check_fits(
    library: ArrayLibrary, plan: core.FftPlan, planned_id: int | None, operand: Any
) -> None:
    """Raise ValueError unless ``operand`` is like the one on ``planned_id`` that has the plan."""
    other = library_of(operand)
    if other is not library:
        msg = (
            f"the operand is of the library {other.name}, and this FFT object was made for "
            f"{library.name}; convert it, or make a new object"
        )
        raise ValueError(msg)
    device_id = library.device_id(operand)
    if device_id == planned_id and plan.accepts(operand):
        return
    view = core.TensorView(operand)
    msg = (
        f"the operand is {view.dtype} of shape {view.shape} and strides {view.strides} "
        f"{_place(device_id)}, and this FFT object was made for {plan.input_dtype} of shape "
        f"{plan.input_shape} and strides {plan.input_strides} {_place(planned_id)}; copy it to "
        "that layout, or make a new object"
    )
    raise ValueError(msg)


def _place(device_id: int | None) -> str:
    return "in host memory" if device_id is None else f"on CUDA device {device_id}"


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
