"""Options and directions of Fourier transforms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

from gpumath._host.arguments import check_choice
from gpumath._host.memory_managers import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath._host.options import Logger, OperationOptions
from gpumath.bindings import core

__all__ = [
    "Direction",
    "FFTDirection",
    "FFTOptions",
    "Kind",
    "Norm",
    "check_norm",
    "choose_direction",
    "resolve_direction",
]

Kind: TypeAlias = Literal["C2C", "R2C", "C2R"]


class FFTDirection(IntEnum):
    """Sign of the exponent of a Fourier transform. Neither direction scales its result.

    Examples
    --------
    >>> from gpumath import fft
    >>> int(fft.FFTDirection.INVERSE)
    1
    """

    FORWARD = -1
    INVERSE = 1


Direction: TypeAlias = FFTDirection | Literal["forward", "inverse", -1, 1]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]


def resolve_direction(direction: Direction, kind: str) -> FFTDirection:
    """Turn a user's direction into a member; ValueError if it is none or ``kind`` forbids it."""
    return FFTDirection(core.fft_direction(direction, kind))


def choose_direction(
    direction: Direction | None, planned: FFTDirection | None, kind: str
) -> FFTDirection:
    """Direction of an execution, from what execute() and plan() were told."""
    if direction is None:
        return planned or (FFTDirection.INVERSE if kind == "C2R" else FFTDirection.FORWARD)
    member = resolve_direction(direction, kind)
    if planned is not None and member is not planned:
        msg = (
            f"direction is {member.name}, but plan() was told {planned.name}; leave one of them out"
        )
        raise ValueError(msg)
    return member


def check_norm(norm: object) -> None:
    """Raise ValueError unless it is one of the norms, or None."""
    check_choice("norm", norm, ("backward", "ortho", "forward", None))


@dataclass
class FFTOptions(OperationOptions):
    """Choices about a Fourier transform.

    Wherever it is accepted, a dictionary of its fields is accepted too.

    Parameters
    ----------
    fft_type : {'C2C', 'R2C', 'C2R'}, optional
        Kind of transform. By default a complex operand means C2C and a real one R2C. The functions
        `rfft` and `irfft` ignore it; `ifft` with ``"C2R"`` is `irfft`.
    inplace : bool, default: False
        Overwrite the operand with the result. C2C only, for operands whose elements do not share
        memory with each other.
    last_axis_parity : {'even', 'odd'}, default: 'even'
        Whether a C2R result has ``2 * (n - 1)`` points along its last transform axis, or one more,
        where the operand has ``n``.
    result_layout : {'optimized', 'natural'}, default: 'optimized'
        Memory order of the result, which has no gaps: the one that takes the least time, or the
        operand's. They differ where transforms are interleaved in the operand, as along the first
        axis of a C-contiguous array: the transform axes then become the fastest ones of an
        optimized result, as they do in nvmath-python and in PyTorch. For another layout pass
        ``out``.
    logger : logging.Logger or logging.LoggerAdapter, optional
        Where to log; the root logger by default.
    blocking : {'auto', True}, default: 'auto'
        ``'auto'`` returns as soon as the work is submitted if operand and computation are on the
        GPU, and when the result is there otherwise; ``True`` always waits for the result.
    allocator : BaseCUDAMemoryManager or BaseCUDAMemoryManagerAsync, optional
        Source of the workspace on the GPU. By default it is the memory pool of the operand's
        library, and gpumath's own pool for operands in host memory.
    memory_limit : int, float or str, optional
        Most device memory that the workspace on the GPU may take: bytes; a fraction of the device's
        memory, above 0 and at most 1; or text such as ``"80%"``, ``"0.5 GiB"``, ``"512 MB"``, with
        binary and decimal units up to TiB and TB. A transform that needs more raises
        `gpumath.bindings.errors.OutOfMemoryError` before anything is allocated. No limit by
        default.

    Raises
    ------
    ValueError
        A value is not among the allowed ones.
    TypeError
        ``logger`` is no logger, ``allocator`` lacks the method of a memory manager, or
        ``memory_limit`` is neither a number nor a string.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> options = fft.FFTOptions(fft_type="C2R", last_axis_parity="odd")
    >>> with fft.FFT(np.ones(3, np.complex128), options=options) as transform:
    ...     transform.plan()
    ...     transform.execute().shape
    (5,)
    """

    fft_type: Kind | None = None
    inplace: bool = False
    last_axis_parity: Literal["even", "odd"] = "even"
    result_layout: Literal["natural", "optimized"] = "optimized"
    logger: Logger | None = None
    blocking: Literal["auto", True] = "auto"
    allocator: BaseCUDAMemoryManager | BaseCUDAMemoryManagerAsync | None = None
    memory_limit: int | float | str | None = None

    def check(self) -> None:
        """Raise ValueError or TypeError if a field has a value that is not allowed."""
        self._check_choice("fft_type", (None, "C2C", "R2C", "C2R"))
        self._check_choice("inplace", (False, True))
        self._check_choice("last_axis_parity", ("even", "odd"))
        self._check_choice("result_layout", ("natural", "optimized"))
        super().check()
