"""The common implementation of the transform functions, with cropping and padding."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from gpumath._host.array_libraries import library_of
from gpumath._host.execution import Execution, resolve_execution
from gpumath._host.operation import execution_choices, logged_execution, logger_of
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.fft._crop_or_pad import lengths_of, listed, resized
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._make_plan import set_up
from gpumath.fft._options import FFTDirection, FFTOptions, Kind, Norm, check_norm

__all__ = ["transform"]

_INFO = logging.INFO


def transform(
    operand: Any,
    kind: Kind,
    direction: FFTDirection,
    axes: Sequence[int] | None,
    n: int | None,
    s: Sequence[int] | None,
    norm: Norm | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    out: Any,
    prolog: DeviceCallable | Mapping[str, Any] | None,
    epilog: DeviceCallable | Mapping[str, Any] | None,
    stream: Any,
    *,
    may_overwrite: bool = False,
) -> Any:
    """Transform as `gpumath.fft.fft` does.

    With ``may_overwrite`` the operand may be used as work memory, which saves a copy on a GPU.
    """
    if options is not None and kind == "C2C" and direction is FFTDirection.INVERSE:
        options = resolve_options(FFTOptions, options)
        if options.fft_type == "C2R":
            kind = "C2R"
    if n is not None or s is not None:
        check_norm(norm)
        operand = _resolve(operand, options)
        operand, options = _resize(operand, kind, axes, n, s, options, stream)
    if (
        prolog is None
        and epilog is None
        and stream is None
        and not _ROOT_LOGGER.isEnabledFor(_INFO)
    ):
        # The short way: what the long one does where nobody logs or manages memory.
        result = None
        if options is None and (
            execution is None or (isinstance(execution, str) and execution == "cuda")
        ):
            result = core.FftPlan.transform(
                operand, axes, kind, out, direction, norm, execution, may_overwrite=may_overwrite
            )
        elif (choices := _choices(operand, kind, options, execution)) is not None:
            result = core.FftPlan.transform(
                operand, axes, kind, out, direction, norm, may_overwrite=may_overwrite, **choices
            )
        if result is not None:
            return result
    check_norm(norm)
    operand = _resolve(operand, options)
    library = library_of(operand)
    if kind == "R2C" and core.TensorView(operand).dtype.startswith("complex"):
        dtype = core.TensorView(operand).dtype
        msg = f"rfft takes real operands, but this one is {dtype}; use fft"
        raise RuntimeError(msg)
    setup = set_up(library, operand, kind, axes, options, execution, (prolog, epilog), out, stream)
    plan, chosen = setup.plan, setup.options
    workspace = core.Workspace(chosen.allocator)
    with logged_execution(logger_of(chosen), direction.name, plan, setup.device_id):
        result = plan.run(operand, out, direction, stream, workspace, chosen.blocking is True, norm)
    workspace.release()
    return result


def _choices(
    operand: Any,
    kind: Kind,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
) -> dict[str, Any] | None:
    """Return the user's choices as arguments of `FftPlan.transform`; None if it takes others."""
    chosen = resolve_options(FFTOptions, options)
    where = resolve_execution(execution, lambda: core.TensorView(operand).device_id)
    choices = execution_choices(where)
    if (
        choices.pop("device_ids", None) is not None
        or chosen.logger is not None
        or chosen.allocator is not None
        or chosen.memory_limit is not None
        or chosen.blocking is True
        or (kind == "C2C" and chosen.fft_type not in (None, kind))
        or (kind != "C2R" and chosen.last_axis_parity != "even")
    ):
        return None
    choices["inplace"] = chosen.inplace
    choices["last_axis_parity"] = chosen.last_axis_parity
    choices["result_layout"] = chosen.result_layout
    return choices


def _resolve(operand: Any, options: FFTOptions | Mapping[str, Any] | None) -> Any:
    """Copy a lazy conjugate or negative of PyTorch's, as PyTorch itself does before it computes.

    A transform in place is left to be refused, because its result would be in the copy.
    """
    resolved = library_of(operand).resolve(operand)
    if resolved is operand:
        return operand
    chosen = resolve_options(FFTOptions, options)
    if chosen.inplace:
        return operand
    logger_of(chosen).info("the operand is a lazy conjugate or negative: a copy is transformed")
    return resolved


def _resize(
    operand: Any,
    kind: Kind,
    axes: Sequence[int] | None,
    n: int | None,
    s: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    stream: Any,
) -> tuple[Any, FFTOptions | Mapping[str, Any] | None]:
    """Cut or pad the operand; the options for it differ where a C2R result has an odd length."""
    view = core.TensorView(operand)
    ndim = len(view.shape)
    axes = None if axes is None else listed("axes", axes)
    lengths = lengths_of(n, s, axes, ndim)
    chosen = resolve_options(FFTOptions, options)
    last = ndim - 1 if axes is None else axes[-1] % ndim
    if s is not None:
        # An entry of -1 means as many points as the operand has, of whatever kind: as in NumPy.
        lengths.setdefault(last, view.shape[last])
    if kind == "C2R" and last in lengths:
        parity: Literal["even", "odd"] = "odd" if lengths[last] % 2 else "even"
        lengths[last] = lengths[last] // 2 + 1
        if chosen.last_axis_parity != parity:
            options = replace(chosen, last_axis_parity=parity)
    return resized(operand, view, lengths, chosen.inplace, stream), options


_ROOT_LOGGER = logging.getLogger()
