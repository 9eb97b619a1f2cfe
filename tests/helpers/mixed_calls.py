"""Transforms of every kind, shape and form in any order, with the results that they should have."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumath import fft
from tests.helpers.references import hermitian_values, random_values, reference

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fft": fft.fft,
    "ifft": fft.ifft,
    "rfft": fft.rfft,
    "irfft": fft.irfft,
}
_KINDS = {"fft": "C2C", "ifft": "C2C", "rfft": "R2C", "irfft": "C2R"}
_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((64,), (0,)),
    ((16, 256), (1,)),
    ((3, 4099), (1,)),  # a prime length, which needs a workspace
    ((32, 30), (0, 1)),
    ((12, 5, 18), (0, 2)),  # several calls of the library
]


@dataclass(frozen=True)
class Case:
    """A transform of given values, and its result."""

    name: str
    axes: tuple[int, ...]
    values: np.ndarray
    expected: np.ndarray

    @property
    def limit(self) -> float:
        """How far an element of the result may be off."""
        eps = float(np.finfo(self.values.dtype).eps)
        # The error of an element is a few eps times the norm of a line, whatever the length here.
        return 50 * eps * float(np.abs(self.expected).max())

    def run(self, operand: Any, as_object: bool, **keywords: Any) -> Any:
        """Compute by the function or by an object, of which the second run's result is taken."""
        if not as_object:
            return _FUNCTIONS[self.name](operand, axes=self.axes, **keywords)
        stream = keywords.pop("stream", None)
        options = {"fft_type": _KINDS[self.name]}
        direction: Any = "inverse" if self.name in ("ifft", "irfft") else "forward"
        with fft.FFT(operand, axes=self.axes, options=options, **keywords) as transform:
            transform.plan(direction=direction)
            transform.execute(stream=stream)
            transform.reset_operand(operand)
            return transform.execute(stream=stream)


def cases() -> list[Case]:
    """Make all kinds in all shapes and both precisions, with fresh values."""
    made = []
    for name, kind in _KINDS.items():
        for shape, axes in _SHAPES:
            for dtype in (np.float32, np.float64):
                complex_dtype = np.result_type(dtype, np.complex64)
                if kind == "R2C":
                    values = random_values(shape, dtype)
                elif kind == "C2R":
                    values = hermitian_values(shape, axes, complex_dtype)
                else:
                    values = random_values(shape, complex_dtype)
                expected = reference(values, kind, axes, inverse=name == "ifft")
                result = dtype if kind == "C2R" else complex_dtype
                made.append(Case(name, axes, values, np.asarray(expected, result)))
    return made


def shuffled(items: Sequence[Any], count: int) -> list[Any]:
    """Return so many of the items, in any order."""
    return random.Random(os.urandom(8)).choices(items, k=count)


def resident_bytes() -> int:
    """Return how much host memory this process has in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
