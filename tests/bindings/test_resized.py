"""Copies of other extents: `core.resized`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.elements import read
from tests.helpers.operands import Source

SOURCES = [
    Source("numpy", "cpu"),
    Source("torch", "cpu"),
    Source("gpumath", "host"),
    *(
        pytest.param(Source(name, memory), marks=pytest.mark.gpu)
        for name, memory in (("cupy", "cuda"), ("numba", "cuda"), ("gpumath", "device"))
    ),
]


def reference(
    values: np.ndarray, shape: tuple[int, ...], starts: tuple[int, ...] | None = None
) -> np.ndarray:
    expected = np.zeros(shape, values.dtype)
    for index in np.ndindex(shape):
        at = tuple(map(sum, zip(index, starts or (0,) * len(shape), strict=True)))
        if all(0 <= i < extent for i, extent in zip(at, values.shape, strict=True)):
            expected[index] = values[at]
    return expected


def padded(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Pad at the ends, where there are too many elements for `reference`."""
    return np.pad(values, [(0, b - a) for a, b in zip(values.shape, shape, strict=True)])


@pytest.mark.parametrize("source", SOURCES, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex64", "complex128"])
def test_random_extents_and_layouts(source: Source, dtype: str) -> None:
    rng = np.random.default_rng()
    for _ in range(30):
        rank = int(rng.integers(1, 5))
        base = rng.integers(1, 100, rng.integers(1, 9, rank)).astype(dtype)
        index = tuple(slice(None, None, int(step)) for step in rng.integers(1, 3, rank))
        shape = tuple(int(extent) for extent in rng.integers(0, 9, rank))
        result = core.resized(source.operand(base, index), shape)
        view = core.TensorView(result)
        assert (view.shape, view.dtype) == (shape, dtype)
        if 0 not in shape:
            np.testing.assert_array_equal(read(result), reference(base[index], shape))


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_empty_operands_are_filled_with_zeros(source: Source) -> None:
    """PyTorch's and CuPy's empty arrays have the address 0."""
    empty = source.operand(np.empty((0, 2), np.float32), (...,))
    np.testing.assert_array_equal(read(core.resized(empty, (3, 4))), np.zeros((3, 4)))
    if source.library in ("numpy", "torch", "cupy"):  # others are not transformed
        for found in (fft.rfft(empty, n=3, axes=[0]), fft.dct(empty, n=3, axis=0)):
            assert found.shape[1] == 2
            assert not read(found).any()
    with pytest.raises(ValueError, match="larger than the address space"):
        core.resized(empty, (2**62, 2))


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_starts_and_orders(source: Source) -> None:
    rng = np.random.default_rng()
    for _ in range(60):
        rank = int(rng.integers(1, 4))
        base = rng.standard_normal(rng.integers(1, 8, rank)).astype("float32")
        index = tuple(slice(None, None, int(step)) for step in rng.integers(1, 3, rank))
        shape = tuple(int(extent) for extent in rng.integers(1, 12, rank))
        starts = tuple(int(start) for start in rng.integers(-13, 10, rank))
        order: Any = rng.choice(["K", "C"])
        result = core.resized(source.operand(base, index), shape, starts=starts, order=order)
        np.testing.assert_array_equal(read(result), reference(base[index], shape, starts))
        if order == "C":
            assert core.TensorView(result).strides == core.TensorView(np.zeros(shape)).strides


def test_starts_beyond_all_integers() -> None:
    values = np.arange(3.0)
    for start in (2**63 - 1, -(2**63)):
        np.testing.assert_array_equal(core.resized(values, (4,), starts=(start,)), np.zeros(4))


def test_memory_order_is_kept() -> None:
    values = np.asfortranarray(np.random.default_rng().random((3, 4, 5)))
    result = core.resized(values, (4, 2, 6))
    assert isinstance(result, np.ndarray)
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, reference(values, (4, 2, 6)))
    reverse = values[::-1, :, ::-1]
    result = core.resized(reverse, (2, 5, 5))
    np.testing.assert_array_equal(result, reference(reverse, (2, 5, 5)))
    result = core.resized(values, (4, 2, 6), order="C")
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, reference(values, (4, 2, 6)))


def test_without_elements_or_dimensions() -> None:
    np.testing.assert_array_equal(core.resized(np.ones((3, 0)), (2, 2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(core.resized(np.ones((0, 1)), (1, 1)), np.zeros((1, 1)))
    assert core.resized(np.array(7.0), ()) == 7


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3,), "the operand has 2 dimensions; give as many extents"),
        ((3, -1), "none of them negative"),
        ((1 << 40, 1 << 40), "larger than the address space; ask for less"),
    ],
)
def test_refusals(shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.resized(np.ones((2, 2)), shape)


def test_refusals_of_starts_and_orders() -> None:
    wrong: Any = "F"
    with pytest.raises(ValueError, match=r"starts is \[1\], but the operand has 2 dimensions"):
        core.resized(np.ones((2, 2)), (2, 2), starts=(1,))
    with pytest.raises(ValueError, match='order is "F"; give "K" or "C"'):
        core.resized(np.ones((2, 2)), (2, 2), order=wrong)


@pytest.mark.gpu
def test_on_a_stream() -> None:
    values = np.random.default_rng().random((300, 4000))
    operand = Source("gpumath", "device").operand(values, (...,))
    stream = core.Stream()
    result = core.resized(operand, (400, 5000), stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(read(result), padded(values, (400, 5000)))
