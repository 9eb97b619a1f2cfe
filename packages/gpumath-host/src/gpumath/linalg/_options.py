"""Options of products of matrices."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from gpumath._host.memory_managers import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath._host.options import OperationOptions

__all__ = ["MatmulOptions"]


@dataclass(kw_only=True)
class MatmulOptions(OperationOptions):
    """Choices about a product of matrices.

    Wherever it is accepted, a dictionary of its fields is accepted too.

    Parameters
    ----------
    allocator : BaseCUDAMemoryManager or BaseCUDAMemoryManagerAsync, optional
        Source of the workspace on the GPU. By default it is the memory pool of the operands'
        library, and gpumath's own pool for operands in host memory.
    blocking : {'auto', True}, default: 'auto'
        ``'auto'`` returns as soon as the work is enqueued if operands and computation are on the
        GPU, and when the result is there otherwise; ``True`` always waits for the result.
    logger : logging.Logger, optional
        Where to log; the root logger by default.
    inplace : bool, default: False
        Overwrite ``c`` with the result, and return it. In a list, each ``c`` needs memory that is
        no other operand's.
    memory_limit : int, float or str, optional
        Most device memory that the workspace on the GPU may take, as for `gpumath.fft.FFTOptions`:
        bytes, a fraction of the device's memory, or text such as ``"80%"`` or ``"0.5 GiB"``. A
        product that needs more raises `gpumath.bindings.errors.OutOfMemoryError` before anything
        is allocated. No limit by default.

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
    >>> from gpumath import linalg
    >>> options = linalg.MatmulOptions(blocking=True, memory_limit="1 GiB")
    >>> linalg.matmul(np.ones((2, 3)), np.ones((3, 1)), options=options)
    array([[3.],
           [3.]])
    """

    allocator: BaseCUDAMemoryManager | BaseCUDAMemoryManagerAsync | None = None
    blocking: Literal["auto", True] = "auto"
    logger: logging.Logger | None = None
    inplace: bool = False
    memory_limit: int | float | str | None = None

    def check(self) -> None:
        """Raise ValueError or TypeError if a field has a value that is not allowed."""
        super().check()
        self._check_choice("inplace", (False, True))
