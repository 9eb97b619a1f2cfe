"""inplace=True writes the operand's own elements, all of them and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

INPLACE = {"inplace": True}


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_operand_is_the_result(space: Space, axes: tuple[int, ...], dtype: type) -> None:
    values = random_values((9, 16), dtype)
    operand = space.array(values)
    result = fft.fft(operand, axes=axes, execution=space.execution, options=INPLACE)
    assert result is operand
    assert_close(space.numpy(operand), values, "C2C", axes)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_the_gaps_of_a_strided_operand_are_left_alone(space: Space, axes: tuple[int, ...]) -> None:
    base = random_values((6, 10, 14), np.complex128)
    window = (slice(1, 5), slice(None, None, 2), slice(2, 12, 3))
    whole = space.array(base)
    operand = whole[window]
    result = fft.ifft(operand, axes=axes, execution=space.execution, options=INPLACE)
    assert result is operand
    after = space.numpy(whole)
    assert_close(after[window], base[window], "C2C", axes, inverse=True)
    expected = base.copy()
    expected[window] = after[window]
    np.testing.assert_array_equal(after, expected, "elements of others have changed")


def test_a_transposed_operand(space: Space) -> None:
    base = random_values((5, 8), np.complex64)
    operand = space.array(base.T)
    fft.fft(operand, axes=[1], execution=space.execution, options=INPLACE)
    assert_close(space.numpy(operand), base.T, "C2C", (1,))


def test_an_operand_with_a_batch_backwards(space: Space) -> None:
    values = random_values((5, 8), np.complex64)[::-1]
    operand = space.array(values)
    fft.fft(operand, axes=[1], execution=space.execution, options=INPLACE)
    assert_close(space.numpy(operand), values, "C2C", (1,))


def test_a_backwards_operand(space: Space) -> None:
    values = random_values((5, 8), np.complex64)[::-1, ::-2]
    operand = space.array(values)
    fft.fft(operand, execution=space.execution, options=INPLACE)
    assert_close(space.numpy(operand), values, "C2C", (0, 1))


def test_execute_twice_goes_forward_and_back(space: Space) -> None:
    values = random_values((3, 20), np.complex128)
    operand = space.array(values)
    with fft.FFT(operand, axes=[1], options=INPLACE, execution=space.execution) as transform:
        transform.plan()
        assert transform.execute() is operand
        assert transform.execute(direction="inverse") is operand
    np.testing.assert_allclose(space.numpy(operand) / 20, values, rtol=0, atol=1e-14)


def test_overlapping_elements_are_refused(space: Space) -> None:
    operand = space.array(np.broadcast_to(random_values((8,), np.complex128), (3, 8)))
    with pytest.raises(ValueError, match="overlap"):
        fft.fft(operand, axes=[1], execution=space.execution, options=INPLACE)


@pytest.mark.parametrize("function", [fft.rfft, fft.irfft])
def test_only_complex_to_complex_works_in_place(space: Space, function: object) -> None:
    dtype = np.float64 if function is fft.rfft else np.complex128
    operand = space.array(random_values((8,), dtype))
    with pytest.raises(ValueError, match="inplace=True works for C2C only"):
        function(operand, execution=space.execution, options=INPLACE)


def test_a_read_only_operand_is_refused() -> None:
    values = random_values((8,), np.complex128)
    before = values.copy()
    values.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        fft.fft(values, options=INPLACE)
    np.testing.assert_array_equal(values, before)
