"""Sums of products: against SciPy's transforms in double precision."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest
import scipy.signal

from gpumath.bindings import core


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request: pytest.FixtureRequest) -> Any:
    """The array library, for host memory and for a GPU."""
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


def on_host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", range(40))
def test_any_part_of_a_convolution(xp: Any, dtype: str, number: int) -> None:
    seed = secrets.randbits(32)
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 5))
    axes = sorted(rng.choice(ndim, int(rng.integers(1, ndim + 1)), replace=False).tolist())
    longest, most = ((700, 40), (200, 12), (14, 6), (14, 6))[ndim - 1]
    lengths, taps = rng.integers(1, longest, ndim).tolist(), rng.integers(1, most, ndim).tolist()
    for axis in set(range(ndim)) - set(axes):
        lengths[axis], taps[axis] = rng.permutation([[lengths[axis], 1], [1, taps[axis]]])[0]
    # Every element, or every second one, of an array whose dimensions have any order in memory.
    order, step = rng.permutation(ndim), int(rng.integers(1, 3))
    whole = xp.asarray(drawn(rng, [step * lengths[axis] for axis in order], dtype))
    turn = slice(None, None, step * int(rng.choice([1, -1])))
    operand = whole.transpose(np.argsort(order).tolist())[(turn,) * ndim]
    x, h = on_host(operand), drawn(rng, taps, dtype)
    full = reference(x, h, axes)
    starts = [int(rng.integers(n)) if a in axes else 0 for a, n in enumerate(full.shape)]
    shape = [
        int(rng.integers(1, n - start + 1)) if a in axes else n
        for a, (n, start) in enumerate(zip(full.shape, starts, strict=True))
    ]
    result = core.convolve(operand, xp.asarray(h), axes, starts, shape)
    assert isinstance(result, xp.ndarray)
    wanted = full[tuple(slice(s, s + n) for s, n in zip(starts, shape, strict=True))]
    assert result.dtype == dtype
    message = f"number {number}, seed {seed}"
    np.testing.assert_allclose(on_host(result), wanted, rtol=0, atol=DTYPES[dtype], err_msg=message)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [6, 5000])
def test_only_elements_that_are_there_count(xp: Any, dtype: str, columns: int) -> None:
    """Infinity times a zero beyond the ends would be no number."""
    h = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, np.inf]], dtype)
    for number in (1.0, np.inf):
        x = np.ones((9, columns), dtype)
        x[4, 2] = number
        result = core.convolve(xp.asarray(x), xp.asarray(h), [0, 1], [0, 0], [10, columns + 2])
        wanted = np.zeros((10, columns + 2), dtype)
        with np.errstate(invalid="ignore"):
            for (i, j), tap in np.ndenumerate(h):
                wanted[i : i + 9, j : j + columns] += tap * x
        np.testing.assert_array_equal(on_host(result), wanted)


INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("most", [5, 2**63])
def test_sums_of_integers_wrap_around(xp: Any, dtype: str, most: int) -> None:
    rng, limits = np.random.default_rng(), np.iinfo(dtype)
    low, high = max(limits.min, -most), min(limits.max, most)
    x, h = (rng.integers(low, high, shape, dtype) for shape in ((3, 5000, 2), (3, 4, 1)))
    arrays = xp.asarray(x)[:, ::-1], xp.asarray(h)
    found = on_host(core.convolve(*arrays, [1], [0, 2, 0], [3, 5000, 2]))
    assert found.dtype == dtype
    for line, column in np.ndindex(3, 2):
        one, other = (v.astype(object) for v in (x[line, ::-1, column], h[line, :, 0]))
        whole = np.convolve(one, other)[2:5002] % 2**limits.bits
        np.testing.assert_array_equal(found[line, :, column].astype(object) % 2**limits.bits, whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("taps", [1, 2, 5, 8])
def test_short_filters_along_lines_of_large_arrays(xp: Any, dtype: str, taps: int) -> None:
    rng = np.random.default_rng()
    x, h = drawn(rng, [2400, 450], dtype), drawn(rng, [1, taps], dtype)
    h[0, 0] = np.inf
    for operand, points in ((xp.asarray(x), 450), (xp.asarray(x)[:, ::-2], 225)):
        start = int(rng.integers(taps))
        wanted = points + taps - 1 - start
        found = core.convolve(operand, xp.asarray(h), [1], [0, start], [2400, wanted])
        whole = np.zeros((2400, start + wanted), np.result_type(x, np.float64))
        part = slice(start, None)
        with np.errstate(invalid="ignore"):
            for tap in range(taps):
                whole[:, tap : tap + points] += (on_host(operand) * h[0, tap])[
                    :, : whole.shape[1] - tap
                ]
        result = on_host(found)
        is_finite = np.isfinite(whole[:, part])
        np.testing.assert_array_equal(np.isfinite(result), is_finite)
        errors = np.abs(result[is_finite] - whole[:, part][is_finite])
        assert errors.max(initial=0) <= DTYPES[dtype] * np.abs(x).max() * taps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("points", "taps"),
    [
        ((8001, 9), (1, 4)),
        ((5003, 31), (1, 7)),
        ((3, 2777, 65), (1, 1, 3)),
        ((3001, 13, 14), (1, 3, 3)),
        ((1003, 200, 3), (1, 2, 2)),
        ((20_001, 3, 3, 3), (1, 2, 2, 2)),
        *(((lines, 13), (1, 4)) for lines in (8, 9, 11, 13, 18)),
        *(((60, 1000), (1, 20)), ((100, 2000), (1, 3)), ((50, 40), (4, 5))),
    ],
)
@pytest.mark.parametrize("infinite", ["operand", "filter"])
def test_many_short_lines_and_images(
    xp: Any, dtype: str, points: tuple[int, ...], taps: tuple[int, ...], infinite: str
) -> None:
    rng = np.random.default_rng()
    x, h = drawn(rng, [2 * points[0], *points[1:]], dtype), drawn(rng, list(taps), dtype)
    if infinite == "filter":
        h.flat[-1] = np.inf
    else:
        x.flat[rng.integers(x.size, size=9)] = np.inf
    operand = xp.asarray(x)[::-2]
    axes = [axis for axis, count in enumerate(taps) if count > 1]
    # The first elements are without the last one of the filter.
    starts = [int(rng.integers(max(count - 1, 1))) for count in taps]
    found = on_host(core.convolve(operand, xp.asarray(h), axes, starts, list(points)))
    whole = np.zeros([n + count - 1 for n, count in zip(points, taps, strict=True)], complex)
    with np.errstate(invalid="ignore"):
        for place, tap in np.ndenumerate(h):
            part = tuple(slice(at, at + n) for at, n in zip(place, points, strict=True))
            whole[part] += x[::-2] * tap
    wanted = whole[tuple(slice(at, at + n) for at, n in zip(starts, points, strict=True))]
    wanted = wanted if dtype.startswith("complex") else wanted.real
    is_finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(found), is_finite)
    assert is_finite.any()
    np.testing.assert_allclose(found[is_finite], wanted[is_finite], rtol=0, atol=DTYPES[dtype])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("points", "taps"),
    [
        *(((300,), (40,)), ((700, 3000), (1, 5)), ((300, 5000), (1, 50)), ((90, 110), (4, 3))),
        *(((9001, 31), (1, 7)), ((3001, 13, 14), (1, 3, 3))),
    ],
)
def test_integers_of_all_shapes(
    xp: Any, dtype: str, points: tuple[int, ...], taps: tuple[int, ...]
) -> None:
    rng, limits = np.random.default_rng(), np.iinfo(dtype)
    x, h = (rng.integers(limits.min, limits.max, n, dtype, endpoint=True) for n in (points, taps))
    axes = [axis for axis, count in enumerate(taps) if count > 1]
    starts = [int(rng.integers(count)) for count in taps]
    arrays = xp.asarray(x), xp.asarray(h)
    found = on_host(core.convolve(*arrays, axes, starts, list(points)))
    # Sums of NumPy's integers wrap around, too.
    whole = np.zeros([n + count - 1 for n, count in zip(points, taps, strict=True)], dtype)
    for place, tap in np.ndenumerate(h):
        whole[tuple(slice(at, at + n) for at, n in zip(place, points, strict=True))] += x * tap
    wanted = whole[tuple(slice(at, at + n) for at, n in zip(starts, points, strict=True))]
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.gpu
def test_lines_of_more_elements_than_32_bits_count() -> None:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    lines = (1 << 29) + 5
    x = cupy.arange(lines * 9, dtype="uint8").reshape(lines, 9)
    found = core.convolve(x, cupy.asarray([[1, 2, 3, 4]], "uint8"), [1], [0, 2], [lines, 9])
    whole = cupy.random.randint(0, lines, 1000)
    for some in (whole, slice(5), slice(-5, None), slice(lines // 5 - 9, lines // 5 + 9)):
        for line, result in zip(x[some].get(), found[some].get(), strict=True):
            expected = np.convolve(line, np.array([1, 2, 3, 4], "uint8"))[2:11]
            np.testing.assert_array_equal(result, expected)


def test_one_element_is_broadcast_to_none(xp: Any) -> None:
    for x, h in (((1, 4), (0, 2)), ((0, 4), (1, 2))):
        operands = xp.ones(x), xp.ones(h)
        assert core.convolve(*operands, [1], [0, 0], [0, 5]).shape == (0, 5)
        with pytest.raises(ValueError, match="does not have the result"):
            core.convolve(*operands, [1], [0, 0], [1, 5])


def test_an_integer_that_double_precision_rounds() -> None:
    large = np.array([2**53 + 1, 5])
    np.testing.assert_array_equal(core.convolve(large, np.array([1]), [0], [0], [2]), large)


@pytest.mark.parametrize(
    ("x", "h", "arguments", "error", "words"),
    [
        (np.ones(4), np.ones(2, "f"), ([0], [0], [5]), TypeError, "the filter float32"),
        (
            np.ones(4, bool),
            np.ones(2, bool),
            ([0], [0], [5]),
            TypeError,
            "the operand is bool; float32",
        ),
        (np.ones(4), np.ones(2), ([0], [0], [-5]), ValueError, "not negative"),
    ],
)
def test_what_is_refused(x: Any, h: Any, arguments: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        core.convolve(x, h, *arguments)


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
def test_shapes_that_do_not_fit_are_refused(xp: Any, arguments: Any) -> None:
    x, h = xp.ones((4, 3)), xp.ones((2, 2))
    with pytest.raises(ValueError, match="does not have the result"):
        core.convolve(x, h, *arguments)
