"""Cosine and sine transforms give SciPy's results, of all types and lengths, along any axes."""

from __future__ import annotations

import os
import secrets
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.fft

from gpumath import fft
from tests.helpers.elements import read
from tests.helpers.operands import Source
from tests.helpers.references import random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

ALONG_ONE = ("dct", "idct", "dst", "idst")
ALONG_SEVERAL = ("dctn", "idctn", "dstn", "idstn")
TYPES = (1, 2, 3, 4)
NORMS = (None, "ortho", "forward")
LENGTHS = (1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 30, 101, 256)
CLOSE = {"float32": 1e-5, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}


def assert_is_scipys(space: Space, name: str, values: np.ndarray, *args: Any, **kw: Any) -> None:
    operand = space.array(values)
    result = getattr(fft, name)(operand, *args, **kw)
    space.assert_is_alike(result)
    found = space.numpy(result)
    expected = getattr(scipy.fft, name)(values, *args, **kw)
    case = f"{name} of {values.dtype} {values.shape}, {args}, {kw}"
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), case
    assert np.abs(found - expected).max() <= CLOSE[found.dtype.name] * np.abs(expected).max(), case
    np.testing.assert_array_equal(space.numpy(operand), values, case)


@pytest.mark.parametrize("name", ALONG_ONE)
@pytest.mark.parametrize("kind", TYPES)
def test_along_one_axis(direct_space: Space, name: str, kind: int) -> None:
    dtypes = (np.float64, np.float32, np.complex128)
    for n, dtype, norm, axis in product(LENGTHS, dtypes, NORMS, (0, 1, 2)):
        if (n == 1 and kind == 1 and name.endswith("ct")) or (n > 9 and norm and axis != 1):
            continue
        shape = [3, 2, 4]
        shape[axis] = n
        values = random_values(tuple(shape), dtype)
        assert_is_scipys(direct_space, name, values, kind, axis=axis, norm=norm)


@pytest.mark.parametrize("name", ["dct", "idst"])
def test_many_neighbouring_short_lines(direct_space: Space, name: str) -> None:
    for n, kind, dtype in product(range(2, 18), TYPES, (np.float64, np.float32)):
        values = random_values((2, n, 37), dtype)
        assert_is_scipys(direct_space, name, values, kind, axis=1)


@pytest.mark.parametrize("name", ["dct", "dst"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_lines_at_once(name: str, dtype: Any) -> None:
    lengths = (18, 20, 21, 22, 23, 25, 28, 45, 48, 49, 59, 60, 94, 119, 142, 187, 309, 343, 700)
    # Neighbours, slices, narrow tiles, and too few lines to fill the widest vectors.
    places = (((), (45,)), ((45,), ()), ((21,), (3,)), ((20,), ()))
    for n, kind, (before, after) in product(lengths, TYPES, places):
        dimensions, axis = (*before, n, *after), len(before)
        values = random_values(dimensions, dtype)
        close = CLOSE[np.dtype(dtype).name]
        for norm, operand in ((None, values), ("ortho", values[::-1]), ("forward", values.T)):
            along = axis if norm != "forward" else operand.ndim - 1 - axis
            found = getattr(fft, name)(operand, kind, axis=along, norm=norm)
            expected = getattr(scipy.fft, name)(operand.astype("f8"), kind, axis=along, norm=norm)
            case = f"{n} points of type {kind}, {dimensions}, {norm}"
            assert np.abs(found - expected).max() <= close * np.abs(expected).max(), case


@pytest.mark.parametrize("name", ALONG_ONE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines_do_not_reach_each_other(name: str, dtype: Any) -> None:
    seed = secrets.randbits(32)
    random = np.random.default_rng(seed)
    for n, kind, axis in product((8, 9, 17, 31, 32, 35, 64, 100), TYPES, (0, 1)):
        sizes = 10.0 ** random.integers(-12, 13, 40)
        sizes[random.integers(40, size=3)] = 0
        values = (random.standard_normal((40, n)) * sizes[:, None]).astype(dtype)
        spoiled = random.integers(40, size=2)
        values[spoiled, random.integers(n, size=2)] = [np.nan, np.inf]
        operand = values.T.copy() if axis == 0 else values
        found = np.asarray(getattr(fft, name)(operand, kind, axis=axis), np.float64)
        found = found.T if axis == 0 else found
        with np.errstate(invalid="ignore"):
            expected = getattr(scipy.fft, name)(values.astype(np.float64), kind)
        case = f"{n} points of type {kind}, axis {axis}, seed {seed}"
        assert not np.isfinite(found[spoiled]).all(axis=1).any(), case
        for line in set(range(40)) - set(spoiled):
            error = np.linalg.norm(found[line] - expected[line])
            most = 20 * np.finfo(dtype).eps * np.linalg.norm(expected[line])
            assert error <= most, f"{case}, line {line}"


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines_on_a_gpu_do_not_reach_each_other(library: str, dtype: Any) -> None:
    """As cuFFT's own real transforms of odd lengths do."""
    source, random = Source(library, "cuda"), np.random.default_rng()
    for n, kind, axis in product((5, 17, 64, 101, 187, 1001), TYPES, (0, 1)):
        values = random.standard_normal((6, n)) * 10.0 ** random.integers(-8, 9, 6)[:, None]
        values[4, n // 2] = np.nan
        operand = source.operand((values if axis else values.T).astype(dtype), (...,))
        found = read(fft.dct(operand, kind, axis=axis)).astype(np.float64)
        found = found if axis else found.T
        expected = scipy.fft.dct(values.astype(dtype).astype(np.float64), kind)
        for line in (0, 1, 2, 3, 5):
            error = np.linalg.norm(found[line] - expected[line])
            most = 20 * np.finfo(dtype).eps * np.linalg.norm(expected[line])
            assert error <= most, f"{n} points of type {kind}, axis {axis}, line {line}"
        assert np.isnan(found[4]).any()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_columns_on_a_gpu(dtype: Any) -> None:
    source, close = Source("cupy", "cuda"), CLOSE[np.dtype(dtype).name]
    for n, kind in product((17, 20, 31, 64, 257), TYPES):
        for shape, axis in [((n, 3), 0), ((n, 70), 0), ((5, n, 9), 1), ((2, n, 3, 4), 1)]:
            values = random_values(shape, dtype)
            x = source.operand(values, (...,))
            # As it is, with other dimensions as the fastest ones, backwards, and with gaps.
            for operand, where, along in (
                (x, values, axis),
                (x.T, values.T, len(shape) - 1 - axis),
                (x[::-1], values[::-1], axis),
                (x[..., ::2], values[..., ::2], axis),
            ):
                for name in ("dct", "dst"):
                    expected = getattr(scipy.fft, name)(where, kind, axis=along)
                    found = read(getattr(fft, name)(operand, kind, axis=along))
                    case = f"{name} {kind}, {shape}, axis {along}"
                    assert np.abs(found - expected).max() <= close * np.abs(expected).max(), case


@pytest.mark.parametrize("name", ALONG_ONE)
@pytest.mark.parametrize(
    ("dtype", "largest", "smallest"), [(np.float32, 1e34, 1e-42), (np.float64, 1e304, 1e-318)]
)
def test_lines_of_any_size_do_not_reach_each_other(
    name: str, dtype: Any, largest: float, smallest: float
) -> None:
    """Also those whose sizes differ by more than a power of two that the type has."""
    random = np.random.default_rng()
    for n, kind, axis in product((8, 9, 31, 64, 100), TYPES, (0, 1)):
        values = random.uniform(0.5, 1, (6, n))
        values = (values * np.array([1, largest, smallest, 1, smallest, largest])[:, None]).astype(
            dtype
        )
        operand = values.T.copy() if axis == 0 else values
        found = np.asarray(getattr(fft, name)(operand, kind, axis=axis), np.float64)
        found = found.T if axis == 0 else found
        for line, numbers in enumerate(found):
            line_values = values[line].astype(np.float64)
            exponent = int(np.log2(np.abs(line_values).max()))
            of_size_one = getattr(scipy.fft, name)(np.ldexp(line_values, -exponent), kind)
            error = np.abs(numbers - np.ldexp(of_size_one, exponent)).max()
            # Results of the smallest numbers are rounded to the type's smallest step.
            steps = n * float(np.nextafter(dtype(0), dtype(1)))
            rounding = 40 * float(np.finfo(dtype).eps) * np.abs(of_size_one).max()
            most = float(np.ldexp(rounding, exponent)) + 2 * steps
            assert error <= most, f"{n} points of type {kind}, axis {axis}, line {line}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALONG_ONE)
def test_no_line_reaches_the_last_one(name: str, dtype: Any) -> None:
    """An odd line has no partner, and the first of those transformed together are large."""
    for n, kind, count, axis in product((17, 22, 31, 45), TYPES, (7, 15, 31), (0, 1)):
        values = random_values((count, n), np.float64)
        values[::8] *= 1e12
        operand = np.moveaxis(values.astype(dtype), 1, axis).copy()
        found = np.moveaxis(getattr(fft, name)(operand, kind, axis=axis), axis, 1)
        expected = getattr(scipy.fft, name)(values.astype(dtype).astype(np.float64), kind)
        error = np.abs(found - expected).max(1) / np.abs(expected).max(1)
        assert error.max() <= 40 * np.finfo(dtype).eps, f"{count} lines of {n}, {kind}, {axis}"


@pytest.mark.parametrize("name", ALONG_ONE)
def test_ends_and_lengths(direct_space: Space, name: str) -> None:
    values = random_values((3, 10), np.float64)
    for kind, norm, ends in product(TYPES, NORMS, (None, True, False)):
        assert_is_scipys(direct_space, name, values, kind, norm=norm, orthogonalize=ends)
    for kind, n in product(TYPES, (2, 7, 10, 13)):
        assert_is_scipys(direct_space, name, values, kind, n=n)
    assert_is_scipys(direct_space, name, values.T[::-1] if can_reverse(direct_space) else values.T)


def can_reverse(space: Space) -> bool:
    return space.library != "torch"


def test_random_layouts() -> None:
    """Lines and their neighbours are copied in ways that depend on strides and counts."""
    seed = int(os.environ.get("GPUMATH_TEST_SEED", secrets.randbits(32)))
    rng = np.random.default_rng(seed)
    for case in range(300):
        ndim = int(rng.integers(1, 4))
        shape = tuple(map(int, rng.integers(2, (90, 40, 14)[ndim - 1], ndim)))
        axis = int(rng.integers(ndim))
        dtype = rng.choice(["float32", "float64", "complex64", "complex128"])
        parts = rng.standard_normal((2, *shape))
        values = (parts[0] + (1j * parts[1] if dtype.startswith("c") else 0)).astype(dtype)
        layouts = (
            values,
            np.asfortranarray(values),
            values[tuple(slice(None, None, -1) for _ in shape)],
            np.repeat(values, 2, axis)[(*(slice(None),) * axis, slice(None, None, 2))],
            np.broadcast_to(values[:1], shape),
        )
        operand = layouts[rng.integers(len(layouts))]
        name, kind = str(rng.choice(ALONG_ONE)), int(rng.integers(1, 5))
        norm = NORMS[rng.integers(len(NORMS))]
        found = getattr(fft, name)(operand, kind, axis=axis, norm=norm)
        wide = operand.astype("complex128" if dtype.startswith("c") else "float64")
        expected = getattr(scipy.fft, name)(wide, kind, axis=axis, norm=norm)
        largest = np.abs(expected).max()
        what = f"GPUMATH_TEST_SEED={seed}, case {case}: {name} {kind} of {dtype} {shape}, {axis=}"
        assert np.abs(found - expected).max() <= 10 * np.finfo(dtype).eps * largest, what


@pytest.mark.parametrize("name", ALONG_SEVERAL)
def test_along_several_axes(direct_space: Space, name: str) -> None:
    for kind, norm in product(TYPES, NORMS):
        for dtype in (np.float64, np.complex64):
            values = random_values((5, 6, 7), dtype)
            for where in ({}, {"axes": (2, 0)}, {"s": (4, 8)}, {"s": (-1, 3), "axes": (1, 0)}):
                assert_is_scipys(direct_space, name, values, kind, norm=norm, **where)
    values = random_values((5, 6), np.float64)
    assert_is_scipys(direct_space, name, values, axes=1)


def test_converted_operands(direct_space: Space) -> None:
    for dtype in (np.int32, np.float16):
        values = (random_values((4, 9), np.float64) * 50).astype(dtype)
        assert_is_scipys(direct_space, "dct", values)
    np.testing.assert_allclose(fft.dst([1, 2, 3]), scipy.fft.dst([1, 2, 3]))


def test_long_lines_and_threads(direct_space: Space) -> None:
    for kind, n in product(TYPES, (6000, 65_537, 66_000)):
        values = random_values((2, n), np.float64)
        assert_is_scipys(direct_space, "dct", values, kind, workers=1)
        assert_is_scipys(direct_space, "idst", values.T, kind, axis=0, workers=-1)


@pytest.mark.parametrize("name", ALONG_ONE)
def test_lines_that_all_threads_share(direct_space: Space, name: str) -> None:
    """Long lines, one of 70,000 points, and odd ones whose Fourier transforms are grids."""
    lengths = (73 * 97, 70_000, 230_001, 230_002, 101 * 103 * 107)
    for kind, n, norm in product(TYPES, lengths, (None, "ortho")):
        assert_is_scipys(direct_space, name, random_values((n,), np.float64), kind, norm=norm)
    for kind, n in product(TYPES, (230_001, 230_002)):
        values = random_values((n, 2), np.complex64)
        assert_is_scipys(direct_space, name, values, kind, axis=0, norm="forward", workers=3)
    for kind, workers in product(TYPES, (2, 4)):  # a thread for each line, and one that helps
        assert_is_scipys(
            direct_space, name, random_values((3, 230_001), np.float64), kind, workers=workers
        )


def test_lines_that_threads_transform_one_by_one() -> None:
    for kind, name, shape in product(TYPES, ALONG_ONE, ((3, 6943), (16, 2725), (5, 4400))):
        values = random_values(shape, np.float64)
        found = getattr(fft, name)(values, kind, workers=8)
        expected = getattr(scipy.fft, name)(values, kind)
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_few_strided_lines_and_awkward_lengths() -> None:
    """An odd line is transformed by itself; 598 = 2 * 13 * 23 points by sums of products."""
    for shape, axis in (((300, 3), 0), ((2, 257, 5), 1), ((300, 1), 0), ((6, 300), 1)):
        for kind, name, dtype in product(TYPES, ALONG_ONE, (np.float32, np.float64, np.complex64)):
            values = random_values(shape, np.complex64 if dtype is np.complex64 else np.float64)
            values = values.astype(dtype)
            found = getattr(fft, name)(values, kind, axis=axis)
            wide = values.astype(np.result_type(dtype, np.float64))
            expected = getattr(scipy.fft, name)(wide, kind, axis=axis)
            error = np.abs(found - expected).max() / np.abs(expected).max()
            assert error <= 10 * np.finfo(dtype).eps, f"{name} {kind} of {dtype} {shape}"


def test_lines_that_are_transformed_together() -> None:
    """Fourier transforms of 25, 50, 98, 100 and 175 points; the last lines are fewer than lanes."""
    for shape, axis in (((70, 50), 1), ((3, 50, 37), 1), ((67, 100), 1), ((175, 50), 0)):
        for kind, name in product(TYPES, ALONG_ONE):
            values = random_values(shape, np.float64).astype(np.float32)
            assert_is_scipys_of_single(name, values, kind, axis)
    for points in (48, 49, 50, 51):  # type I is of 2N - 2 or 2N + 2 points
        for name in ("dct", "dst"):
            values = random_values((40, points), np.float64).astype(np.float32)
            assert_is_scipys_of_single(name, values, 1, 1)


def assert_is_scipys_of_single(name: str, values: Any, kind: int, axis: int) -> None:
    found = getattr(fft, name)(values, kind, axis=axis)
    expected = getattr(scipy.fft, name)(values.astype(np.float64), kind, axis=axis)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert error <= 10 * np.finfo(np.float32).eps, f"{name} {kind} of {values.shape}"


def test_neighbours_that_do_not_fill_lanes() -> None:
    """A few neighbouring lines of each of 7 matrices are transformed together with others."""
    for points, neighbours in product((3, 8, 12, 16, 18, 22, 45), (2, 3, 5, 7, 11, 13)):
        for kind, name, dtype in product(TYPES, ALONG_ONE, (np.float32, np.float64)):
            values = random_values((7, points, neighbours), np.float64).astype(dtype)
            found = getattr(fft, name)(values, kind, axis=1)
            expected = getattr(scipy.fft, name)(values.astype(np.float64), kind, axis=1)
            error = np.abs(found - expected).max() / np.abs(expected).max()
            assert error <= 10 * np.finfo(dtype).eps, f"{name} {kind} of {dtype} {values.shape}"


def test_nothing() -> None:
    assert fft.dct(np.ones((0, 4))).shape == (0, 4)
    values = np.ones((2, 3))
    integers = np.arange(6)
    assert fft.dctn(values, axes=()) is values
    assert fft.dctn(integers, axes=()) is integers


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: fft.dct(x, 5), ValueError, "type is 5"),
        (lambda x: fft.dct(x, axis=2), ValueError, "axis 2 is out of range"),
        (lambda x: fft.dct(x, n=0), ValueError, "n is 0; at least one point is needed"),
        (lambda x: fft.idst(x, n=-1), ValueError, "n is -1; at least one point is needed"),
        (lambda x: fft.dctn(x, s=(2, 0)), ValueError, "at least 1 points"),
        (lambda x: fft.dct(x[:1], 1, axis=0), ValueError, "at least 2 points"),
        (lambda x: fft.dct(x, norm="o"), ValueError, "norm is 'o'"),
        (lambda x: fft.dct(x, workers=0), ValueError, "workers must not be zero"),
        (lambda x: fft.dct(x.astype("g")), TypeError, "convert it to float64"),
        (lambda x: fft.dctn(x, axes=(0, 0)), ValueError, "each may be given once"),
        (lambda x: fft.dct(memoryview(x)), ValueError, "is a memoryview"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(np.ones((3, 4)))
