"""Convolutions and correlations give SciPy's results, in every mode and along any axes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.signal

from gpumath import fft
from gpumath.fft._convolution_fft import Product, pieces_of
from gpumath.fft._fast_lengths import Place, fast_length, fast_length_on_gpu
from tests.helpers.references import random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")
SHAPES = [
    ((100,), (7,)),
    ((7,), (100,)),
    ((13,), (13,)),
    ((1,), (5,)),
    ((5,), (1,)),
    ((3000,), (11,)),
    ((20, 31), (3, 4)),
    ((3, 4), (20, 31)),
    ((400, 7), (5, 3)),
    ((9, 300), (1, 8)),
    ((6, 5, 7), (2, 3, 4)),
]
# Pairs of element types, and how far results may be from those of float64: in parts of what
# any sum of products of these operands may be.
DTYPES = [
    ((np.float64, np.float64), 1e-13),
    ((np.float32, np.float32), 3e-6),
    ((np.complex128, np.float64), 1e-13),
    ((np.complex64, np.complex64), 3e-6),
    ((np.float32, np.complex128), 1e-13),
    ((np.float16, np.float16), 2e-3),
]
FUNCTIONS = [
    ("convolve", {}),
    ("convolve", {"method": "direct"}),
    ("convolve", {"method": "fft"}),
    ("correlate", {}),
    ("correlate", {"method": "fft"}),
    ("fftconvolve", {}),
    ("oaconvolve", {}),
]


def drawn(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    wide = np.complex128 if np.issubdtype(dtype, np.complexfloating) else np.float64
    return random_values(shape, wide).astype(dtype)


def expected(name: str, a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    """SciPy's sum of products in double precision."""
    wide = [v.astype(np.result_type(v, np.float64)) for v in (a, b)]
    function = scipy.signal.correlate if name == "correlate" else scipy.signal.convolve
    return function(*wide, mode, method="direct")


@pytest.mark.parametrize(("name", "keywords"), FUNCTIONS)
@pytest.mark.parametrize(("dtypes", "close"), DTYPES)
def test_results_are_scipys(
    direct_space: Space, name: str, keywords: dict[str, Any], dtypes: Any, close: float
) -> None:
    for (first, second), mode in product(SHAPES, MODES):
        a, b = drawn(first, dtypes[0]), drawn(second, dtypes[1])
        operands = direct_space.array(a), direct_space.array(b)
        result = getattr(fft, name)(*operands, mode, **keywords)
        direct_space.assert_is_alike(result)
        found, wanted = direct_space.numpy(result), expected(name, a, b, mode)
        dtype = np.result_type(a, b)
        if dtype == np.float16 and name in ("fftconvolve", "oaconvolve"):
            dtype = np.dtype(np.float32)
        case = f"{first}, {second}, {mode}"
        assert (found.shape, found.dtype) == (wanted.shape, dtype), case
        size = np.linalg.norm(a.astype(complex)) * np.linalg.norm(b.astype(complex))
        assert np.abs(found - wanted).max() <= close * size, case
        for operand, values in zip(operands, (a, b), strict=True):
            np.testing.assert_array_equal(direct_space.numpy(operand), values)


def along(axes: Any) -> set[int]:
    return {axis % 3 for axis in np.atleast_1d(axes)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("first", "second", "axes"),
    [
        ((3, 500, 2), (3, 9, 2), 1),
        ((3, 500, 2), (1, 9, 1), [1]),
        ((1, 9, 2), (4, 700, 2), -2),
        ((200, 3, 40), (5, 3, 4), (2, 0)),
        ((5, 64), (5, 64), (1,)),
        ((2, 3, 4000), (1, 3, 21), -1),
    ],
)
def test_some_axes(direct_space: Space, first: Any, second: Any, axes: Any, mode: str) -> None:
    a, b = drawn(first, np.float64), drawn(second, np.complex128)
    operands = direct_space.array(a), direct_space.array(b)
    # SciPy broadcasts too, but cuts also these dimensions to those of `a` where mode is "same".
    batch = [
        1 if i in along(axes) else max(pair)
        for i, pair in enumerate(zip(first, second, strict=True))
    ]
    wanted = scipy.signal.fftconvolve(a * np.ones(batch), b, mode, axes)
    functions: list[Any] = [fft.fftconvolve, fft.oaconvolve]
    functions += [lambda *args, m=m, **kw: fft.convolve(*args, method=m, **kw) for m in METHODS]
    for function in functions:
        result = direct_space.numpy(function(*operands, mode, axes=axes))
        np.testing.assert_allclose(result, wanted, atol=1e-10)
    turned = direct_space.array(np.flip(b, axes).conj())
    result = fft.correlate(operands[0], turned, mode, axes=axes)
    np.testing.assert_allclose(direct_space.numpy(result), wanted, atol=1e-10)


def test_equal_arrays_again(direct_space: Space) -> None:
    """What was worked out for two arrays serves others of the same shapes and types alone."""
    types = ((np.float64, np.float64), (np.float32, np.float32), (np.float64, np.complex128))
    shapes = (((20, 31), (3, 4)), ((3, 4), (20, 31)))
    for _ in range(2):
        for (first, second), mode, (one, other) in product(shapes, MODES, types):
            a, b = drawn(first, one), drawn(second, other)
            wanted = expected("convolve", a, b, mode)
            operands = direct_space.array(a), direct_space.array(b)
            for method in ("auto", "direct", "fft"):
                result = direct_space.numpy(fft.convolve(*operands, mode, method))
                np.testing.assert_allclose(result, wanted, atol=1e-4)
                assert result.dtype == np.result_type(a, b)


def test_small_images() -> None:
    for shape, taps, mode in product(((1, 1), (4, 9), (8, 8), (3, 4, 5)), (1, 2, 4), MODES):
        for dtype in (np.float32, np.complex128, np.int16):
            size = (taps,) * len(shape)
            a, b = ((drawn(s, np.float64) * 9).astype(dtype) for s in (shape, size))
            if mode == "valid" and taps > min(shape) and taps < max(shape):
                continue
            found = fft.convolve(a, b, mode)
            wanted = scipy.signal.convolve(a.astype(complex), b.astype(complex), mode, "direct")
            assert (found.dtype, found.shape) == (dtype, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


def test_strided_operands(direct_space: Space) -> None:
    a, b = drawn((40, 60), np.float64).T[::2], drawn((9, 8), np.float64)[:, ::2]
    operands = direct_space.array(a), direct_space.array(b)
    for method in METHODS:
        result = direct_space.numpy(fft.convolve(*operands, method=method))
        np.testing.assert_allclose(result, scipy.signal.convolve(a, b), atol=1e-11)


def test_integers_are_exact(direct_space: Space) -> None:
    rng = np.random.default_rng()
    for dtypes, limit in [((np.int16, np.int32), 300), ((np.int64, np.int64), 2**24)]:
        for shape in [(4000,), (60, 50)]:
            a = rng.integers(-limit, limit, shape).astype(dtypes[0])
            b = rng.integers(-limit, limit, tuple(n // 2 for n in shape)).astype(dtypes[1])
            result = fft.convolve(direct_space.array(a), direct_space.array(b))
            wanted = scipy.signal.convolve(a, b, method="direct")
            assert direct_space.numpy(result).dtype == wanted.dtype
            np.testing.assert_array_equal(direct_space.numpy(result), wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_sums_beyond_the_type_wrap_around(direct_space: Space, dtype: Any) -> None:
    """Transforms give what sums of products give, also where the results do not fit."""
    rng = np.random.default_rng()
    limits = np.iinfo(dtype)
    for first, second in (((5000,), (600,)), ((90, 80), (70, 60)), ((4, 700), (4, 300))):
        a, b = (
            rng.integers(max(limits.min, -(2**16)), min(limits.max, 2**16), shape, dtype)
            for shape in (first, second)
        )
        operands = direct_space.array(a), direct_space.array(b)
        where = {"axes": 1} if first[0] == second[0] else {}
        lines = zip(a, b, strict=True) if where else [(a, b)]
        wide = [[array.astype(np.int64) for array in pair] for pair in lines]
        sums = [scipy.signal.convolve(*pair, method="direct") for pair in wide]
        wanted = (np.stack(sums) if where else sums[0]).astype(dtype)
        for method in METHODS:
            result = direct_space.numpy(fft.convolve(*operands, method=method, **where))
            np.testing.assert_array_equal(result, wanted, f"{method}, {first}")


def test_one_integer_is_a_factor(direct_space: Space) -> None:
    large = np.array([[2**53 + 1, -(2**62) - 1, 3]])
    for factor, axes in (([[1]], None), ([[1, 1, 1]], 0), ([[-1]], (0, 1))):
        h = np.array(factor)
        result = fft.convolve(direct_space.array(large), direct_space.array(h), axes=axes)
        np.testing.assert_array_equal(direct_space.numpy(result), large * h)


def test_transforms_of_integers_are_in_double_precision(direct_space: Space) -> None:
    a, b = np.full(3000, 120, np.int8), np.full(2500, 119, np.int8)
    for name in ("fftconvolve", "oaconvolve"):
        result = direct_space.numpy(
            getattr(fft, name)(direct_space.array(a), direct_space.array(b))
        )
        wanted = getattr(scipy.signal, name)(a, b)
        assert result.dtype == wanted.dtype == np.float64
        np.testing.assert_allclose(result, wanted, atol=1e-6)


def test_operands_that_are_not_aligned() -> None:
    a, b = drawn((40, 9), np.complex128), drawn((12, 9), np.complex128)
    moved = np.frombuffer(b"?" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    field = np.zeros(b.shape, [("flag", np.int8), ("value", b.dtype)])["value"]
    field[...] = b
    for name, keywords in FUNCTIONS:
        result = getattr(fft, name)(moved, field, **keywords)
        np.testing.assert_allclose(result, expected(name, a, b, "full"), atol=1e-12)


def test_nothing_and_numbers() -> None:
    assert fft.convolve(3.0, 4.0) == 12
    assert fft.correlate(3.0, 4j) == -12j
    np.testing.assert_array_equal(fft.convolve([1, 2], [1, 1]), [1, 3, 2])


def outcome(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """What a function returns, or that it refuses its arguments."""
    try:
        return function(*arguments, **keywords)
    except (ValueError, IndexError):
        return "refused"


def test_arrays_without_elements() -> None:
    shapes = [((3,), (0,)), ((0,), (3,)), ((0,), (0,)), ((2, 0), (2, 3)), ((2, 3), (2, 0))]
    shapes += [((2, 0), (0, 2)), ((0, 4), (3, 4)), ((1, 0), (2, 2))]
    for (first, second), mode, dtype in product(shapes, MODES, (np.float32, np.int16)):
        a, b = np.ones(first, dtype), np.ones(second, dtype)
        for name in ("fftconvolve", "oaconvolve"):
            found = getattr(fft, name)(a, b, mode)
            assert found.shape == getattr(scipy.signal, name)(a, b, mode).shape == (0,)
            assert found.dtype == np.result_type(dtype, np.float32 if dtype != np.int16 else float)
        for name in ("convolve", "correlate"):
            if mode == "valid":  # SciPy makes results of no sums at all
                assert outcome(getattr(fft, name), a, b, mode) == "refused"
                continue
            wanted = outcome(getattr(scipy.signal, name), a, b, mode, method="direct")
            for method in METHODS:
                found = outcome(getattr(fft, name), a, b, mode, method=method)
                assert np.shape(found) == np.shape(wanted), (name, mode, first, second)
    with pytest.raises(ValueError, match=r"in2 has no elements"):
        fft.convolve([1.0, 2.0], [])


def test_modes_of_arrays_with_one_element_along_some_axes() -> None:
    rng = np.random.default_rng()
    for _ in range(300):
        ndim = int(rng.integers(1, 4))
        a, b = (
            drawn(tuple(map(int, rng.choice([1, 1, 2, 3, 5, 18], ndim))), np.float64)
            for _ in range(2)
        )
        mode = MODES[int(rng.integers(3))]
        for name in ("convolve", "correlate", "fftconvolve", "oaconvolve"):
            case = f"{name}, {a.shape}, {b.shape}, {mode}"
            wanted = outcome(getattr(scipy.signal, name), a, b, mode)
            found = outcome(getattr(fft, name), a, b, mode)
            if isinstance(wanted, str):
                assert isinstance(found, str), case
            else:
                np.testing.assert_allclose(found, wanted, atol=1e-11, err_msg=case)
    ones = np.ones
    assert fft.fftconvolve(ones((1, 6)), ones((8, 1)), "valid").shape == (8, 6)
    assert fft.oaconvolve(ones((2, 5)), ones((1, 18)), "valid").shape == (2, 14)


def test_random_lengths_of_pieces() -> None:
    rng = np.random.default_rng()
    for _ in range(40):
        n, m = int(rng.integers(300, 40_000)), int(rng.integers(2, 60))
        a, b = rng.standard_normal((2, n)), rng.standard_normal((1, m))
        mode = MODES[int(rng.integers(3))]
        result = fft.oaconvolve(a, b, mode, axes=1)
        wanted = [np.convolve(row, b[0], mode) for row in a]
        np.testing.assert_allclose(result, wanted, atol=1e-11, err_msg=f"{n}, {m}, {mode}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(10_007,), (1, 10_007), (3, 10_007), (10_007, 3)])
@pytest.mark.parametrize("taps", [30, 9000])
def test_results_keep_little_more_memory_than_they_need(
    shape: tuple[int, ...], taps: int, mode: Any
) -> None:
    axis = int(np.argmax(shape))
    a = random_values(shape, np.float64)
    b = random_values((taps,), np.float64)
    filters = b.reshape([taps if i == axis else 1 for i in range(a.ndim)])
    found = fft.fftconvolve(a, filters, mode, axes=axis)
    wanted = np.apply_along_axis(np.convolve, axis, a, b, mode)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    kept = found if found.base is None else found.base
    assert kept.nbytes <= 8 / 7 * found.nbytes


DTYPES_ON_GPU = ("float32", "float64", "complex64", "complex128")
PLACES: dict[Place, int] = {"row": 2, "column": 4}


def is_smooth(number: int) -> bool:
    for prime in (2, 3, 5, 7):
        while number % prime == 0:
            number //= prime
    return number == 1


def test_lengths_are_fast_and_near() -> None:
    rng = np.random.default_rng()
    for least in (1, 2, 1023, 1024, 1025, *map(int, np.exp(rng.uniform(0, 17.5, 60)))):
        for multiple in (1, 2):
            found = fast_length(least, multiple)
            nearer = range(least + -least % multiple, found, multiple)
            assert not any(is_smooth(number // multiple) for number in nearer), least
            assert is_smooth(found // multiple), least
        for dtype, (place, step) in product(DTYPES_ON_GPU, PLACES.items()):
            found = fast_length_on_gpu(least, dtype, place)
            assert is_smooth(found), least
            assert found % (2 if least < 1024 else step) == 0, least
            assert least <= found <= max(2, 1 << (least - 1).bit_length()), least


def test_lengths_of_lines_on_a_gpu() -> None:
    rng = np.random.default_rng()
    for least in (1, 2, 1023, 1024, 1025, *map(int, np.exp(rng.uniform(0, 18, 100)))):
        for dtype, lines in product(DTYPES_ON_GPU, (1, 2, 8, 9, 64, 65, 1000)):
            found = fast_length_on_gpu(least, dtype, "line", lines)
            assert is_smooth(found), least
            assert found % (2 if found <= 1 << 17 else 16) == 0, least
            # Few points do not fill the GPU.
            most = 8 if lines <= 8 and least < 1 << 17 else 2
            assert least <= found <= max(2, most << (least - 1).bit_length()), least


@pytest.mark.parametrize(
    ("dtype", "lines", "points", "taps", "are_faster"),
    [
        ("complex128", 24, 150_178, 6407, False),
        ("complex64", 600, 16_112, 103, False),
        ("float32", 600, 61_409, 2462, False),
        ("float64", 4, 7_412_893, 370_888, False),
        ("float64", 600, 6_817, 300, False),
        ("float32", 64, 1_000_000, 1000, True),
        ("complex64", 1, 9_710_153, 300, True),
        ("complex128", 24, 427_302, 300, True),
        ("complex128", 1, 11_773_943, 16, True),
        ("complex64", 24, 431_180, 84, True),
        ("float32", 4, 2_647_675, 665, True),
        ("float64", 600, 43_379, 7, True),
    ],
)
def test_pieces_where_a_gpu_is_faster_with_them(
    dtype: str, lines: int, points: int, taps: int, are_faster: bool
) -> None:
    x, h = (np.broadcast_to(np.zeros(1, dtype), shape) for shape in ((lines, points), (1, taps)))
    shape = lines, points + taps - 1
    pieces = pieces_of(Product(x, h, (1,), (0, 0), shape, dtype, is_on_gpu=True))
    assert (pieces is not None) == are_faster


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fft.convolve(np.ones(3), np.ones((3, 3))), ValueError, "1 dimensions and in2 2"),
        (lambda: fft.convolve(np.ones(3), np.ones(3), "ful"), ValueError, "mode is 'ful'"),
        (lambda: fft.convolve(np.ones(3), np.ones(3), np.ones(3)), ValueError, "mode is array"),
        (lambda: fft.convolve(np.ones(3), np.ones(3), method="f"), ValueError, "method is 'f'"),
        (lambda: fft.convolve(np.ones(3), np.ones(3), axes=1), ValueError, "axis 1"),
        (lambda: fft.convolve(np.ones(3), np.ones(3, bool)), TypeError, "in2 is bool"),
        (lambda: fft.convolve(np.ones(3, "g"), np.ones(3)), TypeError, "in1 is .*128"),
        (
            lambda: fft.convolve(np.ones((3, 4)), np.ones((4, 3)), "valid"),
            ValueError,
            "mode='valid' needs",
        ),
        (lambda: fft.oaconvolve(np.ones((3, 4)), np.ones((2, 4)), axes=1), ValueError, "axis 0"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.gpu
def test_arrays_of_two_places_are_refused() -> None:
    cupy = pytest.importorskip("cupy")
    with pytest.raises(ValueError, match="in1 is of cupy on device 0, and in2 of numpy"):
        fft.convolve(cupy.ones(3), np.ones(3))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "shape", "taps", "mode"),
    [
        (np.float32, (3, 3_000_001), 501, "full"),
        (np.float64, (4_300_000,), 1000, "same"),
        (np.complex64, (4_200_001,), 77, "valid"),
        (np.complex128, (2, 1_400_003), 1000, "full"),
    ],
)
def test_pieces_on_a_gpu(dtype: Any, shape: tuple[int, ...], taps: int, mode: Any) -> None:
    cupy = pytest.importorskip("cupy")
    a, b = drawn(shape, dtype), drawn((1,) * (len(shape) - 1) + (taps,), dtype)
    axis = len(shape) - 1
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    wanted = scipy.signal.oaconvolve(a.astype(wide), b.astype(wide), mode, axes=axis)
    single = np.finfo(dtype).eps > 1e-10
    for function in (fft.oaconvolve, fft.fftconvolve, fft.convolve):
        found = function(cupy.asarray(a), cupy.asarray(b), mode, axes=axis)
        assert (found.dtype, found.shape) == (a.dtype, wanted.shape)
        np.testing.assert_allclose(found.get(), wanted, rtol=0, atol=2e-3 if single else 1e-10)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float16"])
def test_large_images_of_other_types_on_a_gpu(dtype: Any) -> None:
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    a, b = (rng.integers(0, 3, shape).astype(dtype) for shape in ((1100, 1030), (9, 7)))
    wanted = scipy.signal.convolve(a.astype(np.float64), b.astype(np.float64))
    wanted = np.round(wanted).astype(np.int64)
    for method in METHODS:
        found = fft.convolve(cupy.asarray(a), cupy.asarray(b), method=method)
        assert found.dtype == a.dtype
        whole = np.round(found.get().astype(np.float64)).astype(np.int64)
        np.testing.assert_array_equal(whole, wanted.astype(dtype).astype(np.int64))
