"""What a Fourier transform should give, in higher precision, and how far off it may be."""

from __future__ import annotations

from math import log2, prod
from typing import Any

import numpy as np

WIDER = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
    np.dtype(np.float64): np.dtype(np.longdouble),
    np.dtype(np.complex128): np.dtype(np.clongdouble),
}


def random_values(
    shape: tuple[int, ...], dtype: Any, rng: np.random.Generator | None = None
) -> np.ndarray:
    """Fresh normally distributed numbers."""
    rng = rng or np.random.default_rng()
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


def hermitian_values(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: Any,
    odd: bool = False,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Fresh operand of a C2R transform: of this shape, the half of an array with real transform."""
    full = list(shape)
    full[axes[-1]] = 2 * (shape[axes[-1]] - 1) + odd
    values = np.fft.rfftn(random_values(tuple(full), np.float64, rng), axes=axes)
    return np.asarray(values, dtype) / np.dtype(dtype).type(prod(full) ** 0.5)


def reference(
    values: np.ndarray,
    kind: str,
    axes: tuple[int, ...],
    *,
    inverse: bool = False,
    odd: bool = False,
) -> np.ndarray:
    """Unscaled transform, computed one precision higher."""
    values = values.astype(WIDER[values.dtype])
    if kind == "R2C":
        return np.fft.rfftn(values, axes=axes)
    if kind == "C2R":
        extents = [values.shape[axis] for axis in axes]
        extents[-1] = 2 * (extents[-1] - 1) + odd
        return np.fft.irfftn(values, s=extents, axes=axes, norm="forward")
    if inverse:
        return np.fft.ifftn(values, axes=axes, norm="forward")
    return np.fft.fftn(values, axes=axes)


def relative_error(result: np.ndarray, expected: np.ndarray) -> float:
    """Norm of the error over the norm of the expected values."""
    scale = np.linalg.norm(expected.ravel().astype(np.complex128))
    difference = np.linalg.norm((result - expected).ravel().astype(np.complex128))
    return float(difference / scale) if scale else float(difference)


def tolerance(dtype: Any, points: int) -> float:
    """Allowed relative error of a transform over so many points.

    The rounding errors of a fast transform add up over its log2(n) stages, so that their norm is
    bounded by a small constant times eps * log2(n). Lengths with large prime factors go through two
    transforms of more than twice the length, which the constant 2 leaves room for.
    """
    eps = float(np.finfo(dtype).eps)
    return 2 * eps * max(1.0, log2(points)) if points > 1 else eps


def assert_close(
    result: np.ndarray,
    values: np.ndarray,
    kind: str,
    axes: tuple[int, ...],
    *,
    inverse: bool = False,
    odd: bool = False,
) -> None:
    """Check a result for ``values``: its element type, its shape and its numbers."""
    expected = reference(values, kind, axes, inverse=inverse, odd=odd)
    assert WIDER[result.dtype] == expected.dtype
    assert result.shape == expected.shape
    longer = expected if kind == "C2R" else values
    points = prod(longer.shape[axis] for axis in axes)
    assert relative_error(result, expected) <= tolerance(values.dtype, points)
