"""Subclasses of numpy.ndarray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpumath import fft
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from pathlib import Path


class Named(np.ndarray):
    """A subclass defined outside NumPy."""


def test_a_subclass_is_read_as_an_array_and_gives_a_plain_one() -> None:
    values = random_values((4, 6), np.complex128)
    for operand in (values.view(Named), values.view(np.matrix)):
        result = fft.fft(operand, axes=[1])
        assert type(result) is np.ndarray
        assert_close(result, values, "C2C", (1,))


def test_a_read_only_memory_map(tmp_path: Path) -> None:
    values = random_values((4, 6), np.complex128)
    path = tmp_path / "values"
    values.tofile(path)
    operand = np.memmap(path, values.dtype, "r", shape=values.shape)
    assert_close(fft.fft(operand, axes=[1]), values, "C2C", (1,))


def test_a_read_only_array() -> None:
    values = random_values((8,), np.float64)
    values.flags.writeable = False
    assert_close(fft.rfft(values), values, "R2C", (0,))
