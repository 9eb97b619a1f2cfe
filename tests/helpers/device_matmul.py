"""A kernel around `gpumath.device.Matmul`, and operands for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from gpumath.device import SmallFloat

# Exponents and fractions of the types that NumPy does not have: lowest exponent, bits.
_SMALL = {
    "bfloat16": (-126, 7),
    "tfloat32": (-126, 10),
    "float8_e4m3fn": (-6, 3),
    "float8_e5m2": (-14, 2),
}


def operands(matmul: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random matrices, in the widest type, of values that the types of a product can hold.

    They are what is multiplied: of shape m x k, k x n and m x n.
    """
    m, n, k = matmul.size
    shapes = ((m, k), (k, n), (m, n))
    matrices = []
    for shape, precision in zip(shapes, matmul.precision, strict=True):
        matrix = _numbers(shape, precision, rng)
        if matmul.data_type == "complex":
            matrix = matrix + 1j * _numbers(shape, precision, rng)
        matrices.append(matrix)
    a, b, c = matrices
    return a, b, c


def _numbers(shape: tuple[int, int], precision: Any, rng: np.random.Generator) -> np.ndarray:
    if isinstance(precision, SmallFloat):
        _, bits = _SMALL[precision.name]
        return rng.integers(-(1 << bits), (1 << bits) + 1, shape) / (1 << bits)
    if np.dtype(precision).kind in "iu":
        return rng.integers(0 if np.dtype(precision).kind == "u" else -9, 10, shape)
    return rng.uniform(-1, 1, shape).astype(precision).astype(np.float64)


def _stored(matrix: np.ndarray, precision: Any) -> np.ndarray:
    """Return a matrix in its own type: pairs for complex numbers, bits for small numbers."""
    if matrix.dtype.kind == "c":
        parts = [_stored(part, precision) for part in (matrix.real, matrix.imag)]
        return np.stack(parts, axis=-1)
    if not isinstance(precision, SmallFloat):
        return matrix.astype(precision)
    if precision.name == "tfloat32":
        return matrix.astype(np.float32)
    lowest, bits = _SMALL[precision.name]
    fraction, exponent = np.frexp(np.abs(matrix))  # fraction in [0.5, 1)
    exponent = np.maximum(exponent - 1, lowest)
    scaled = np.rint(np.ldexp(np.abs(matrix), bits - exponent)).astype(np.int64)
    normal = scaled >= 1 << bits
    del fraction
    code = ((exponent - lowest + normal) << bits) + scaled - (normal << bits)
    code = np.where(normal, code, scaled)
    width = 8 * precision.dtype.itemsize
    return (code | (np.signbit(matrix).astype(np.int64) << (width - 1))).astype(precision.dtype)


def _flat(stored: np.ndarray, rows_contiguous: bool, leading: int) -> np.ndarray:
    """Return the elements as they are in memory, with gaps up to the leading dimension."""
    lines = stored if rows_contiguous else stored.swapaxes(0, 1)
    memory = np.zeros((lines.shape[0], leading, *lines.shape[2:]), stored.dtype)
    memory[:, : lines.shape[1]] = lines
    return memory.reshape(-1, *lines.shape[2:])


def multiply_on_gpu(
    matmul: Any,
    *scalars_and_matrices: Any,
    leading_dimensions: tuple[int, int, int] | None = None,
) -> np.ndarray:
    """Return ``alpha * a @ b + beta * c``, computed by one block."""
    alpha, a, b, beta, c = scalars_and_matrices
    leading = leading_dimensions or matmul.leading_dimension
    rows = [kind == "row_major" for kind in matmul.arrangement or ("col_major",) * 3]
    modes = (*(matmul.transpose_mode or ("non_transposed",) * 2), "non_transposed")
    memories = []
    for matrix, mode, by_rows, ld, precision in zip(
        (a, b, c), modes, rows, leading, matmul.precision, strict=True
    ):
        stored = matrix if mode == "non_transposed" else matrix.T
        stored = stored.conj() if mode == "conj_transposed" else stored
        memories.append(_flat(_stored(stored, precision), by_rows, ld))
    sizes = tuple(len(memory) for memory in memories)
    kernel = _kernel(matmul, sizes, leading_dimensions)
    arrays = [cuda.to_device(memory) for memory in memories]
    kernel[1, tuple(matmul.block_dim)](alpha, *arrays[:2], beta, arrays[2])
    result = arrays[2].copy_to_host()
    if matmul.data_type == "complex":
        result = result[..., 0].astype(np.float64) + 1j * result[..., 1].astype(np.float64)
    else:
        result = result.astype(np.float64 if result.dtype.kind == "f" else np.int64)
    m, n, _ = matmul.size
    lines = result.reshape(-1, leading[2])
    return lines[:, :n] if rows[2] else lines[:, :m].T


def _kernel(matmul: Any, sizes: tuple[int, int, int], runtime: Any) -> Any:
    """Return a kernel that copies to shared memory, multiplies, and copies the result back."""
    size_a, size_b, size_c = sizes
    type_a, type_b, type_c = (_element(matmul, name) for name in "abc")
    is_complex = matmul.data_type == "complex"
    load_a, load_b, load_c = (_loader(t, is_complex) for t in (type_a, type_b, type_c))
    store = _store_pairs if is_complex else _copy
    lda, ldb, ldc = runtime or (0, 0, 0)

    @cuda.jit(device=True)
    def execute(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        matmul.execute(alpha, a, b, beta, c)

    @cuda.jit(device=True)
    def execute_with_ld(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        matmul.execute(alpha, a, lda, b, ldb, beta, c, ldc)

    multiply = execute_with_ld if runtime else execute

    @cuda.jit
    def kernel(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        sa = cuda.shared.array(shape=size_a, dtype=type_a, alignment=16)
        sb = cuda.shared.array(shape=size_b, dtype=type_b, alignment=16)
        sc = cuda.shared.array(shape=size_c, dtype=type_c, alignment=16)
        load_a(sa, a)
        load_b(sb, b)
        load_c(sc, c)
        cuda.syncthreads()
        multiply(alpha, sa, sb, beta, sc)
        cuda.syncthreads()
        store(c, sc)

    return kernel


def _element(matmul: Any, name: str) -> Any:
    """Return the type of a matrix in shared memory; integers for numbers that Numba lacks."""
    value_type = getattr(matmul, f"{name}_value_type")
    return value_type.dtype.type if isinstance(value_type, SmallFloat) else value_type


@cuda.jit(device=True)
def _copy(target: Any, source: Any) -> None:
    for i in range(cuda.threadIdx.x, len(target), cuda.blockDim.x):
        target[i] = source[i]


@cuda.jit(device=True)
def _store_pairs(target: Any, source: Any) -> None:
    for i in range(cuda.threadIdx.x, len(source), cuda.blockDim.x):
        target[i, 0] = source[i].x
        target[i, 1] = source[i].y


def _loader(element: Any, is_complex: bool) -> Any:
    if not is_complex:
        return _copy

    @cuda.jit(device=True)
    def load_pairs(target: Any, source: Any) -> None:
        for i in range(cuda.threadIdx.x, len(target), cuda.blockDim.x):
            target[i] = element(source[i, 0], source[i, 1])

    return load_pairs
