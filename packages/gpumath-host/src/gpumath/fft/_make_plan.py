"""From what the user asks to a plan, for the functions and for the class."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpumath._host.array_libraries import ArrayLibrary, library_of
from gpumath._host.execution import Execution, resolve_execution
from gpumath._host.memory_limit import check_memory_limit
from gpumath._host.operation import (
    described_place,
    execution_choices,
    logger_of,
    warn_of_ignored,
)
from gpumath._host.options import Logger, resolve_options
from gpumath.bindings import core
from gpumath.fft._device_callable import resolve_callback
from gpumath.fft._options import FFTOptions, Kind

__all__ = ["Setup", "has_same_strides", "make_plan", "plan_of_same_calls", "set_up"]


class Setup(NamedTuple):
    """A planned transform, the device of its operand (None: host memory), and the options."""

    plan: core.FftPlan
    device_id: int | None
    options: FFTOptions
    choices: dict[str, Any]
    """Arguments of make_plan() that gave the plan."""


def set_up(
    library: ArrayLibrary,
    operand: Any,
    kind: Kind | None,
    axes: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    callbacks: tuple[object, object] = (None, None),
    out: Any = None,
    stream: Any = None,
) -> Setup:
    """Check the user's arguments and plan; a function, unlike the class, says its ``kind``."""
    # Without these arguments the transform runs where the operand is, and the plan says where.
    runs_at_operand = execution is None and callbacks == (None, None)
    device_id = None if runs_at_operand else core.TensorView(operand).device_id
    chosen = resolve_options(FFTOptions, options)
    if kind == "C2C" and chosen.fft_type not in (None, kind):
        msg = (
            f"options.fft_type is {chosen.fft_type!r}, and this function does {kind}; leave "
            "it out, or use the class FFT"
        )
        raise ValueError(msg)
    where = resolve_execution(execution, lambda: device_id)
    choices: dict[str, Any] = {
        "axes": axes,
        "kind": kind or chosen.fft_type,
        **execution_choices(where),
        "inplace": chosen.inplace,
        "last_axis_parity": chosen.last_axis_parity,
        "result_layout": chosen.result_layout,
        "memory_limit": chosen.memory_limit,
        "prolog": resolve_callback("prolog", callbacks[0]),
        "epilog": resolve_callback("epilog", callbacks[1]),
    }
    if device_id is not None:
        # An operand in device memory brings its own device.
        choices["device_id"] = None
    start = time.perf_counter()
    plan = make_plan(operand, **choices, out=out, stream=stream)
    if runs_at_operand:
        device_id = plan.device_id
    library.check_dtype(plan.output_dtype)
    logger = logger_of(chosen)
    if logger.isEnabledFor(logging.WARNING):
        warn_of_ignored(logger, plan, device_id, chosen, where, stream)
        if chosen.last_axis_parity != "even" and plan.kind != "C2R":
            logger.warning("last_axis_parity is ignored: a %s result has one length", plan.kind)
    if logger.isEnabledFor(logging.INFO):
        if plan.device_ids is not None and device_id is not None:
            logger.info(
                "the operand is in the memory of CUDA device %d, which transforms it faster alone "
                "if it has the memory for it",
                device_id,
            )
        elapsed = 1e3 * (time.perf_counter() - start)
        logger.info("specified: %s; planned in %.3f ms", _describe(plan), elapsed)
        logger.debug(
            "the operand has the strides %s, the result the shape %s and the strides %s",
            plan.input_strides,
            plan.output_shape,
            plan.output_strides,
        )
        if logger.isEnabledFor(logging.DEBUG):
            _log_passes(logger, plan)
    return Setup(plan, device_id, chosen, choices)


def _log_passes(logger: Logger, plan: core.FftPlan) -> None:
    if plan.device_id is None:
        logger.debug("library calls for one execution: %d", plan.library_calls)
        return
    passes = plan.passes()
    for number, one in enumerate(passes, 1):
        logger.debug(
            "cuFFT plan %d of %d: %s of %s points, %d at once; strides %d and %d, distances %d and "
            "%d, embedded in %s and %s",
            *(number, len(passes), one.kind, one.extents, one.batch),
            *(one.input_stride, one.output_stride, one.input_distance, one.output_distance),
            *(one.input_embed, one.output_embed),
        )


def make_plan(
    operand: Any,
    axes: Sequence[int] | None,
    kind: Kind | None = None,
    memory_limit: object = None,
    **choices: Any,
) -> core.FftPlan:
    """Make or find a plan, and check it against the user's limit."""
    plan = core.FftPlan(operand, axes, kind, **choices)
    check_memory_limit(memory_limit, plan)
    return plan


def plan_of_same_calls(
    library: ArrayLibrary,
    plan: core.FftPlan,
    planned_id: int | None,
    operand: Any,
    choices: Mapping[str, Any],
) -> core.FftPlan:
    """Return the plan for ``operand``, or raise ValueError if another transform is needed for it.

    It is ``plan``, that of an operand on ``planned_id``, or differs from it in the shape of the
    batch alone: the same calls of cuFFT transform both operands.
    """
    other = library_of(operand)
    if other is library:
        if plan.accepts(operand, planned_id):
            return plan
        found = _plan_with_calls(_calls(plan), planned_id, operand, choices)
        if found is not None:
            return found
    if other is not library:
        msg = (
            f"the operand is of the library {other.name}, and this FFT object was made for "
            f"{library.name}; convert it, or make a new object"
        )
        raise ValueError(msg)
    view = core.TensorView(operand)
    device_id = view.device_id
    msg = (
        f"the operand is {view.dtype} of shape {view.shape} and strides {view.strides} "
        f"{described_place(device_id)}, but this FFT object was made for {plan.input_dtype} of "
        f"shape {plan.input_shape} and strides {plan.input_strides} "
        f"{described_place(planned_id)}; copy it to that layout, or make a new object"
    )
    raise ValueError(msg)


def _plan_with_calls(
    calls: list[tuple[Any, ...]], device_id: int | None, operand: Any, choices: Mapping[str, Any]
) -> core.FftPlan | None:
    if core.TensorView(operand).device_id != device_id:
        return None
    try:
        plan = make_plan(operand, **choices)
    except ValueError:  # the transform cannot be done on such an operand
        return None
    return plan if _calls(plan) == calls else None


def _calls(plan: core.FftPlan) -> list[tuple[Any, ...]]:
    """Say which plans of cuFFT a transform needs, wherever it runs."""
    problem = plan.problem
    return [
        (
            *(problem.input_dtype, problem.output_dtype, one.kind, one.extents, one.batch),
            *(one.input_embed, one.input_stride, one.input_distance),
            *(one.output_embed, one.output_stride, one.output_distance),
        )
        for one in problem.passes(device_id=plan.device_id)
    ]


def has_same_strides(first: core.FftPlan, second: core.FftPlan) -> bool:
    """Whether the results of two plans for the same operand have the same layout in memory."""
    axes = zip(first.output_shape, first.output_strides, second.output_strides, strict=True)
    return 0 in first.output_shape or all(a == b for extent, a, b in axes if extent > 1)


def _way(plan: core.FftPlan) -> str:
    """Describe the way that a plan on one GPU takes, for the log."""
    if plan.engine != "cufft" or plan.device_ids is not None:
        return ""
    copies = ("no copy", "one copy", "two copies")
    count = plan.copies
    text = copies[count] if count < len(copies) else f"{count} copies"
    return f"{plan.library_calls} cuFFT calls and {text} to another layout, "


def _describe(plan: core.FftPlan) -> str:
    """One line about a plan, for the log."""
    place = "the CPU" if plan.execution == "cpu" else f"CUDA device {plan.device_id}"
    if plan.device_ids is not None:
        place = f"the CUDA devices {', '.join(map(str, plan.device_ids))}"
    return (
        f"{plan.kind} transform of {plan.input_dtype} operands of shape {plan.input_shape} and "
        f"strides {plan.input_strides} along axes {plan.axes}, by {plan.engine} on {place}, "
        f"{_way(plan)}with a workspace of {plan.workspace_size} bytes"
    )
