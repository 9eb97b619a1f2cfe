"""Keys: what a plan depends on, as a value that can be compared, hashed and pickled."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

from gpumath._host.array_libraries import library_of
from gpumath._host.execution import (
    Execution,
    ExecutionCPU,
    ExecutionCUDA,
    resolve_execution,
)
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.fft._device_callable import DeviceCallable, resolve_callback
from gpumath.fft._options import FFTOptions

__all__ = [
    "FFTKey",
    "execution_on",
    "key_from_metadata",
    "key_of_operand",
    "key_of_plan",
]


class CallbackKey(NamedTuple):
    """A callback's code, as its SHA-256, and the address of its data."""

    code: bytes
    data: int


class FFTKey(NamedTuple):
    """What the plan of a transform depends on. Two are equal exactly if one plan serves both.

    It is made by `FFT.get_key`, `FFT.create_key` and `FFT.create_key_from_metadata`. It is
    hashable, small, holds no operand and can be pickled. The operand's values, its library and its
    memory are no part of it, nor are options that change no plan: ``blocking``, ``logger``,
    ``allocator`` and ``memory_limit``.

    Attributes
    ----------
    problem : gpumath.bindings.core.FftProblem
        Kind, element type, axes, shapes and strides.
    prolog, epilog : tuple or None
        SHA-256 of the callback's code, and the address of its data.
    execution : ExecutionCPU or ExecutionCUDA
        Device, or number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> key = fft.FFT.create_key(np.zeros((4, 8)), axes=[1])
    >>> key == fft.FFT.create_key_from_metadata((4, 8), "float64", "cpu", axes=[1])
    True
    >>> key.problem.output_shape
    (4, 5)
    """

    problem: core.FftProblem
    prolog: CallbackKey | None
    epilog: CallbackKey | None
    execution: ExecutionCPU | ExecutionCUDA


def key_of_plan(plan: core.FftPlan, prolog: object, epilog: object) -> FFTKey:
    """Key of a plan's problem, with these callbacks instead of the plan's own."""
    # Of several devices, the first one.
    where = execution_on(plan.device_id, plan.num_threads)
    return _key(plan.problem, where, prolog, epilog)


def execution_on(device_id: int | None, num_threads: int | None) -> ExecutionCPU | ExecutionCUDA:
    """Return the execution of a plan with these attributes; None stands for the CPU."""
    if device_id is not None:
        return ExecutionCUDA(device_id=device_id)
    return ExecutionCPU(num_threads=num_threads)


def key_of_operand(
    operand: Any,
    axes: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    prolog: object,
    epilog: object,
) -> FFTKey:
    """Key of the plan that `FFT` would make for an operand."""
    library = library_of(operand)
    view = core.TensorView(operand)
    where = _with_callbacks(resolve_execution(execution, lambda: view.device_id), prolog, epilog)
    is_on_cuda = view.device_id is not None
    if view.device_id is not None and not isinstance(where, ExecutionCPU):
        # As for a transform: an operand in device memory brings its own device.
        where = ExecutionCUDA(device_id=view.device_id)
    settled = _settle(where, "cuda" if is_on_cuda else "cpu")
    problem = _problem(
        view.shape,
        view.dtype,
        view.strides,
        axes,
        resolve_options(FFTOptions, options),
        is_on_cuda and settled.name == "cuda" and view.ptr % (2 * view.itemsize) != 0,
    )
    library.check_dtype(problem.output_dtype)
    return _key(problem, settled, prolog, epilog)


def key_from_metadata(
    shape: Sequence[int],
    dtype: Any,
    memory_space: str,
    strides: Sequence[int] | None,
    axes: Sequence[int] | None,
    options: FFTOptions | Mapping[str, Any] | None,
    execution: Execution,
    prolog: object,
    epilog: object,
) -> FFTKey:
    """Key of the plan that `FFT` would make for an operand that is described."""
    if memory_space not in ("cpu", "cuda"):
        msg = f"memory_space is {memory_space!r}; 'cpu' and 'cuda' are allowed"
        raise ValueError(msg)
    chosen = resolve_options(FFTOptions, options)
    given = resolve_execution(execution, lambda: None if memory_space == "cpu" else 0)
    settled = _settle(_with_callbacks(given, prolog, epilog), memory_space)
    problem = _problem(shape, _dtype_name(dtype), strides, axes, chosen, unaligned=False)
    return _key(problem, settled, prolog, epilog)


def _with_callbacks(
    where: ExecutionCPU | ExecutionCUDA | None, prolog: object, epilog: object
) -> ExecutionCPU | ExecutionCUDA | None:
    """Return where to compute: by default on the GPU if there are callbacks, which need it."""
    has_callback = prolog is not None or epilog is not None
    return ExecutionCUDA() if where is None and has_callback else where


def _settle(
    where: ExecutionCPU | ExecutionCUDA | None, memory_space: str
) -> ExecutionCPU | ExecutionCUDA:
    if where is None:
        where = ExecutionCPU() if memory_space == "cpu" else ExecutionCUDA()
    if isinstance(where, ExecutionCPU) and where.num_threads is None:
        return ExecutionCPU(num_threads=core.usable_cores())
    return where


def _problem(
    shape: Sequence[int],
    dtype: str,
    strides: Sequence[int] | None,
    axes: Sequence[int] | None,
    options: FFTOptions,
    unaligned: bool,
) -> core.FftProblem:
    for name, value in (("shape", shape), ("strides", strides), ("axes", axes)):
        _check_integers(name, value)
    return core.FftProblem(
        shape,
        dtype,
        strides,
        axes,
        options.fft_type,
        inplace=options.inplace,
        last_axis_parity=options.last_axis_parity,
        result_layout=options.result_layout,
        unaligned=unaligned,
    )


def _key(
    problem: core.FftProblem,
    execution: ExecutionCPU | ExecutionCUDA,
    prolog: object,
    epilog: object,
) -> FFTKey:
    before = _callback_key(resolve_callback("prolog", prolog))
    after = _callback_key(resolve_callback("epilog", epilog))
    if execution.name == "cpu" and (before or after):
        msg = "prolog and epilog work on a GPU only, and this key is of a transform on the CPU"
        raise ValueError(msg)
    return FFTKey(problem, before, after, execution)


def _callback_key(callback: DeviceCallable | None) -> CallbackKey | None:
    if callback is None or callback.ltoir is None:
        return None
    import hashlib  # it opens OpenSSL, and most transforms have no callbacks

    code = callback.ltoir
    if isinstance(code, int):
        code = ctypes.string_at(code, callback.size or 0)
    return CallbackKey(hashlib.sha256(code).digest(), callback.data or 0)


def _dtype_name(dtype: Any) -> str:
    # A NumPy dtype has a name, its type a __name__, and PyTorch's prints as "torch.complex64".
    if isinstance(dtype, str):
        return dtype
    if not getattr(dtype, "isnative", True):
        msg = (
            f"dtype is {dtype!r}, whose bytes are in the other order; give dtype.newbyteorder('=')"
        )
        raise ValueError(msg)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


def _check_integers(name: str, value: object) -> None:
    if value is None and name != "shape":
        return
    try:
        fits = not isinstance(value, str) and all(
            abs(index(item)) < 2**63
            for item in value  # type: ignore[attr-defined]  # refused if it is no sequence
        )
    except TypeError:
        msg = f"{name} is {value!r}; a sequence of integers, such as [0, 1], is needed"
        raise TypeError(msg) from None
    if not fits:
        msg = f"{name} is {value!r}; a sequence of integers below 2**63 is needed"
        raise ValueError(msg)
