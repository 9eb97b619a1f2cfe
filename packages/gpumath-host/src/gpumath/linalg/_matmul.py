"""The product of two matrices."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpumath._host.execution import Execution, resolve_execution
from gpumath._host.memory_limit import check_memory_limit
from gpumath._host.memory_managers import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath._host.operation import (
    execution_choices,
    logged_execution,
    logger_of,
    warn_of_ignored,
)
from gpumath._host.options import OperationOptions, resolve_options
from gpumath.bindings import core

__all__ = ["MatmulOptions", "matmul"]


@dataclass(kw_only=True)
class MatmulOptions(OperationOptions):
    """Choices about a product of two matrices.

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
    memory_limit: int | float | str | None = None


def matmul(
    a: Any,
    b: Any,
    /,
    *,
    out: Any = None,
    options: MatmulOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    stream: Any = None,
) -> Any:
    """Compute the product of two matrices.

    Parameters
    ----------
    a, b : array
        Matrices of shapes (m, k) and (k, n), with elements of type float32 or float64, the same
        for both: NumPy arrays, CuPy arrays, PyTorch tensors, or any arrays with ``__dlpack__``,
        ``__cuda_array_interface__`` or the buffer protocol. Both are of the same library and in
        the same memory. The CPU takes any strides; a GPU takes matrices in C or in Fortran order,
        whose rows or columns may be farther apart than they are long.
    out : array, optional
        Array to write the result to: of the operands' library, on their device, with the shape and
        element type of the result, and with strides as for the operands. It must not overlap them.
        By default a new array is allocated.
    options : MatmulOptions or dict, optional
        Memory manager, logger and more; see `MatmulOptions`.
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute. By default the product is computed where the operands are. With
        ``'cuda'``, operands in host memory are copied to the GPU, and the result is copied back;
        with ``'cpu'``, the same happens to operands on the GPU in the other direction.
    stream : int or stream object, optional
        CUDA stream to work on: a ``cudaStream_t`` as an int, a stream of CuPy, PyTorch or Numba, or
        an object with ``__cuda_stream__()``. The stream waits for the work that writes the
        operands. By default it is the current stream of CuPy or PyTorch, or the default stream for
        other operands. It is ignored if no GPU takes part.

    Returns
    -------
    array
        ``out`` if it is given. Otherwise a new array of shape (m, n) in C order, on the operands'
        device: a NumPy array, CuPy array or PyTorch tensor if the operands are, else a
        `gpumath.memory.Array`. If k is 0, all its elements are 0.

    Raises
    ------
    ValueError
        An operand is no matrix, or not of an accepted library or type; the operands do not fit each
        other; ``out`` does not fit; ``execution`` is not an allowed value.
    TypeError
        ``options`` or ``stream`` has a wrong type.
    UnsupportedLayoutError
        The GPU does not take the strides of an operand; the message says which copy helps.
    gpumath.bindings.errors.NoDeviceError
        ``execution`` asks for a GPU, but there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import linalg
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> linalg.matmul(a, a.T)
    array([[14., 32.],
           [32., 77.]])
    """
    chosen = resolve_options(MatmulOptions, options)
    where = resolve_execution(execution, lambda: core.TensorView(a).device_id)
    plan = core.MatmulPlan(a, b, **execution_choices(where), out=out, stream=stream)
    check_memory_limit(chosen.memory_limit, plan)
    device_id = core.TensorView(a).device_id
    logger = logger_of(chosen)
    warn_of_ignored(logger, plan, device_id, chosen, where, stream)
    logger.info("specified: %r, with a workspace of %d bytes", plan, plan.workspace_size)
    workspace = core.Workspace(chosen.allocator)
    with logged_execution(logger, "matmul", plan, device_id):
        result = plan.run(a, b, out, stream, workspace, chosen.blocking is True)
    workspace.release()
    return result
