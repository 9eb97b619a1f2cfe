"""Runs a solver of `gpumath.device` in a kernel, on matrices of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from gpumath.device import Solver

Array = npt.NDArray[Any]


def packed(matrices: Array, order: str, leading_dimension: int) -> Array:
    """Return matrices as they are in shared memory; what is in gaps is no number."""
    count, rows, columns = matrices.shape
    if order == "col_major":
        strides, size = (leading_dimension * columns, 1, leading_dimension), columns
    else:
        strides, size = (leading_dimension * rows, leading_dimension, 1), rows
    memory = np.full(count * leading_dimension * size, np.nan, matrices.dtype)
    view(memory, matrices.shape, strides)[...] = matrices
    return memory


def unpacked(memory: Array, shape: tuple[int, ...], order: str, leading_dimension: int) -> Array:
    """Return what `packed` has been given."""
    _, rows, columns = shape
    if order == "col_major":
        strides = (leading_dimension * columns, 1, leading_dimension)
    else:
        strides = (leading_dimension * rows, leading_dimension, 1)
    return np.array(view(memory, shape, strides))


def view(memory: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """View memory with strides that count elements."""
    return as_strided(memory, shape, [stride * memory.itemsize for stride in strides])


def execute(solver: Solver, *operands: Array | int) -> list[Array]:
    """Execute a solver in a block, with a copy of each array in shared memory.

    Returns the arrays afterwards. A number is a leading dimension.
    """
    from numba import cuda
    from numba.cuda.np.numpy_support import from_dtype

    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    numbers = [operand for operand in operands if not isinstance(operand, np.ndarray)]
    spare = [np.zeros(1, np.int32)] * (5 - len(arrays))
    given = [np.ascontiguousarray(array).reshape(-1) for array in arrays] + spare
    n0, n1, n2, n3, n4 = (len(array) for array in given)
    t0, t1, t2, t3, t4 = (from_dtype(array.dtype) for array in given)
    call = _call(solver, [isinstance(operand, np.ndarray) for operand in operands])

    @cuda.jit
    def kernel(x0: Any, x1: Any, x2: Any, x3: Any, x4: Any, ld0: int, ld1: int) -> None:
        s0 = cuda.shared.array(n0, t0)
        s1 = cuda.shared.array(n1, t1)
        s2 = cuda.shared.array(n2, t2)
        s3 = cuda.shared.array(n3, t3)
        s4 = cuda.shared.array(n4, t4)
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0:
            for i in range(n0):
                s0[i] = x0[i]
            for i in range(n1):
                s1[i] = x1[i]
            for i in range(n2):
                s2[i] = x2[i]
            for i in range(n3):
                s3[i] = x3[i]
            for i in range(n4):
                s4[i] = x4[i]
        cuda.syncthreads()
        call(s0, s1, s2, s3, s4, ld0, ld1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0:
            for i in range(n0):
                x0[i] = s0[i]
            for i in range(n1):
                x1[i] = s1[i]
            for i in range(n2):
                x2[i] = s2[i]
            for i in range(n3):
                x3[i] = s3[i]
            for i in range(n4):
                x4[i] = s4[i]

    on_device = [cuda.to_device(array) for array in given]
    kernel[1, tuple(solver.block_dim)](*on_device, *(*numbers, 0, 0)[:2])
    results = [array.copy_to_host() for array in on_device]
    return [result.reshape(array.shape) for result, array in zip(results, arrays, strict=False)]


def _call(solver: Solver, is_array: list[bool]) -> Any:
    """Return a device function that passes what a solver takes."""
    from numba import cuda

    arrays, numbers = iter(range(5)), iter(range(2))
    names = [f"s{next(arrays)}" if array else f"ld{next(numbers)}" for array in is_array]
    source = f"def call(s0, s1, s2, s3, s4, ld0, ld1):\n    solver.execute({', '.join(names)})\n"
    space: dict[str, Any] = {"solver": solver}
    exec(source, space)  # the arguments of a call in a kernel cannot be unpacked
    return cuda.jit(device=True)(space["call"])
