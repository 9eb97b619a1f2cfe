"""norm, n and s of the functions, and NumPy's functions for several axes, against numpy.fft."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from tests.helpers.cases import Case, noted, random_cases
from tests.helpers.references import (
    hermitian_values,
    random_values,
    reference,
    relative_error,
    tolerance,
)

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

NORMS = ["backward", "ortho", "forward"]
WIDE = {np.dtype("c8"): np.complex128, np.dtype("f4"): np.float64}


def widened(values: np.ndarray) -> np.ndarray:
    return values.astype(WIDE.get(values.dtype, values.dtype))


def operand_values(name: str, shape: tuple[int, ...], axes: Any, precision: str) -> np.ndarray:
    real, complex_ = {"single": ("f4", "c8"), "double": ("f8", "c16")}[precision]
    if "irfft" in name:
        return hermitian_values(shape, axes, np.dtype(complex_))
    return random_values(shape, np.dtype(real if "rfft" in name else complex_))


def check(result: np.ndarray, expected: np.ndarray, values: np.ndarray) -> None:
    assert result.shape == expected.shape
    assert WIDE.get(result.dtype, result.dtype) == expected.dtype
    # Rounding the factor and multiplying by it are two more roundings.
    allowed = tolerance(values.dtype, expected.size) + 2 * np.finfo(values.dtype).eps
    assert relative_error(result, expected) <= allowed


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_norm(space: Space, name: str, norm: Any, precision: str) -> None:
    values = operand_values(name, (5, 12), (1,), precision)
    operand = space.array(values)
    expected = getattr(np.fft, name)(widened(values), axis=1, norm=norm)
    for _ in range(2):
        result = getattr(fft, name)(operand, axes=[1], norm=norm, execution=space.execution)
        space.assert_is_alike(result)
        check(space.numpy(result), expected, values)
    np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


def test_without_norm_nothing_is_scaled(space: Space) -> None:
    values = random_values((12,), np.complex128)
    result = fft.ifft(space.array(values), norm=None, execution=space.execution)
    check(space.numpy(result), 12 * np.fft.ifft(values), values)


@pytest.mark.parametrize("norm", NORMS)
def test_norm_into_out_and_in_place(space: Space, norm: Any) -> None:
    values = random_values((3, 10), np.complex128)
    expected = np.fft.ifft(values, axis=1, norm=norm)
    keywords: dict[str, Any] = {"axes": [1], "norm": norm, "execution": space.execution}
    operand, out = space.array(values), space.array(np.full_like(values, np.nan))
    assert fft.ifft(operand, out=out, **keywords) is out
    check(space.numpy(out), expected, values)
    assert fft.ifft(operand, out=operand, **keywords) is operand
    check(space.numpy(operand), expected, values)
    operand = space.array(values)
    assert fft.ifft(operand, options={"inplace": True}, **keywords) is operand
    check(space.numpy(operand), expected, values)


def test_norm_into_a_strided_out(direct_space: Space) -> None:
    values = random_values((4, 10), np.complex64)
    whole = direct_space.array(np.full((10, 8), np.nan, np.complex64))
    out = whole[:, ::2].T
    fft.fft(direct_space.array(values), axes=[1], norm="forward", out=out)
    result = direct_space.numpy(whole)
    check(result[:, ::2].T, np.fft.fft(widened(values), axis=1, norm="forward"), values)
    assert np.isnan(result[:, 1::2]).all()


LENGTHS = [1, 2, 7, 12, 13, 30]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_n(space: Space, name: str, n: int, order: Any) -> None:
    """The last point of an even irfft is read as real; the operands here are Hermitian there."""
    dtype = np.float64 if name == "rfft" else np.complex128
    values = random_values((3, 12), dtype)
    if name == "irfft":
        values[:, 0] = values[:, 0].real
        if n % 2 == 0 and n // 2 < 12:
            values[:, n // 2] = values[:, n // 2].real
    values = np.asarray(values, order=order)
    for norm in (None, "backward"):
        result = getattr(fft, name)(
            space.array(values), axes=[1], n=n, norm=norm, execution=space.execution
        )
        expected = getattr(np.fft, name)(values, n=n, axis=1)
        if norm is None and name in ("ifft", "irfft"):
            expected = expected * n
        space.assert_is_alike(result)
        check(space.numpy(result), expected, values)


def test_n_overrides_the_parity(space: Space) -> None:
    values = hermitian_values((5,), (0,), np.complex128)
    for parity in ("even", "odd"):
        options = {"last_axis_parity": parity}
        result = fft.irfft(space.array(values), n=8, execution=space.execution, options=options)
        check(space.numpy(result), 8 * np.fft.irfft(values, 8), values)


FORMS = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]


@pytest.mark.parametrize("norm", [*NORMS, None, "default"])
@pytest.mark.parametrize("name", FORMS)
def test_numpys_functions(space: Space, name: str, norm: Any) -> None:
    axes = (1, 2) if name.endswith("2") else (0, 1, 2)
    values = operand_values(name, (3, 4, 6), axes, "double")
    keywords = {} if norm == "default" else {"norm": norm}
    result = getattr(fft, name)(space.array(values), execution=space.execution, **keywords)
    space.assert_is_alike(result)
    check(space.numpy(result), getattr(np.fft, name)(values, **keywords), values)


SIZES: list[tuple[Any, Any]] = [
    ((4, 6), (0, 2)),
    ((8, 3), (2, 1)),
    ((5, 5), None),
    ((2, 9, 8), None),
    ((-1, 4), (0, 1)),
]


@pytest.mark.parametrize(("s", "axes"), SIZES)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn"])
def test_s(space: Space, name: str, s: Any, axes: Any) -> None:
    values = operand_values(name, (3, 6, 7), (0, 1, 2), "double")
    result = getattr(fft, name)(space.array(values), s, axes, execution=space.execution)
    # NumPy deprecates s without axes, and takes the last ones.
    numpys_axes = range(3 - len(s), 3) if axes is None else axes
    sizes = [values.shape[a] if n == -1 else n for n, a in zip(s, numpys_axes, strict=True)]
    expected = getattr(np.fft, name)(values, sizes, numpys_axes)
    check(space.numpy(result), expected, values)


def test_a_round_trip_of_any_length(space: Space) -> None:
    for shape in [(4, 9), (5, 8)]:
        values = random_values(shape, np.float64)
        half = fft.rfftn(space.array(values), execution=space.execution)
        back = fft.irfftn(half, shape, execution=space.execution)
        check(space.numpy(back), values, values)


def test_out_of_numpys_functions(space: Space) -> None:
    values = random_values((4, 6), np.complex128)
    out = space.array(np.full_like(values, np.nan))
    keywords = {"execution": space.execution}
    assert fft.ifft2(space.array(values), None, (-2, -1), None, out, **keywords) is out
    check(space.numpy(out), np.fft.ifft2(values), values)


REFUSED: list[tuple[Any, str]] = [
    ({"norm": "both"}, "norm is 'both'; 'backward', 'ortho', 'forward' and None are allowed"),
    ({"n": 4}, "n has 1 lengths, and the transform is along 2 axes"),
    ({"s": (4,)}, "s has 1 lengths, and the transform is along 2 axes"),
    ({"n": 4, "s": (4,), "axes": [0]}, "n and s are given"),
    ({"n": 0, "axes": [0]}, "n is 0; lengths are positive"),
    ({"s": (4, -2)}, r"s is \(4, -2\); lengths are positive"),
    ({"n": 4, "axes": [2]}, "axis 2 is out of range"),
    ({"n": 9, "axes": [1], "options": {"inplace": True}}, "inplace=True overwrites the operand"),
]


@pytest.mark.parametrize(("keywords", "message"), REFUSED)
def test_refusals(keywords: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fft.fft(np.ones((3, 8), np.complex64), **keywords)


def test_real_operands_of_complex_forms() -> None:
    with pytest.raises(ValueError, match="needs a complex operand, and this one is float64"):
        fft.fftn(np.ones((2, 2)))
    with pytest.raises(RuntimeError, match="rfft takes real operands"):
        fft.rfft2(np.ones((2, 2), np.complex64))


@pytest.mark.parametrize("norm", [*NORMS, None])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_every_way_of_the_engine(kind: str, norm: Any) -> None:
    """Any layout and axes; lengths that go line by line, as a grid, and as a convolution."""
    longest = Case(kind, (1 << 17,), (0,)), Case(kind, (99_991,), (0,), 8)
    for case in (*random_cases(kind, 40), *longest):
        values = case.values()
        points = prod(case.shape[axis] for axis in case.axes)
        for order in ("C", "F"):
            out = np.full_like(case.blank(), np.nan, order=order)
            with noted(case, order):
                assert case.function(values, **case.keywords, norm=norm, out=out) is out
                inverse = kind == "C2R"
                scaled = norm == ("backward" if inverse else "forward")
                factor = points if scaled else np.sqrt(points) if norm == "ortho" else 1
                expected = reference(values, kind, case.axes, odd=case.is_odd) / factor
                allowed = tolerance(values.dtype, points) + 2 * np.finfo(values.dtype).eps
                assert relative_error(out, expected) <= allowed


def test_threads_share_what_is_scaled() -> None:
    values = random_values((300, 2000), np.complex64)
    expected = np.fft.fft2(widened(values), norm="ortho")
    for threads in (1, 2, 5):
        execution = {"name": "cpu", "num_threads": threads}
        result = fft.fft(values, norm="ortho", execution=execution)
        check(result, expected, values)


@pytest.mark.gpu
@pytest.mark.parametrize("blocking", ["auto", True])
@pytest.mark.parametrize("n", [None, 1000, 5000])
def test_on_another_stream(gpu_space: Space, n: int | None, blocking: Any) -> None:
    values = random_values((64, 4099), np.complex64)
    stream = core.Stream()
    expected = np.fft.fft(widened(values), n, axis=1, norm="ortho")
    operand = gpu_space.array(values)
    keywords: dict[str, Any] = {"axes": [1], "n": n, "norm": "ortho", "stream": stream}
    for _ in range(5):
        result = fft.fft(operand, options={"blocking": blocking}, **keywords)
        if blocking == "auto":
            stream.synchronize()
        check(gpu_space.numpy(result), expected, values)


def test_frequencies() -> None:
    for n in (1, 2, 7, 8):
        np.testing.assert_array_equal(fft.fftfreq(n, 0.1), np.fft.fftfreq(n, 0.1))
        np.testing.assert_array_equal(fft.rfftfreq(n, 0.1), np.fft.rfftfreq(n, 0.1))
        assert fft.fftfreq(n).dtype == fft.rfftfreq(n).dtype == np.float64


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), [1]])
def test_shifts(direct_space: Space, axes: Any) -> None:
    integers = np.random.default_rng().integers(0, 100, (3, 4, 5), np.int32)
    for values in (random_values((3, 4, 5), np.complex64), integers):
        operand = direct_space.array(values)
        shifted = fft.fftshift(operand, axes)
        direct_space.assert_is_alike(shifted)
        np.testing.assert_array_equal(direct_space.numpy(shifted), np.fft.fftshift(values, axes))
        back = fft.ifftshift(shifted, axes)
        np.testing.assert_array_equal(direct_space.numpy(back), values)


def test_shifts_of_any_element_type() -> None:
    numbers = random_values((3, 4), np.float64)
    packed = np.zeros(numbers.shape, [("flag", np.int8), ("value", np.float64)])
    packed["value"] = numbers
    texts = np.array([["a", "b"], ["c", "d"]])
    for values in (numbers.astype(np.longdouble), numbers.astype(">f4"), packed["value"], texts):
        for axes in (None, np.array([1])):
            shifted = fft.fftshift(values, axes)
            assert shifted.dtype == values.dtype
            np.testing.assert_array_equal(shifted, np.fft.fftshift(values, axes))
            np.testing.assert_array_equal(fft.ifftshift(shifted, axes), values)


def test_shifts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="axis 2 is out of range for an array with 2 dimensions"):
        fft.fftshift(np.ones((2, 2)), axes=2)
    with pytest.raises(ValueError, match="a NumPy array, a CuPy array or a PyTorch tensor is need"):
        fft.fftshift(memory.empty(4, kind="host"))
