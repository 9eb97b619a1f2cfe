"""Cosine and sine transforms of the core: short lines, and steps around Fourier transforms."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.fft

from gpumath.bindings import core
from tests.helpers.elements import read
from tests.helpers.operands import Source

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 1000)


def by_steps(x: np.ndarray, kind: int, axis: int, *, is_sine: bool, **ends: float) -> Any:
    """Transform by both steps, with NumPy's transform in double precision between them."""
    has_parts = np.iscomplexobj(x)
    points = x.shape[axis]
    arguments = {"is_sine": is_sine, "has_parts": has_parts}
    line = core.cosine_step(x, kind, points, axis, True, **arguments, **ends)
    assert line.flags.c_contiguous
    if kind == 3:
        spectrum = np.fft.irfft(line, points, axis, norm="forward")
    elif kind == 4 and points % 2 == 0:
        spectrum = np.fft.fft(line, axis=axis)
    else:
        spectrum = np.fft.rfft(line, axis=axis)
    if x.dtype == np.float32:
        spectrum = spectrum.astype(np.complex64 if np.iscomplexobj(spectrum) else np.float32)
    return core.cosine_step(spectrum, kind, points, axis, False, scale=0.5, **arguments)


def drawn(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng()
    values = rng.standard_normal(shape).astype(dtype)
    return values + 1j * rng.standard_normal(shape) if np.iscomplexobj(values) else values


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("is_sine", [False, True])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_steps_and_lines_are_scipys(kind: int, is_sine: bool, dtype: Any) -> None:
    reference = scipy.fft.dst if is_sine else scipy.fft.dct
    close = 1e-5 if dtype == np.float32 else 1e-12
    for points, axis in product(LENGTHS, (0, 1, 2)):
        if kind == 1 and points == 1 and not is_sine:
            continue
        shape = [3, 2, 4]
        shape[axis] = points
        x = drawn(tuple(shape), dtype)
        expected = reference(x, kind, axis=axis) / 2
        strided = np.repeat(x, 2, axis=1)[:, ::2].swapaxes(0, 2).copy().swapaxes(0, 2)
        for operand in (x, strided):
            for result in (
                by_steps(operand, kind, axis, is_sine=is_sine),
                core.cosine_transform(operand, kind, axis, is_sine=is_sine, scale=0.5),
            ):
                assert result.dtype == x.dtype
                assert result.flags.c_contiguous
                error = np.abs(result - expected).max()
                assert error <= close * np.abs(expected).max(), (points, axis)


def test_ends_are_weighed() -> None:
    x = drawn((2, 6), np.float64)
    weighed = x * [2, 1, 1, 1, 1, 3]
    for kind, is_sine in product((1, 2, 3, 4), (False, True)):
        expected = (scipy.fft.dst if is_sine else scipy.fft.dct)(weighed, kind)
        steps = by_steps(x, kind, 1, is_sine=is_sine, first=2.0, last=3.0)
        np.testing.assert_allclose(2 * steps, expected, atol=1e-13)
        result = core.cosine_transform(
            x, kind, 1, is_sine=is_sine, before=(2.0, 3.0), after=(0.5, 5.0)
        )
        np.testing.assert_allclose(result, expected * [0.5, 1, 1, 1, 1, 5], atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_lines(dtype: Any) -> None:
    for lines, points, axis in product((1, 2, 15, 16, 37, 131), (6, 65), (0, 1)):
        x = drawn((lines, points) if axis else (points, lines), dtype)
        for kind, is_sine in product((1, 2, 3, 4), (False, True)):
            reference = scipy.fft.dst if is_sine else scipy.fft.dct
            result = core.cosine_transform(x, kind, axis, is_sine=is_sine, num_threads=2)
            expected = reference(x.astype(np.float64), kind, axis=axis)
            error = np.abs(result - expected).max()
            assert error <= (1e-5 if dtype == np.float32 else 1e-13) * np.abs(expected).max()


def test_plans_are_in_the_plan_cache() -> None:
    core.plan_cache_clear()
    for points in (8, 9, 8):
        core.cosine_transform(np.ones((3, points)), 2, 1)
    core.cosine_transform(np.ones((3, 8)), 2, 1, scale=2.0)
    info = core.plan_cache_info()
    assert (info.size, info.misses, info.hits) == (2, 2, 2)
    assert info.host_memory > 0
    core.plan_cache_clear()
    assert core.plan_cache_info().size == 0


def test_long_lines_are_those_of_the_steps() -> None:
    """All lines in host memory are transformed by one call; long ones are shared by threads."""
    points = 300_007
    values = np.random.default_rng().standard_normal(points)
    line = core.cosine_step(values, 2, points, 0, True)
    spectrum = np.fft.rfft(line)
    expected = core.cosine_step(spectrum, 2, points, 0, False)
    for threads in (1, 3):
        found = core.cosine_transform(values, 2, 0, num_threads=threads)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: core.cosine_step(x, 7, 4, 1, True), ValueError, "no type 7"),
        (lambda x: core.cosine_step(x, 2, 5, 1, True), ValueError, "5 elements along axis 1"),
        (lambda x: core.cosine_step(x, 2, 4, 2, True), ValueError, "4 elements along axis 2"),
        (lambda x: core.cosine_step(x, 2, 4, 1, False), TypeError, "complex numbers"),
        (lambda x: core.cosine_step(x, 1, 1, 1, True), ValueError, "at least 2 points"),
        (lambda x: core.cosine_step(x, 2, 4, 1, True, has_parts=True), TypeError, "no parts"),
        (lambda x: core.cosine_transform(x, 5, 1), ValueError, "type 5"),
        (lambda x: core.cosine_transform(x, 2, 2), ValueError, "no axis 2"),
        (lambda x: core.cosine_transform(x[:1], 1, 0), ValueError, "type 1 of 1 points"),
        (lambda x: core.cosine_transform(x.astype(int), 2, 0), TypeError, "is int64"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(np.ones((3, 4)))


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("points", [1, 2, 3, 4, 5, 8, 9, 15, 16])
def test_short_lines_on_a_gpu(library: str, dtype: Any, points: int) -> None:
    source, rng = Source(library, "cuda"), np.random.default_rng()
    close = 1e-5 if dtype in (np.float32, np.complex64) else 1e-13
    for kind, is_sine in product((1, 2, 3, 4), (False, True)):
        if kind == 1 and points == 1 and not is_sine:
            continue
        reference = scipy.fft.dst if is_sine else scipy.fft.dct
        for shape, axis in [
            ((700, points), 1),
            ((points, 700), 0),
            ((30, points, 11), 1),
            ((3, 5, points, 1, 2), 2),
            ((points,), 0),
        ]:
            # Without gaps, or with some along one dimension or all.
            steps = [int(step) for step in rng.integers(1, 3, len(shape))] if kind > 2 else [1] * 5
            base = drawn(tuple(n * step for n, step in zip(shape, steps, strict=False)), dtype)
            base = base.astype(dtype)
            index = tuple(slice(None, None, step) for step, _ in zip(steps, shape, strict=False))
            expected = 0.5 * reference(base[index], kind, axis=axis)
            found = core.cosine_transform(
                source.operand(base, index), kind, axis, is_sine=is_sine, scale=0.5
            )
            error = np.abs(read(found) - expected).max()
            assert error <= close * np.abs(expected).max(), (kind, is_sine, shape, steps)


@pytest.mark.gpu
def test_ends_are_weighed_on_a_gpu_and_long_lines_left() -> None:
    x = drawn((2, 6), np.float64)
    operand = Source("cupy", "cuda").operand(x, (...,))
    for kind, is_sine in product((1, 2, 3, 4), (False, True)):
        ends = {"before": (2.0, 3.0), "after": (0.5, 5.0), "is_sine": is_sine}
        found = core.cosine_transform(operand, kind, 1, **ends)
        np.testing.assert_allclose(
            read(found), core.cosine_transform(x, kind, 1, **ends), atol=1e-13
        )
    assert core.cosine_transform(operand.reshape(1, 12).repeat(2, 1), 2, 1) is None
    assert core.cosine_transform(operand[:, :0], 2, 0).shape == (2, 0)
    for call, error in [((operand, 5, 1), ValueError), ((operand.astype(int), 2, 1), TypeError)]:
        with pytest.raises(error, match=r"type 5|is int64"):
            core.cosine_transform(*call)
