"""An `out` that shares its range of memory with the operand, but no element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpumath import fft, linalg
from gpumath.bindings import core
from tests.helpers.references import assert_close, random_values

Halves = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

APART: dict[str, Halves] = {
    "columns": lambda memory: (memory[:, :32], memory[:, 32:]),
    "every other column": lambda memory: (memory[:, ::2], memory[:, 1::2]),
    "every other row": lambda memory: (memory[::2, :], memory[1::2, :]),
    "blocks": lambda memory: (memory[:12, :32], memory[4:, 32:]),
}


@pytest.mark.parametrize("halves", APART.values(), ids=list(APART))
def test_elements_that_are_apart(halves: Halves) -> None:
    memory = random_values((16, 64), np.complex128)
    operand, out = halves(memory)
    values = operand.copy()
    assert np.may_share_memory(operand, out)
    assert fft.fft(operand, axes=[1], out=out) is out
    assert_close(out, values, "C2C", (1,))
    np.testing.assert_array_equal(operand, values)
    plan = core.FftPlan(operand, [0], out=out)
    assert plan.run(operand, out) is out
    assert_close(out, values, "C2C", (0,))


def test_elements_that_are_not() -> None:
    memory = random_values((16, 64), np.complex128)
    for operand, out in (
        (memory[:, :32], memory[:, 31:63]),
        (memory[:, ::2], memory[:, :32]),
        (memory[::2], memory[8:]),
    ):
        with pytest.raises(ValueError, match="out and the operand overlap in memory"):
            fft.fft(operand, axes=[1], out=out)


def test_products() -> None:
    memory = random_values((30, 90), np.float64)
    a, b, out = memory[:, ::3], memory[:, 1::3], memory[:, 2::3]
    expected = a @ b
    np.testing.assert_allclose(linalg.matmul(a, b, out=out), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="out and b overlap in memory"):
        linalg.matmul(a, b, out=memory[:, 1::3][::-1])
