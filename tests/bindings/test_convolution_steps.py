"""The steps around the transforms of a convolution: spectra are multiplied, pieces are joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from tests.helpers.elements import read
from tests.helpers.operands import Source

CUPY = Source("cupy", "cuda")
MEMORIES = [CUPY, Source("torch", "cuda"), Source("gpumath", "device")]


def random_complex(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng()
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def whole(values: np.ndarray, source: Source = CUPY) -> Any:
    return source.operand(values, (...,))


@pytest.mark.gpu
@pytest.mark.parametrize("source", MEMORIES, ids=str)
@pytest.mark.parametrize(("dtype", "most"), [("complex64", 1e-6), ("complex128", 1e-15)])
def test_spectra_of_random_layouts(source: Source, dtype: str, most: float) -> None:
    rng = np.random.default_rng()
    for turn in range(20):
        shape = tuple(int(extent) for extent in rng.integers(1, 9, rng.integers(1, 5)))
        if turn == 0:
            shape = (3, 5000)
        shapes = [tuple(n if rng.random() < 0.7 else 1 for n in shape) for _ in range(2)]
        left, right = (random_complex(one, dtype) for one in shapes)
        expected = left.astype("complex128") * right * 0.25
        target = whole(np.zeros(expected.shape, dtype), source)
        core.multiply_spectra(target, whole(left, source), whole(right, source), 0.25)
        np.testing.assert_allclose(read(target), expected, rtol=most, atol=most)


@pytest.mark.gpu
def test_a_spectrum_is_overwritten() -> None:
    left, right = random_complex((4, 999), "complex64"), random_complex((1, 999), "complex64")
    spectrum = whole(left)
    core.multiply_spectra(spectrum, spectrum, whole(right), 2)
    np.testing.assert_allclose(read(spectrum), 2 * left * right, rtol=1e-5, atol=1e-6)
    every_second = whole(np.zeros((4, 1998), "complex64"))[:, ::2]
    core.multiply_spectra(every_second, whole(left), whole(right))
    np.testing.assert_allclose(read(every_second), left * right, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("source", MEMORIES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_pieces_along_any_axis(source: Source, dtype: str) -> None:
    rng = np.random.default_rng()
    for turn in range(20):
        shape = [int(extent) for extent in rng.integers(1, 6, rng.integers(1, 4))]
        axis = int(rng.integers(len(shape)))
        number, step, skipped = (int(n) for n in rng.integers(1, 9, 3))
        if turn == 0:
            shape, axis, number, step = [2, 1], 1, 50, 3001
        shape[axis] = number
        pieces = rng.standard_normal((*shape, skipped + step)).astype(dtype)
        joined = np.moveaxis(pieces[..., skipped:], -1, axis + 1)
        joined = joined.reshape(*shape[:axis], -1, *shape[axis + 1 :])
        points = int(rng.integers(0, number * step, endpoint=True))
        expected = joined.take(range(points), axis)
        target = whole(np.full(expected.shape, 7, dtype), source)
        core.join_pieces(target, whole(pieces, source), axis, skipped)
        np.testing.assert_array_equal(read(target), expected)


@pytest.mark.gpu
def test_refusals_on_a_gpu() -> None:
    zeros = whole(np.zeros((2, 6), "complex64"))
    for arrays in [
        (zeros[:, :3], zeros, zeros),
        (zeros, zeros, zeros),
        (zeros[:, 1:], zeros[:, :5], whole(np.zeros((2, 5), "complex64"))),
        (zeros, zeros, whole(np.zeros((2, 6), "complex128"))),
        (zeros, zeros, whole(np.zeros(6, "complex64"))),
    ]:
        with pytest.raises(ValueError, match="cannot be multiplied into"):
            core.multiply_spectra(*arrays)
    pieces, line = whole(np.zeros((3, 4))), whole(np.zeros(9))
    for target, axis, skipped in [(line, 0, 2), (line, 1, 1), (line, 0, -1), (line, 0, 4)]:
        with pytest.raises(ValueError, match="do not fill"):
            core.join_pieces(target, pieces, axis, skipped)
    with pytest.raises(ValueError, match="do not fill"):
        core.join_pieces(whole(np.zeros(9, "float32")), pieces, 0, 1)


def test_refusals_in_host_memory() -> None:
    line, spectrum = np.zeros(3), np.zeros(3, "complex64")
    with pytest.raises(ValueError, match="the target is in host memory; give arrays in memory of"):
        core.join_pieces(line, np.zeros((1, 4)), 0, 1)
    with pytest.raises(ValueError, match="the target is in host memory; give arrays in memory of"):
        core.multiply_spectra(spectrum, spectrum, np.ones(3, "complex64"))
