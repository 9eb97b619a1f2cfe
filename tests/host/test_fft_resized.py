"""Lengths that are asked for, against NumPy's own functions of the same arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

from gpumath import fft
from tests.helpers.references import random_values


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
@pytest.mark.parametrize("s", [(-1, -1), (4, -1), (-1, 5), (-1, 8), (3, 3)])
def test_lengths_of_minus_one(name: str, s: tuple[int, int]) -> None:
    """-1 is the operand's own length, along the last axis of a C2R transform too."""
    values = random_values((6, 5), np.float64 if name.startswith("r") else np.complex128)
    result = getattr(fft, name)(values, s=s, axes=(0, 1))
    expected = getattr(np.fft, name)(values, s=s, axes=(0, 1))
    assert result.shape == expected.shape == getattr(scipy.fft, name)(values, s=s).shape
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("lengths", [{"n": 5}, {"n": 12}, {"s": (5,)}])
def test_inplace_changes_no_length(lengths: dict[str, Any]) -> None:
    values = random_values((2, 8), np.complex128)
    before = values.copy()
    with pytest.raises(ValueError, match="inplace=True overwrites the operand, of shape"):
        fft.fft(values, axes=[1], options={"inplace": True}, **lengths)
    np.testing.assert_array_equal(values, before)
    same = fft.fft(values, axes=[1], n=8, options={"inplace": True})
    assert same is values
