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
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._lengths import lengths_of, resized
from gpumath.fft._options import FFTDirection, FFTOptions, Kind, Norm, check_norm
from gpumath.fft._run import run, workspace_for
from gpumath.fft._setup import logger_of, set_up

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
) -> Any:
    """Transform as `gpumath.fft.fft` does."""
    if n is not None or s is not None:
        check_norm(norm)
        operand, options = _resize(operand, kind, axes, n, s, options, stream)
    if (
        options is None
        and prolog is None
        and epilog is None
        and stream is None
        and (execution is None or execution == "cuda")
        and not _ROOT_LOGGER.isEnabledFor(_INFO)
    ):
        # The short way: what the long one does for defaults. It also explains errors.
        try:
            return core.FftPlan.transform(
                operand, axes, kind, out, direction, _workspace, norm, execution
            )
        except (TypeError, ValueError, OverflowError, errors.OutOfMemoryError):
            pass
    callbacks = (prolog, epilog)
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
    lengths = lengths_of(n, s, axes, ndim)
    chosen = resolve_options(FFTOptions, options)
    last = ndim - 1 if axes is None else axes[-1] % ndim
    if kind == "C2R" and last in lengths:
        parity: Literal["even", "odd"] = "odd" if lengths[last] % 2 else "even"
        lengths[last] = lengths[last] // 2 + 1
        if chosen.last_axis_parity != parity:
            options = replace(chosen, last_axis_parity=parity)
    return resized(operand, view, lengths, chosen.inplace, stream), options


def _workspace(
    operand: object, size: int, device_id: int, stream: int, captured: bool
) -> tuple[int, object]:
    where = core.TensorView(operand).device_id
    workspace = workspace_for(library_of(operand), where, resolve_options(FFTOptions, None))
    return workspace(operand, size, device_id, stream, captured)


_ROOT_LOGGER = logging.getLogger()
