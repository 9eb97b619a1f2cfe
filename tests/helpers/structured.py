"""Matrices with a structure in tests: their qualifiers, and all their elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumath import linalg

DTYPES = ["float32", "float64", "complex64", "complex128"]

LOWER, UPPER = linalg.FillMode.LOWER, linalg.FillMode.UPPER


@dataclass(frozen=True)
class Kind:
    """What is known of a matrix."""

    name: str
    uplo: Any = LOWER
    unit: bool = False
    reverse: bool = False
    conjugate: bool = False

    def __str__(self) -> str:
        """Name of a test's variant."""
        words = [self.name, "upper" if self.uplo == UPPER else "lower"]
        flags = [name for name in ("unit", "reverse", "conjugate") if getattr(self, name)]
        return "-".join(words + flags)

    def qualifier(self) -> Any:
        """Return the qualifier."""
        if self.name == "ge":
            return linalg.GeneralMatrixQualifier.create(self.conjugate)
        if self.name == "sy":
            return linalg.SymmetricMatrixQualifier.create(self.conjugate, self.uplo)
        if self.name == "he":
            return linalg.HermitianMatrixQualifier.create(self.conjugate, self.uplo)
        if self.name == "tr":
            diag = linalg.DiagType.UNIT if self.unit else linalg.DiagType.NON_UNIT
            return linalg.TriangularMatrixQualifier.create(self.conjugate, self.uplo, diag)
        return linalg.DiagonalMatrixQualifier.create(self.conjugate, -1 if self.reverse else 1)

    def stored(
        self, rng: np.random.Generator, shape: tuple[int, ...], dtype: str, order: str
    ) -> Any:
        """Return random elements, with NaN wherever nothing may be read."""
        if self.name == "dg":
            return numbers(rng, shape[:-1], dtype)
        values = matrix(rng, shape, dtype, order)
        side = np.arange(shape[-1])
        if self.name in ("sy", "he", "tr"):
            is_absent = side[:, None] < side if self.uplo == LOWER else side[:, None] > side
            values[..., is_absent] = np.nan
            if self.unit:
                values[..., side, side] = np.nan
        return values

    def whole(self, stored: np.ndarray) -> np.ndarray:
        """Return all elements of the matrix in double precision."""
        values = stored.astype(np.complex128)
        if self.name == "dg":
            values = values[..., ::-1] if self.reverse else values
            values = values[..., None] * np.eye(values.shape[-1])
        elif self.name != "ge":
            side = np.arange(values.shape[-1])
            part = np.where(np.isnan(values), 0, values)
            mirrored = np.swapaxes(part, -1, -2)
            if self.name == "he":
                part[..., side, side] = part[..., side, side].real
                mirrored = mirrored.conj()
            diagonal = np.zeros_like(part)
            diagonal[..., side, side] = 1 if self.unit else part[..., side, side]
            part[..., side, side] = 0
            mirrored = np.swapaxes(part, -1, -2)
            mirrored = mirrored.conj() if self.name == "he" else mirrored
            values = part + diagonal + (0 if self.name == "tr" else mirrored)
        return values.conj() if self.conjugate else values


GENERAL = Kind("ge")
KINDS = [
    Kind("ge"),
    Kind("ge", conjugate=True),
    Kind("sy"),
    Kind("sy", UPPER, conjugate=True),
    Kind("he", UPPER),
    Kind("he", conjugate=True),
    Kind("tr"),
    Kind("tr", UPPER, conjugate=True),
    Kind("tr", UPPER, unit=True),
    Kind("tr", unit=True, conjugate=True),
    Kind("dg"),
    Kind("dg", reverse=True, conjugate=True),
]


def qualifiers(*kinds: Kind) -> Any:
    """Return an array of qualifiers."""
    return np.array([kind.qualifier() for kind in kinds], linalg.matrix_qualifiers_dtype)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Return random numbers, with imaginary parts where the type has them."""
    values = rng.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        return (values + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
    return values.astype(dtype)


def matrix(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, order: str) -> Any:
    """Return random matrices: in C or Fortran order, with gaps, with steps, or backwards."""
    *batch, rows, columns = shape
    if order == "C":
        return numbers(rng, shape, dtype)
    if order == "F":
        return numbers(rng, (*batch, columns, rows), dtype).swapaxes(-1, -2)
    if order == "rows":
        return numbers(rng, (*batch, rows, columns + 3), dtype)[..., 2 : columns + 2]
    if order == "columns":
        base = numbers(rng, (*batch, columns, rows + 3), dtype)[..., 1 : rows + 1]
        return base.swapaxes(-1, -2)
    if order == "steps":
        return numbers(rng, (*batch, 2 * rows, 3 * columns), dtype)[..., ::2, ::3]
    # The batch is last in memory.
    base = numbers(rng, (rows, columns, *batch), dtype)
    return base.transpose(*range(2, base.ndim), 0, 1)


ORDERS = ["C", "F", "rows", "columns", "steps", "last"]


def check(result: np.ndarray, expected: np.ndarray, size: np.ndarray, depth: int) -> None:
    """Compare a result with that in double precision, by the bound of rounding errors.

    ``size`` is the same sum of the terms' absolute values.
    """
    assert result.shape == expected.shape
    bound = (4 * depth + 16) * np.finfo(result.dtype).eps * size
    errors = np.abs(result - expected)
    assert (errors <= bound).all(), (errors - bound).max()
