"""Transforms of more than 2**31 elements, against closed forms, with 60 GiB of device memory.

A few impulses have a transform that is known at each point, so that all points are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.operands import library
from tests.helpers.references import assert_close, random_values, tolerance

pytestmark = pytest.mark.gpu

GIB = 1 << 30
CHUNK = 1 << 25
FAR = 2**31 + 8  # elements
# One axis, two axes, and a batch, of more than 2**31 elements and of small prime factors.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "one axis": ((1029 << 21,), (0,)),
    "two axes": ((46656, 46656), (0, 1)),
    "batch": (((1 << 21) + 3, 1025), (1,)),
}


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Any:
    return LAYOUTS[request.param]


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """Free memory of earlier tests, or skip; give this test's back."""
    torch = library("torch")
    torch.cuda.empty_cache()
    core.plan_cache_clear()
    free = core.Device(0).memory_info()[0]
    if free < 60 * GIB:
        pytest.skip(f"60 GiB of device memory are needed, {free / GIB:.0f} GiB are free")
    yield
    core.plan_cache_clear()
    torch.cuda.empty_cache()


class Impulses:
    """Numbers at random places of an array of zeros, and their transform in double precision."""

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...], *, real: bool) -> None:
        rng = np.random.default_rng()
        self.shape, self.axes = shape, axes
        # The last one is at the end, where an index is too large for 32 bits.
        places = [tuple(int(rng.integers(extent)) for extent in shape) for _ in range(3)]
        self.places = [*places, tuple(extent - 1 for extent in shape)]
        angles = np.zeros(4) if real else rng.uniform(0, 2 * np.pi, 4)
        self.heights = [complex(h) for h in rng.uniform(1, 2, 4) * np.exp(1j * angles)]
        self.points = prod(shape[axis] for axis in axes)

    def add_to(self, array: Any, factor: float) -> None:
        for place, height in zip(self.places, self.heights, strict=True):
            array[place] += factor * (height if array.is_complex() else height.real)

    def spectrum(self, start: int, stop: int, shape: tuple[int, ...]) -> Any:
        """Points from `start` to `stop` of the transform, of which an array has this shape."""
        torch = library("torch")
        rest = torch.arange(start, stop, device="cuda")
        indices = []
        for extent in reversed(shape):
            indices.append(rest % extent)
            rest = rest // extent
        indices.reverse()
        total = torch.zeros(stop - start, dtype=torch.complex128, device="cuda")
        for place, height in zip(self.places, self.heights, strict=True):
            turns = torch.zeros(stop - start, dtype=torch.float64, device="cuda")
            is_there = torch.ones(stop - start, dtype=torch.float64, device="cuda")
            for axis, (index, position) in enumerate(zip(indices, place, strict=True)):
                if axis in self.axes:
                    # Products of indices fit into 64 bits.
                    turns += (index * position % self.shape[axis]).double() / self.shape[axis]
                else:
                    is_there *= index == position
            total += torch.polar(is_there, -2 * torch.pi * turns) * height
        return total

    def check(self, result: Any) -> None:
        """Compare all points of a result."""
        flat, error, norm = result.view(-1), 0.0, 0.0
        for start in range(0, flat.numel(), CHUNK):
            stop = min(start + CHUNK, flat.numel())
            expected = self.spectrum(start, stop, tuple(result.shape))
            error += float((flat[start:stop] - expected).abs().square().sum())
            norm += float(expected.abs().square().sum())
        assert error**0.5 <= tolerance(np.complex64, self.points) * norm**0.5

    def check_round_trip(self, array: Any) -> None:
        """Compare with the impulses times the number of points; the array is not kept."""
        self.add_to(array, -self.points)
        norm = self.points * float(np.linalg.norm(self.heights))
        assert norm_of(array) <= 2 * tolerance(np.complex64, self.points) * norm


def norm_of(array: Any) -> float:
    flat = array.view(-1)
    chunks = (flat[start : start + CHUNK] for start in range(0, flat.numel(), CHUNK))
    return float(sum(float(chunk.abs().double().square().sum()) for chunk in chunks) ** 0.5)


def test_complex_in_place(layout: Any) -> None:
    torch = library("torch")
    shape, axes = layout
    assert prod(shape) > 2**31
    operand = torch.zeros(shape, dtype=torch.complex64, device="cuda")
    with fft.FFT(operand, axes=axes, options={"inplace": True}) as transform:
        transform.plan()
        for _ in range(2):
            impulses = Impulses(shape, axes, real=False)
            impulses.add_to(operand.zero_(), 1)
            assert transform.execute() is operand
            impulses.check(operand)
            transform.execute(direction="inverse")
            impulses.check_round_trip(operand)


def test_real_there_and_back(layout: Any) -> None:
    torch = library("torch")
    shape, axes = layout
    operand = torch.zeros(shape, dtype=torch.float32, device="cuda")
    impulses = Impulses(shape, axes, real=True)
    impulses.add_to(operand, 1)
    result = fft.rfft(operand, axes=axes)
    impulses.check(result)
    impulses = Impulses(shape, axes, real=True)
    impulses.add_to(operand.zero_(), 1)
    assert fft.rfft(operand, axes=axes, out=result) is result
    impulses.check(result)
    # The way back: its operand is copied, so that the other array has to go first.
    del operand
    torch.cuda.empty_cache()
    parity = "odd" if shape[axes[-1]] % 2 else "even"
    back = fft.irfft(result, axes=axes, options={"last_axis_parity": parity})
    impulses.check_round_trip(back)


def test_more_than_two_to_the_31_transforms() -> None:
    """Of two points each: their sum and their difference."""
    torch = library("torch")
    pairs = torch.empty((FAR, 2), dtype=torch.complex64, device="cuda")
    generator = torch.Generator("cuda")
    rows = CHUNK // 2

    def values_at(start: int) -> Any:
        generator.manual_seed(start)
        count = min(rows, FAR - start)
        return torch.randn((count, 2), dtype=torch.complex64, device="cuda", generator=generator)

    with fft.FFT(pairs, axes=[1], options={"inplace": True}) as transform:
        transform.plan()
        for _ in range(2):
            for start in range(0, FAR, rows):
                pairs[start : start + rows] = values_at(start)
            transform.execute()
            for start in range(0, FAR, rows):
                values, found = values_at(start), pairs[start : start + rows]
                expected = torch.stack([values.sum(1), values[:, 0] - values[:, 1]], 1)
                assert float((found - expected).abs().max()) < 1e-5


@pytest.mark.parametrize("kind", ["C2C", "R2C"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_strides_of_more_than_two_to_the_31(kind: str, axes: tuple[int, ...]) -> None:
    """Along transform axes and between the transforms of a batch."""
    torch = library("torch")
    dtype = np.dtype(np.complex64 if kind == "C2C" else np.float32)
    shape = (3, 1000)
    operand = torch.empty_strided(shape, (FAR, 1), dtype=getattr(torch, dtype.name), device="cuda")
    for _ in range(2):
        values = random_values(shape, dtype)
        operand.copy_(torch.from_numpy(values))
        result = (fft.fft if kind == "C2C" else fft.rfft)(operand, axes=axes)
        assert_close(result.cpu().numpy(), values, kind, axes)
        np.testing.assert_array_equal(operand.cpu().numpy(), values, "the operand has changed")
    if kind == "C2C":
        assert fft.ifft(operand, axes=axes, options={"inplace": True}) is operand
        assert_close(operand.cpu().numpy(), values, kind, axes, inverse=True)
