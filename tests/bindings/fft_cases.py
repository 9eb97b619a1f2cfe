"""Random Fourier problems of every kind and layout, with NumPy's results in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpumath.bindings import core

DTYPES = {
    ("C2C", False): np.complex64,
    ("C2C", True): np.complex128,
    ("R2C", False): np.float32,
    ("R2C", True): np.float64,
    ("C2R", False): np.complex64,
    ("C2R", True): np.complex128,
}


@dataclass
class Case:
    """One problem. Its operand is a view of a dense array, which any library can rebuild."""

    kind: str
    base: npt.NDArray[Any]
    """Dense memory."""
    index: tuple[slice, ...]
    """The part of `base` that is used, a slice for each axis."""
    permutation: tuple[int, ...]
    """The order of the axes of that part in the operand."""
    axes: tuple[int, ...]
    odd: bool

    def view(self, base: Any) -> Any:
        """The operand, in the memory of ``base``, a copy of ``self.base`` in any library."""
        cut = base[self.index]
        return (
            cut.permute(self.permutation)
            if hasattr(cut, "permute")
            else cut.transpose(self.permutation)
        )

    def plan(self, operand: Any, **keywords: Any) -> core.FftPlan:
        parity = "odd" if self.odd else "even"
        return core.FftPlan(
            operand,
            axes=self.axes,
            kind=self.kind,
            last_axis_parity=parity,
            **keywords,
        )

    @property
    def direction(self) -> int:
        return 1 if self.kind == "C2R" else -1

    def tolerance(self) -> float:
        """Largest difference allowed, relative to the largest element of the result."""
        real = np.finfo(self.base.dtype)
        points = np.prod([self.view(self.base).shape[axis] for axis in self.axes])
        return 10 * float(real.eps) * (1 + np.log2(points))

    def reference(self) -> npt.NDArray[Any]:
        wide = np.complex128 if np.iscomplexobj(self.base) else np.float64
        operand = self.view(self.base).astype(wide)
        if self.kind == "C2C":
            return np.fft.fftn(operand, axes=self.axes)
        if self.kind == "R2C":
            return np.fft.rfftn(operand, axes=self.axes)
        shape = [operand.shape[axis] for axis in self.axes]
        shape[-1] = 2 * (shape[-1] - 1) + self.odd
        return np.fft.irfftn(operand, s=shape, axes=self.axes, norm="forward")


def random_case(rng: np.random.Generator, *, backwards: bool = True) -> Case:
    """A problem of one to four dimensions, with permuted, gapped and perhaps reversed memory."""
    kind = str(rng.choice(["C2C", "R2C", "C2R"]))
    dtype = DTYPES[kind, bool(rng.integers(2))]
    ndim = int(rng.integers(1, 5))
    shape = rng.integers(1, 12, ndim)
    steps = rng.choice([1, 1, 1, 2, -1 if backwards else 1], ndim)
    starts = rng.integers(0, 2, ndim)
    extents = shape * np.abs(steps) + starts
    base = rng.standard_normal(extents)
    if np.issubdtype(dtype, np.complexfloating):
        base = base + 1j * rng.standard_normal(extents)
    index = tuple(
        slice(int(start), int(start + n * step), int(step))
        if step > 0
        else slice(int(start + n - 1), int(start - 1) if start else None, int(step))
        for start, n, step in zip(starts, shape, steps, strict=True)
    )
    permutation = tuple(int(axis) for axis in rng.permutation(ndim))
    axes = tuple(int(axis) for axis in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])
    odd = bool(rng.integers(2))
    if shape[permutation[axes[-1]]] == 1:
        odd = True
    return Case(kind, base.astype(dtype), index, permutation, axes, odd)


def assert_close(result: npt.NDArray[Any], case: Case) -> None:
    wanted = case.reference()
    assert result.shape == wanted.shape
    scale = np.abs(wanted).max()
    error = np.abs(result - wanted).max()
    assert error <= case.tolerance() * scale, f"{case.kind} {case.axes}: {error / scale}"
