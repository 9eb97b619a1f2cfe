"""The examples in the docstrings of `gpumath.device` run as they stand."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any

import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx
from gpumath.device import random, random_helpers
from tests.helpers.callbacks import require_numba


def require_libmathdx() -> None:
    try:
        mathdx.get_version_ex()
    except errors.LibraryNotFoundError:
        pytest.skip("libmathdx is not installed")


@pytest.mark.parametrize(
    "name",
    [
        *("_architecture", "_callbacks", "_pipelines", "_precompile", "_types"),
        *("_fft", "_functions", "_matmul", "_matmul_types", "_tensors"),
        *("_solver", "_solver_classes", "_solver_code", "_orthogonal"),
        *("random", "_random_states", "random_helpers"),
    ],
)
def test_examples(name: str) -> None:
    require_numba()
    require_libmathdx()
    outcome = doctest.testmod(importlib.import_module(f"gpumath.device.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("module", [device, random, random_helpers])
def test_every_public_name_has_a_docstring(module: Any) -> None:
    assert [name for name in module.__all__ if not inspect.getdoc(getattr(module, name))] == []
