"""The examples in the docstrings of `gpumath.device` run as they stand."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from gpumath import device
from tests.helpers.callbacks import require_numba


def test_examples() -> None:
    require_numba()
    outcome = doctest.testmod(importlib.import_module("gpumath.device._callbacks"))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("name", device.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(device, name))
