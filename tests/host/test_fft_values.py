"""The functions give the right numbers for all shapes, axes, strides and element types."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.references import (
    assert_close,
    hermitian_values,
    random_values,
    relative_error,
    tolerance,
)

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

AXES_OF_THREE = [axes for count in (1, 2, 3) for axes in permutations(range(3), count)]


@pytest.mark.parametrize("axes", AXES_OF_THREE)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_transform_along_any_axes(space: Space, axes: tuple[int, ...], dtype: type) -> None:
    values = random_values((6, 5, 8), dtype)
    operand = space.array(values)
    result = fft.fft(operand, axes=axes, execution=space.execution)
    space.assert_is_alike(result)
    assert_close(space.numpy(result), values, "C2C", axes)
    result = fft.ifft(operand, axes=axes, execution=space.execution)
    assert_close(space.numpy(result), values, "C2C", axes, inverse=True)
    np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


@pytest.mark.parametrize("axes", AXES_OF_THREE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_transform_along_any_axes(space: Space, axes: tuple[int, ...], dtype: type) -> None:
    values = random_values((6, 5, 8), dtype)
    operand = space.array(values)
    result = fft.rfft(operand, axes=axes, execution=space.execution)
    space.assert_is_alike(result)
    assert_close(space.numpy(result), values, "R2C", axes)
    np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("axes", AXES_OF_THREE)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transform_to_real_along_any_axes(
    space: Space, axes: tuple[int, ...], dtype: type, odd: bool
) -> None:
    values = hermitian_values((6, 5, 8), axes, dtype, odd)
    operand = space.array(values)
    result = fft.irfft(
        operand,
        axes=axes,
        execution=space.execution,
        options={"last_axis_parity": "odd" if odd else "even"},
    )
    space.assert_is_alike(result)
    assert_close(space.numpy(result), values, "C2R", axes, odd=odd)
    np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


@pytest.mark.parametrize("columns", [1, 3, 4, 17, 66, 131])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_any_number_of_columns(space: Space, columns: int, dtype: type) -> None:
    for points in (7, 20, 300):
        shape = (points, columns)
        values = random_values(shape, dtype)
        result = fft.fft(space.array(values), axes=[0], execution=space.execution)
        assert_close(space.numpy(result), values, "C2C", (0,))
        values = random_values(shape, np.dtype(dtype).char.lower())
        result = fft.rfft(space.array(values), axes=[0], execution=space.execution)
        assert_close(space.numpy(result), values, "R2C", (0,))
        values = hermitian_values(shape, (0,), dtype, False)
        result = fft.irfft(space.array(values), axes=[0], execution=space.execution)
        assert_close(space.numpy(result), values, "C2R", (0,))


def test_axes_default_to_all_and_count_from_the_end(space: Space) -> None:
    values = random_values((3, 4, 5), np.complex128)
    operand = space.array(values)
    result = fft.fft(operand, execution=space.execution)
    assert_close(space.numpy(result), values, "C2C", (0, 1, 2))
    result = fft.fft(operand, axes=[-1, -3], execution=space.execution)
    assert_close(space.numpy(result), values, "C2C", (0, 2))


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 3), (0, 2, 3), (2,), (3, 0, 1, 2)])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
@pytest.mark.parametrize("precision", [4, 8])
def test_four_dimensions(space: Space, axes: tuple[int, ...], kind: str, precision: int) -> None:
    """cuFFT has plans for up to three axes, so that four take two."""
    shape, dtype = (3, 4, 2, 5), np.dtype(f"c{2 * precision}")
    if kind == "C2R":
        values = hermitian_values(shape, axes, dtype)
    else:
        values = random_values(shape, np.dtype(f"f{precision}") if kind == "R2C" else dtype)
    function = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[kind]
    operand = space.array(values)
    for _ in range(2):
        result = function(operand, axes=axes, execution=space.execution)
        assert_close(space.numpy(result), values, kind, axes)


def test_five_dimensions(space: Space) -> None:
    values = random_values((2, 3, 4, 3, 5), np.complex128)
    result = fft.fft(space.array(values), execution=space.execution)
    assert_close(space.numpy(result), values, "C2C", (0, 1, 2, 3, 4))


STRIDED = {
    "transposed": lambda a: a.transpose(2, 0, 1),
    "every second": lambda a: a[:, ::2, ::2],
    "a window": lambda a: a[1:-1, 2:5, 1:],
    "backwards": lambda a: a[::-1, :, ::-2],
    "broadcast batch": lambda a: np.broadcast_to(a[:1], a.shape),
    "broadcast line": lambda a: np.broadcast_to(a[..., :1], a.shape),
    "one wide axis": lambda a: a[:, :1, :],
    "Fortran order": np.asfortranarray,
}


@pytest.mark.parametrize("stride", STRIDED)
@pytest.mark.parametrize("axes", [(0,), (2,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_strided_operands(space: Space, stride: str, axes: tuple[int, ...], kind: str) -> None:
    dtype = np.float64 if kind == "R2C" else np.complex128
    values = STRIDED[stride](random_values((6, 7, 8), dtype))
    if kind == "C2R":
        # Only a Hermitian operand has a defined result; it goes where the strided one was.
        half = hermitian_values(values.shape, axes, dtype)
        if 0 in values.strides:
            pytest.skip("a broadcast array is not Hermitian")
        values = values.copy() if not values.flags.writeable else values
        values[...] = half
    function = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[kind]
    result = space.numpy(function(space.array(values), axes=axes, execution=space.execution))
    assert_close(result, values, kind, axes)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_batches(space: Space, dtype: type) -> None:
    for shape, axes in [((1000, 3), (1,)), ((3, 1000), (0,)), ((1, 17), (1,)), ((65, 2, 16), (2,))]:
        values = random_values(shape, dtype)
        result = fft.fft(space.array(values), axes=axes, execution=space.execution)
        assert_close(space.numpy(result), values, "C2C", axes)


def test_an_empty_batch_gives_an_empty_result(space: Space) -> None:
    result = fft.fft(
        space.array(np.empty((0, 8), np.complex64)), axes=[1], execution=space.execution
    )
    space.assert_is_alike(result)
    assert space.numpy(result).shape == (0, 8)
    half = fft.rfft(space.array(np.empty((3, 0, 8))), axes=[2], execution=space.execution)
    assert space.numpy(half).shape == (3, 0, 5)
    assert space.numpy(half).dtype == np.complex128


def test_one_element(space: Space) -> None:
    values = random_values((1,), np.complex128)
    for function in (fft.fft, fft.ifft):
        result = function(space.array(values), execution=space.execution)
        np.testing.assert_array_equal(space.numpy(result), values)
    real = random_values((1, 1), np.float32)
    result = fft.rfft(space.array(real), execution=space.execution)
    np.testing.assert_array_equal(space.numpy(result), real.astype(np.complex64))
    result = fft.irfft(
        space.array(values), execution=space.execution, options={"last_axis_parity": "odd"}
    )
    np.testing.assert_array_equal(space.numpy(result), values.real)


def layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    view = core.TensorView(array)
    return view.shape, view.strides


@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_result_layouts(space: Space, kind: str) -> None:
    function = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}[kind]
    dtype = np.float64 if kind == "R2C" else np.complex128
    shape, axes = (4, 5, 6), (1, 0)
    packed = hermitian_values(shape, axes, dtype) if kind == "C2R" else random_values(shape, dtype)
    # Axis 0 is the fastest in memory, then axis 2, which is not transformed, then axis 1.
    values = np.ascontiguousarray(packed.transpose(1, 2, 0)).transpose(2, 0, 1)
    result_extents = {"C2C": (4, 5, 6), "R2C": (3, 5, 6), "C2R": (6, 5, 6)}[kind]
    n0, n1, n2 = result_extents
    for name, strides in (("optimized", (1, n0, n0 * n1)), ("natural", (1, n0 * n2, n0))):
        result = function(
            space.array(values),
            axes=axes,
            execution=space.execution,
            options={"result_layout": name},
        )
        assert layout(result) == (result_extents, strides), name
        assert_close(space.numpy(result), values, kind, axes)


def test_a_round_trip_gives_the_operand_times_the_number_of_points(space: Space) -> None:
    values = random_values((12, 35), np.float64)
    half = fft.rfft(space.array(values), execution=space.execution)
    back = fft.irfft(half, execution=space.execution, options={"last_axis_parity": "odd"})
    error = relative_error(space.numpy(back) / values.size, values)
    assert error <= 2 * tolerance(np.float64, values.size)


def test_the_number_of_threads_does_not_change_the_result(cpu_space: Space) -> None:
    values = random_values((40, 60), np.complex128)
    operand = cpu_space.array(values)
    results = [
        cpu_space.numpy(fft.fft(operand, execution=fft.ExecutionCPU(num_threads=threads)))
        for threads in (1, 2, 5)
    ]
    assert_close(results[0], values, "C2C", (0, 1))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_concurrent_calls_do_not_disturb_each_other(space: Space) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def task(seed: int) -> None:
        shape = (4, 100 + seed % 3)
        values = random_values(shape, np.complex128)
        for _ in range(10):
            result = fft.fft(space.array(values), axes=[1], execution=space.execution)
            assert_close(space.numpy(result), values, "C2C", (1,))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(task, range(18)))
