"""Random transforms: kind, shape, axes, memory layouts, lengths and scaling, all from one seed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from gpumath import fft
from tests.helpers.cases import KINDS
from tests.helpers.references import (
    hermitian_values,
    random_values,
    reference,
    relative_error,
    tolerance,
)

# Extents of one point; small ones; powers of two; primes; primes above 127, which cuFFT transforms
# by Bluestein's algorithm, and multiples of these.
SMOOTH_EXTENTS = (1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 30, 64, 100, 256, 1024, 2048, 4096)
PRIME_EXTENTS = (127, 131, 139, 262, 509, 1021, 3 * 503, 4099)
EXTENTS = SMOOTH_EXTENTS + PRIME_EXTENTS
MOST_ELEMENTS = 6000
# Calls of cuFFT for one transform that gpumath makes at most.
MOST_CALLS = 1024


def seeds(count: int) -> Iterator[int]:
    """Fresh seeds, or the one in GPUMATH_TEST_SEED, to try a failure again."""
    given = os.environ.get("GPUMATH_TEST_SEED")
    if given is not None:
        yield int(given)
        return
    yield from np.random.default_rng().integers(2**32, size=count).tolist()


@dataclass
class RandomTransform:
    """A transform of random values in a random layout, in one of the ways to ask for it."""

    seed: int
    backwards: bool = False
    """Whether strides may be negative."""
    resizes: bool = True
    """Whether lengths and scaling may be asked for."""
    extents: tuple[int, ...] = EXTENTS
    most_elements: int = MOST_ELEMENTS

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.kind = str(self.rng.choice(KINDS))
        self.precision = int(self.rng.choice([4, 8]))
        self.form = str(self.rng.choice(["function", "numpy form", "class"]))
        self.inverse = self.kind == "C2R" or (self.kind == "C2C" and self._chance(0.5))
        self.result_layout = str(self.rng.choice(["natural", "optimized"]))
        shape = self._random_shape()
        ndim = len(shape)
        count = int(self.rng.integers(1, ndim + 1))
        self.axes = tuple(int(axis) for axis in self.rng.permutation(ndim)[:count])
        # The shape on the real side, and from it that of the operand once it is cut or padded.
        self.real_shape = tuple(
            max(extent, 1) if axis in self.axes else extent for axis, extent in enumerate(shape)
        )
        self.target = self._random_target()
        self.norm = self._random_norm()
        self.lengths: list[int] | None = None
        self.shape = self.used_shape
        if self.resizes and self.form != "class" and self.target in ("new", "out"):
            self._resize()
        # An axis of the batch that is the same elements again and again.
        batch = [axis for axis in range(ndim) if axis not in self.axes and self.shape[axis] > 1]
        repeats = bool(batch) and self.target in ("new", "out") and self._chance(0.15)
        self.repeated = int(self.rng.choice(batch)) if repeats else None
        self.template = self._random_layout(self.shape, self.dtype, self.repeated)
        self.lead = int(self._chance(0.2))

    def __str__(self) -> str:
        """All that matters, for an error message."""
        return (
            f"GPUMATH_TEST_SEED={self.seed}: {self.kind} by {self.form}, inverse {self.inverse}, "
            f"{self.dtype}, shape {self.shape}, strides {self.template.strides}, axes {self.axes}, "
            f"real side {self.real_shape}, lengths {self.lengths}, norm {self.norm}, "
            f"target {self.target}, {self.result_layout}, {self.lead} elements before"
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the operand."""
        return np.dtype(f"f{self.precision}" if self.kind == "R2C" else f"c{2 * self.precision}")

    @property
    def result_dtype(self) -> np.dtype[Any]:
        """Element type of the result."""
        return np.dtype(f"f{self.precision}" if self.kind == "C2R" else f"c{2 * self.precision}")

    @property
    def is_odd(self) -> bool:
        """Whether the real side has an odd number of points along the last axis."""
        return self.real_shape[self.axes[-1]] % 2 == 1

    @property
    def points(self) -> int:
        """Number of points of one transform."""
        return prod(self.real_shape[axis] for axis in self.axes)

    @property
    def _half_shape(self) -> tuple[int, ...]:
        extents = list(self.real_shape)
        extents[self.axes[-1]] = extents[self.axes[-1]] // 2 + 1
        return tuple(extents)

    @property
    def used_shape(self) -> tuple[int, ...]:
        """Shape of what is transformed: of the operand after it is cut or padded."""
        return self._half_shape if self.kind == "C2R" else self.real_shape

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self._half_shape if self.kind == "R2C" else self.real_shape

    def values(self) -> np.ndarray:
        """Fresh values for the operand."""
        if self.kind != "C2R":
            shape = [1 if axis == self.repeated else n for axis, n in enumerate(self.shape)]
            return np.broadcast_to(random_values(tuple(shape), self.dtype, self.rng), self.shape)
        # What is transformed has to be Hermitian; what is cut off may be anything.
        common = tuple(map(min, self.shape, self.used_shape))
        shape = tuple(1 if axis == self.repeated else n for axis, n in enumerate(common))
        if prod(shape) == 0:
            return np.zeros(self.shape, self.dtype)
        # Padded with zeros, an even number of points would no longer end in a real one.
        odd = self.is_odd or common[self.axes[-1]] < self.used_shape[self.axes[-1]]
        odd = odd or shape[self.axes[-1]] == 1
        half = hermitian_values(shape, self.axes, self.dtype, odd, self.rng)
        values = random_values(self.shape, self.dtype, self.rng)
        if self.repeated is not None:
            values = np.broadcast_to(np.take(values, [0], self.repeated), self.shape).copy()
        values[tuple(map(slice, common))] = half
        return values

    def resized(self, values: np.ndarray) -> np.ndarray:
        """Copy of an operand, cut and padded to what is transformed."""
        used = np.zeros(self.used_shape, values.dtype)
        common = tuple(map(slice, map(min, self.shape, self.used_shape)))
        used[common] = values[common]
        return used

    def expected(self, values: np.ndarray) -> np.ndarray:
        """Result for these values, in higher precision than they have."""
        if 0 in self.result_shape:
            return np.zeros(self.result_shape, self.result_dtype)
        used = self.resized(values)
        result = reference(used, self.kind, self.axes, inverse=self.inverse, odd=self.is_odd)
        return np.asarray(result * self._factor)

    def check(self, result: np.ndarray, values: np.ndarray) -> None:
        """Compare a result for these values."""
        assert result.shape == self.result_shape
        assert result.dtype == self.result_dtype
        expected = self.expected(values)
        # One rounding more, for the scaling.
        allowed = tolerance(self.dtype, self.points) + float(np.finfo(self.dtype).eps)
        assert relative_error(result, expected) <= allowed

    def blank_out(self) -> np.ndarray:
        """Array for the result, in a random layout, with random values in it."""
        return self._random_layout(self.result_shape, self.result_dtype, None)

    def laid_out(self, strides: tuple[int, ...]) -> np.ndarray:
        """Array for the result with these strides, in elements."""
        reach = sum((n - 1) * s for n, s in zip(self.result_shape, strides, strict=True))
        memory = random_values((max(reach, 0) + 1,), self.result_dtype, self.rng)
        steps = [stride * memory.itemsize for stride in strides]
        return np.ndarray(self.result_shape, memory.dtype, memory, 0, steps)

    @property
    def options(self) -> dict[str, Any]:
        """Options for any form, without those that are default."""
        options: dict[str, Any] = {}
        if self.result_layout == "natural":
            options["result_layout"] = "natural"
        if self.target == "inplace":
            options["inplace"] = True
        if self.kind == "C2R" and self.is_odd:
            options["last_axis_parity"] = "odd"
        if self.form == "class":
            options["fft_type"] = self.kind
        return options

    def call(self, operand: Any, **keywords: Any) -> Any:
        """Transform by a function."""
        if self.options:  # without any, a call goes a shorter way
            keywords["options"] = self.options
        name = {"C2C": "ifft" if self.inverse else "fft", "R2C": "rfft", "C2R": "irfft"}[self.kind]
        if self.form == "function":
            if self.norm is not None:
                keywords["norm"] = self.norm
            if self.lengths is not None and len(self.lengths) == 1:
                keywords["n"] = self.lengths[0]
            elif self.lengths is not None:
                keywords["s"] = self.lengths
        else:
            name += "n"
            keywords["norm"] = self.norm
            if self.lengths is not None:
                keywords["s"] = self.lengths
        function: Callable[..., Any] = getattr(fft, name)
        return function(operand, axes=self.axes, **keywords)

    @property
    def _factor(self) -> float:
        norm = self.norm
        if norm is None:
            if self.form != "numpy form":
                return 1.0
            norm = "backward"
        if norm == "ortho":
            return 1 / sqrt(self.points)
        return 1 / self.points if (norm == "backward") == self.inverse else 1.0

    def _chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def _random_shape(self) -> list[int]:
        ndim, room = int(self.rng.integers(1, 6)), self.most_elements
        shape = []
        for _ in range(ndim):
            longest = max(room, 1) if ndim <= 2 else max(min(room, 600), 1)
            shape.append(int(self.rng.choice([n for n in self.extents if n <= longest])))
            room //= shape[-1]
        if self._chance(0.05):
            shape[int(self.rng.integers(ndim))] = 0
        return [shape[axis] for axis in self.rng.permutation(ndim)]

    def _random_target(self) -> str:
        """Where the result goes: `out` may be the operand itself."""
        if self.kind != "C2C":
            return "out" if self._chance(0.4) else "new"
        return str(self.rng.choice(["new", "new", "out", "operand", "inplace"]))

    def _random_norm(self) -> str | None:
        """Where the arrays cannot be scaled, what scales nothing: NumPy's forms do by default."""
        if self.form == "class":
            return None
        if not self.resizes:
            return None if self.form == "function" else "forward" if self.inverse else "backward"
        return self.rng.choice([None, "backward", "ortho", "forward"])

    def _resize(self) -> None:
        """Let the operand be longer or shorter than what is transformed, along some axes."""
        shape, lengths = list(self.shape), []
        for position, axis in enumerate(self.axes):
            extent, length = shape[axis], self.real_shape[axis]
            is_padded = self._chance(0.2) and extent > 1
            if self.kind == "C2R" and len(self.axes) > 1:
                is_padded = False  # what is left would not be Hermitian
            if is_padded:
                shape[axis] = int(self.rng.integers(1, extent))
            elif self._chance(0.2) and prod(shape) < self.most_elements:
                shape[axis] += int(self.rng.integers(1, 4))
            halved = self.kind == "C2R" and position == len(self.axes) - 1
            kept = shape[axis] == extent and not halved
            lengths.append(-1 if kept and self._chance(0.5) else length)
        if self._chance(0.5) or tuple(shape) != self.shape:
            self.shape, self.lengths = tuple(shape), lengths
            if len(lengths) == 1 and lengths[0] == -1:
                self.lengths = [self.real_shape[self.axes[0]]]

    def _random_layout(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], repeated: int | None
    ) -> np.ndarray:
        """Part of a random array whose axes are in any order."""
        extents, window, room = [], [], 8
        for axis, count in enumerate(shape):
            step = int(self.rng.integers(2, 4)) if room >= 3 and self._chance(0.2) else 1
            room //= step
            front, back = (int(n) if self._chance(0.3) else 0 for n in self.rng.integers(0, 3, 2))
            if axis == repeated:
                count, step = 1, 1
            reach = step * (count - 1) + 1 if count else 0
            extents.append(front + reach + back)
            if self.backwards and count and self._chance(0.1):
                end = front - 1 if front else None
                window.append(slice(front + reach - 1, end, -step))
            else:
                window.append(slice(front, front + reach, step))
        order = self.rng.permutation(len(shape)) if self._chance(0.6) else np.arange(len(shape))
        memory = random_values(tuple(extents[axis] for axis in order), dtype, self.rng)
        return np.broadcast_to(memory.transpose(np.argsort(order))[tuple(window)], shape)


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements lie without gaps, in any order of the axes."""
    pairs = sorted((abs(s), n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1)
    expected = array.itemsize
    for stride, count in pairs:
        if stride != expected:
            return False
        expected *= count
    return True
