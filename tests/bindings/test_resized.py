"""Copies of other extents: `core.resized`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


def reference(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    expected = np.zeros(shape, values.dtype)
    common = tuple(slice(min(pair)) for pair in zip(shape, values.shape, strict=True))
    expected[common] = values[common]
    return expected


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


def test_memory_order_is_kept() -> None:
    values = np.asfortranarray(np.random.default_rng().random((3, 4, 5)))
    result = core.resized(values, (4, 2, 6))
    assert isinstance(result, np.ndarray)
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, reference(values, (4, 2, 6)))
    reverse = values[::-1, :, ::-1]
    result = core.resized(reverse, (2, 5, 5))
    np.testing.assert_array_equal(result, reference(reverse, (2, 5, 5)))


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


@pytest.mark.gpu
def test_on_a_stream() -> None:
    values = np.random.default_rng().random((300, 4000))
    operand = Source("gpumath", "device").operand(values, (...,))
    stream = core.Stream()
    result = core.resized(operand, (400, 5000), stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(read(result), reference(values, (400, 5000)))
