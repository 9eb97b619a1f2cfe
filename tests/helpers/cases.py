"""A transform of one kind and shape: fresh operands for it, and the check of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumath import fft
from tests.helpers.references import assert_close, hermitian_values, random_values

KINDS = ["C2C", "R2C", "C2R"]


@dataclass(frozen=True)
class Case:
    """A forward transform, or for C2R the inverse one.

    ``shape`` is that of the real side for R2C and C2R.
    """

    kind: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    precision: int = 4  # bytes of a real number

    def __str__(self) -> str:
        """Name of a test's variant."""
        extents = "x".join(map(str, self.shape))
        return f"{self.kind}_{extents}_along_{''.join(map(str, self.axes))}_f{self.precision}"

    @property
    def _half_shape(self) -> tuple[int, ...]:
        extents = list(self.shape)
        extents[self.axes[-1]] = extents[self.axes[-1]] // 2 + 1
        return tuple(extents)

    @property
    def is_odd(self) -> bool:
        """Whether the last axis has an odd number of points on the real side."""
        return self.shape[self.axes[-1]] % 2 == 1

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self._half_shape if self.kind == "R2C" else self.shape

    @property
    def result_dtype(self) -> np.dtype:
        """Element type of the result."""
        if self.kind == "C2R":
            return np.dtype(f"f{self.precision}")
        return np.dtype(f"c{2 * self.precision}")

    @property
    def function(self) -> Callable[..., Any]:
        """The function form."""
        return {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[self.kind]

    @property
    def options(self) -> dict[str, Any]:
        """Options that both forms need."""
        parity = {"last_axis_parity": "odd"} if self.kind == "C2R" and self.is_odd else {}
        return {"fft_type": self.kind, **parity}

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of both forms."""
        return {"axes": list(self.axes), "options": self.options}

    @property
    def keywords_in_order(self) -> dict[str, Any]:
        """Keywords for a result in the operand's memory order, which is that of `blank`."""
        return {"axes": list(self.axes), "options": {**self.options, "result_layout": "natural"}}

    def values(self) -> np.ndarray:
        """Fresh operand."""
        if self.kind == "C2R":
            dtype = f"c{2 * self.precision}"
            return hermitian_values(self._half_shape, self.axes, dtype, odd=self.is_odd)
        dtype = f"c{2 * self.precision}" if self.kind == "C2C" else f"f{self.precision}"
        return random_values(self.shape, dtype)

    def blank(self) -> np.ndarray:
        """Result that nothing was written to: all NaN."""
        return np.full(self.result_shape, np.nan, self.result_dtype)

    def check(self, result: np.ndarray, values: np.ndarray) -> None:
        """Compare a result for ``values`` with a reference of higher precision."""
        assert_close(result, values, self.kind, self.axes, odd=self.is_odd)


def random_cases(kind: str, count: int) -> Iterator[Case]:
    """So many small cases, of up to four dimensions and up to three transform axes in any order."""
    rng = np.random.default_rng()
    for _ in range(count):
        rank = int(rng.integers(1, 5))
        shape = tuple(int(extent) for extent in rng.integers(1, 13, rank))
        chosen = rng.permutation(rank)[: rng.integers(1, min(rank, 3) + 1)]
        precision = int(rng.choice([4, 8]))
        yield Case(kind, shape, tuple(int(axis) for axis in chosen), precision)


@contextmanager
def noted(*facts: object) -> Iterator[None]:
    """Add to an error which of many random cases it came from."""
    try:
        yield
    except BaseException as error:
        error.add_note(", ".join(map(str, facts)))
        raise
