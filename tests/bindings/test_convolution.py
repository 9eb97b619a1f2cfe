"""Sums of products in device memory: against SciPy's transforms in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

from gpumath.bindings import core

DTYPES = {"float32": 1e-4, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-11}


def drawn(rng: np.random.Generator, shape: list[int], dtype: str) -> np.ndarray:
    values = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (values if dtype.startswith("complex") else values.real).astype(dtype)


def reference(x: np.ndarray, h: np.ndarray, axes: list[int]) -> np.ndarray:
    """The full convolution along some axes, broadcast along the others."""
    wide = [a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in (x, h)]
    pairs = enumerate(zip(x.shape, h.shape, strict=True))
    common = [1 if axis in axes else max(pair) for axis, pair in pairs]
    a, b = (each * np.ones(common) for each in wide)
    return scipy.signal.fftconvolve(a, b, axes=axes)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(40))
def test_any_part_of_a_convolution(dtype: str, seed: int) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    rng = np.random.default_rng([seed, *dtype.encode()])
    ndim = int(rng.integers(1, 5))
    axes = sorted(rng.choice(ndim, int(rng.integers(1, ndim + 1)), replace=False).tolist())
    longest, most = ((700, 40), (200, 12), (14, 6), (14, 6))[ndim - 1]
    lengths, taps = rng.integers(1, longest, ndim).tolist(), rng.integers(1, most, ndim).tolist()
    for axis in set(range(ndim)) - set(axes):
        lengths[axis], taps[axis] = rng.permutation([[lengths[axis], 1], [1, taps[axis]]])[0]
    # Every element, or every second one, of an array whose dimensions have any order in memory.
    order, step = rng.permutation(ndim), int(rng.integers(1, 3))
    whole = cupy.asarray(drawn(rng, [step * lengths[axis] for axis in order], dtype))
    operand = whole.transpose(np.argsort(order).tolist())[(slice(None, None, step),) * ndim]
    x, h = operand.get(), drawn(rng, taps, dtype)
    full = reference(x, h, axes)
    starts = [int(rng.integers(n)) if a in axes else 0 for a, n in enumerate(full.shape)]
    shape = [
        int(rng.integers(1, n - start + 1)) if a in axes else n
        for a, (n, start) in enumerate(zip(full.shape, starts, strict=True))
    ]
    result = core.convolve(operand, cupy.asarray(h), axes, starts, shape)
    assert isinstance(result, cupy.ndarray)
    wanted = full[tuple(slice(s, s + n) for s, n in zip(starts, shape, strict=True))]
    assert result.dtype == dtype
    np.testing.assert_allclose(result.get(), wanted, rtol=0, atol=DTYPES[dtype])


@pytest.mark.gpu
def test_only_elements_that_are_there_count() -> None:
    """Infinity times a zero beyond the ends would be no number."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x, h = np.ones((9, 6)), np.array([[1.0, 2.0, 3.0], [0.5, 0.25, np.inf]])
    result = core.convolve(cupy.asarray(x), cupy.asarray(h), [0, 1], [0, 0], [10, 8]).get()
    wanted = np.zeros((10, 8))
    for (i, j), tap in np.ndenumerate(h):
        wanted[i : i + 9, j : j + 6] += tap * x
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("x", "h", "arguments", "error", "words"),
    [
        (np.ones(4), np.ones(2), ([0], [0], [5]), ValueError, "are computed in device memory"),
        (np.ones(4), np.ones(2, "f"), ([0], [0], [5]), TypeError, "the filter float32"),
        (np.ones(4, int), np.ones(2, int), ([0], [0], [5]), TypeError, "int64"),
        (np.ones(4), np.ones(2), ([0], [0], [-5]), ValueError, "not negative"),
    ],
)
def test_what_is_refused(x: Any, h: Any, arguments: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        core.convolve(x, h, *arguments)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "arguments",
    [
        ([0, 0], [0, 0], [5, 3]),
        ([2], [0, 0], [5, 3]),
        ([], [0, 0], [4, 3]),
        ([0], [2, 0], [4, 3]),
        ([0], [0, 0], [5, 4]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(arguments: Any) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x, h = cupy.ones((4, 3)), cupy.ones((2, 2))
    with pytest.raises(ValueError, match="does not have the result"):
        core.convolve(x, h, *arguments)
