"""The functions' common way, and what their keywords ``n`` and ``s`` add to it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from gpumath._host.execution import Execution
from gpumath._host.libraries import library_of
from gpumath._host.options import resolve_options
from gpumath.bindings import core, errors
from gpumath.fft._norm import Norm, check_norm, lengths_of, resized
from gpumath.fft._options import FFTDirection, FFTOptions, Kind
from gpumath.fft._run import run, workspace_for
from gpumath.fft._setup import logger_of, set_up

__all__ = ["transform", "transform_resized"]


def transform_resized(
    operand: Any,
    kind: Kind,
    direction: FFTDirection,
    axes: Sequence[int] | None,
    n: int | None,
    s: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    out: Any,
    callbacks: tuple[object, object],
    stream: Any,
    norm: Norm | None,
) -> Any:
    """Transform an operand that is first cut or padded."""
    check_norm(norm)
    ndim = len(core.TensorView(operand).shape)
    lengths = lengths_of(n, s, axes, ndim)
    chosen = resolve_options(FFTOptions, options)
    last = ndim - 1 if axes is None else axes[-1] % ndim
    if kind == "C2R" and last in lengths:
        parity: Literal["even", "odd"] = "odd" if lengths[last] % 2 else "even"
        lengths[last] = lengths[last] // 2 + 1
        if chosen.last_axis_parity != parity:
            options = chosen = replace(chosen, last_axis_parity=parity)
    operand = resized(operand, lengths, chosen.inplace, stream)
    return transform(
        operand, kind, direction, axes, options, execution, out, callbacks, stream, norm
    )


def transform(
    operand: Any,
    kind: Kind,
    direction: FFTDirection,
    axes: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    out: Any,
    callbacks: tuple[object, object],
    stream: Any,
    norm: Norm | None,
) -> Any:
    """Transform as `gpumath.fft.fft` does."""
    if (
        callbacks == (None, None)
        and options is None
        and (execution is None or execution == "cuda")
        and stream is None
        and not _ROOT_LOGGER.isEnabledFor(logging.INFO)
    ):
        # The short way: what the long one does for defaults. It also explains errors.
        try:
            return core.FftPlan.transform(
                operand, axes, kind, out, direction, _workspace, norm, execution
            )
        except (TypeError, ValueError, OverflowError, errors.OutOfMemoryError):
            pass
    check_norm(norm)
    try:
        library = library_of(operand)
        plan, device_id, chosen, _ = set_up(
            library, operand, kind, axes, options, execution, callbacks, out, stream
        )
    except ValueError:
        if kind == "R2C" and core.TensorView(operand).dtype.startswith("complex"):
            dtype = core.TensorView(operand).dtype
            msg = f"rfft takes real operands, and this one is {dtype}; use fft"
            raise RuntimeError(msg) from None
        raise
    logger = logger_of(chosen)
    workspace = workspace_for(library, device_id, chosen)
    result = run(
        plan,
        library,
        operand,
        out,
        device_id,
        direction,
        stream,
        workspace,
        logger,
        blocking=chosen.blocking is True,
        norm=norm,
    )
    workspace.release()
    return result


def _workspace(
    operand: object, size: int, device_id: int, stream: int, captured: bool
) -> tuple[int, object]:
    where = core.TensorView(operand).device_id
    workspace = workspace_for(library_of(operand), where, _DEFAULTS)
    return workspace(operand, size, device_id, stream, captured)


_DEFAULTS = FFTOptions()
_ROOT_LOGGER = logging.getLogger()
