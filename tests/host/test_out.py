"""The result goes to the array that the user gives as `out`: all of it, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from tests.helpers.cases import KINDS, Case, noted, random_cases
from tests.helpers.elements import read, write
from tests.helpers.operands import library
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

FORMS = ["function", "class"]


def run(form: str, operand: Any, out: Any, **keywords: Any) -> Any:
    if form == "function":
        options = keywords.get("options", {})
        kind = options.get("fft_type", "C2C")
        function = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[kind]
        return function(operand, **keywords, out=out)
    with fft.FFT(operand, **keywords) as transform:
        transform.plan()
        return transform.execute(out=out)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_is_in_out(space: Space, kind: str, form: str) -> None:
    for case in random_cases(kind, 20):
        with noted(case):
            values = case.values()
            operand = space.array(values)
            with fft.FFT(operand, **case.keywords, execution=space.execution) as transform:
                shape, strides = transform.get_output_layout()
            blank = laid_out(case.blank(), strides)
            assert blank.shape == shape
            out = space.array(blank)
            result = run(form, operand, out, **case.keywords, execution=space.execution)
            assert result is out
            case.check(space.numpy(out), values)
            np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


def laid_out(values: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Copy with these strides, in elements; there are no gaps between them."""
    steps = [stride * values.itemsize for stride in strides]
    copied = np.ndarray(values.shape, values.dtype, bytearray(values.nbytes), 0, steps)
    copied[...] = values
    return copied


def windows(rng: np.random.Generator, shape: tuple[int, ...], backwards: bool) -> Any:
    """Extents of a larger array, and the part of it that has this shape; steps may be negative."""
    extents, window = [], []
    for count in shape:
        step, front, back = (int(number) for number in rng.integers([1, 0, 0], [4, 3, 3]))
        reach = step * (count - 1) + 1
        extents.append(front + reach + back)
        if backwards and rng.random() < 0.5:
            end = front - 1 if front else None
            window.append(slice(front + reach - 1, end, -step))
        else:
            window.append(slice(front, front + reach, step))
    return tuple(extents), tuple(window)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backwards", [False, True])
def test_any_strides_and_what_is_between_them(space: Space, kind: str, backwards: bool) -> None:
    """A function plans for the strides of `out`: a window of an array whose axes are permuted."""
    if backwards and space.library == "torch":
        pytest.skip("PyTorch has no negative strides")
    rng = np.random.default_rng()
    for case in random_cases(kind, 20):
        order = rng.permutation(len(case.shape))
        extents, window = windows(rng, case.result_shape, backwards)
        base = np.empty([extents[axis] for axis in order], case.result_dtype)
        base[...] = random_values(base.shape, base.dtype)
        whole = space.array(base)
        out = whole.transpose(*np.argsort(order)) if space.library != "torch" else None
        if out is None:
            out = whole.permute(*np.argsort(order).tolist())
        out = out[window]
        assert tuple(out.shape) == case.result_shape
        values = case.values()
        operand = space.array(values)
        with noted(case, extents, window, order):
            keywords = {**case.keywords, "execution": space.execution}
            assert case.function(operand, **keywords, out=out) is out
            after = space.numpy(whole)
            in_window = after.transpose(np.argsort(order))[window]
            case.check(in_window, values)
            expected = base.copy()
            expected.transpose(np.argsort(order))[window] = in_window
            np.testing.assert_array_equal(after, expected, "elements of others have changed")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_view", [False, True])
def test_the_operand_itself(space: Space, form: str, is_view: bool) -> None:
    for case in random_cases("C2C", 10):
        with noted(case):
            values = case.values()
            operand = space.array(values)
            out = operand[...] if is_view else operand
            assert run(form, operand, out, **case.keywords, execution=space.execution) is out
            case.check(space.numpy(operand), values)


def test_the_operand_itself_with_gaps(space: Space) -> None:
    base = random_values((9, 20), np.complex128)
    whole = space.array(base)
    operand = whole[1::2, 3:15]
    fft.fft(operand, axes=[1], execution=space.execution, out=operand)
    after = space.numpy(whole)
    assert_close(after[1::2, 3:15], base[1::2, 3:15], "C2C", (1,))
    base[1::2, 3:15] = after[1::2, 3:15]
    np.testing.assert_array_equal(after, base, "elements of others have changed")


@pytest.mark.parametrize("form", FORMS)
def test_another_part_of_the_same_memory(space: Space, form: str) -> None:
    base = random_values((8, 15), np.complex64)
    whole = space.array(base)
    run(form, whole[:4], whole[4:], axes=[1], execution=space.execution)
    after = space.numpy(whole)
    np.testing.assert_array_equal(after[:4], base[:4])
    assert_close(after[4:], base[:4], "C2C", (1,))


def test_with_and_without_in_turn(space: Space) -> None:
    case = Case("R2C", (5, 14), (1,), precision=8)
    operand = space.array(case.values())
    outs = [space.array(case.blank()) for _ in range(2)]
    with fft.FFT(operand, **case.keywords, execution=space.execution) as transform:
        transform.plan()
        kept: list[tuple[Any, np.ndarray]] = []
        for out in (outs[0], None, outs[1], None):
            values = case.values()
            transform.reset_operand(space.array(values))
            result = transform.execute(out=out)
            assert result is out or out is None
            kept.append((result, values))
        for result, values in kept:
            case.check(space.numpy(result), values)
        transform.reset_operand(operand)
        transform.execute(out=outs[0])
        case.check(space.numpy(outs[0]), space.numpy(operand))


def test_directions(space: Space) -> None:
    values = random_values((4, 30), np.complex128)
    operand, out = space.array(values), space.array(np.full_like(values, np.nan))
    fft.ifft(operand, axes=[1], execution=space.execution, out=out)
    assert_close(space.numpy(out), values, "C2C", (1,), inverse=True)
    with fft.FFT(operand, axes=[1], execution=space.execution) as transform:
        transform.plan()
        for direction in ("forward", "inverse"):
            transform.execute(direction, out=out)
            assert_close(space.numpy(out), values, "C2C", (1,), inverse=direction == "inverse")


@pytest.mark.parametrize("form", FORMS)
def test_the_stride_of_an_axis_of_one_point_does_not_matter(space: Space, form: str) -> None:
    values = random_values((1, 8), np.complex64)
    strided = np.lib.stride_tricks.as_strided(np.zeros(8, np.complex64), (1, 8), (1000, 8))
    out = space.array(strided)
    run(form, space.array(values), out, axes=[1], execution=space.execution)
    assert_close(space.numpy(out), values, "C2C", (1,))


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_batch(space: Space, form: str) -> None:
    out = space.array(np.empty((0, 5), np.complex64))
    operand = space.array(np.empty((0, 8), np.float32))
    options = {"fft_type": "R2C"}
    assert run(form, operand, out, axes=[1], options=options, execution=space.execution) is out


def test_the_position_of_out_among_the_arguments() -> None:
    """The order is `direction, stream, release_workspace, out`."""
    values = random_values((8,), np.complex128)
    out = np.empty_like(values)
    with fft.FFT(values) as transform:
        transform.plan()
        assert transform.execute("inverse", None, False, out) is out
    assert_close(out, values, "C2C", (0,), inverse=True)
    with pytest.raises(TypeError):
        fft.fft(values, out)


def host_array(values: np.ndarray) -> memory.Array:
    array = memory.empty(values.shape, values.dtype, kind="host")
    write(array, values)
    return array


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make_out", [host_array, memoryview, memory.from_dlpack])
def test_arrays_of_no_known_library(kind: str, form: str, make_out: Any) -> None:
    case = Case(kind, (4, 12), (1,))
    values = case.values()
    out = make_out(case.blank())
    for operand in (host_array(values), memoryview(values), memory.from_dlpack(values)):
        write(out, case.blank())
        assert run(form, operand, out, **case.keywords) is out
        case.check(read(out), values)


def test_jax_operands_have_results_in_arrays_of_gpumath() -> None:
    jax = library("jax")
    values = random_values((4, 12), np.complex64)
    operand = jax.device_put(values, jax.devices("cpu")[0])
    out = host_array(np.full_like(values, np.nan))
    assert fft.fft(operand, axes=[1], out=out) is out
    assert_close(read(out), values, "C2C", (1,))
