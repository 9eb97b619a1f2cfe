"""The examples in the docstrings run as they stand, on a machine without a GPU too."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from gpumath import fft, linalg, memory
from gpumath.linalg import advanced

MODULES = [
    "gpumath.fft",
    "gpumath.fft._callbacks",
    "gpumath.fft._convolution",
    "gpumath.fft._dct",
    "gpumath.fft._device_callable",
    "gpumath.fft._fft_class",
    "gpumath.fft._estimate",
    "gpumath.fft._frequencies",
    "gpumath.fft._functions",
    "gpumath.fft._key",
    "gpumath.fft._nd_functions",
    "gpumath.fft._options",
    "gpumath.fft._scipy_backend",
    "gpumath.linalg",
    "gpumath.linalg._matmul",
    "gpumath.linalg._matmul_class",
    "gpumath.linalg._options",
    "gpumath.linalg._qualifiers",
    "gpumath.linalg.advanced",
    "gpumath.linalg.advanced._algorithm",
    "gpumath.linalg.advanced._matmul",
    "gpumath.linalg.advanced._matmul_class",
    "gpumath.linalg.advanced._numerical",
    "gpumath.linalg.advanced._options",
    "gpumath.linalg.advanced.tuning",
    "gpumath._host.execution",
    "gpumath.compat.nvmath",
    "gpumath.compat.nvmath._facade",
    "gpumath._host.memory_limit",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def public_objects() -> list[tuple[str, object]]:
    return [
        (f"{module.__name__}.{name}", getattr(module, name))
        for module in (fft, linalg, advanced, memory)
        for name in module.__all__
    ]


@pytest.mark.parametrize(("name", "value"), public_objects())
def test_every_public_name_has_a_docstring(name: str, value: object) -> None:
    assert inspect.getdoc(value)
    if inspect.isclass(value) and value.__module__.startswith("gpumath.fft"):
        for method_name, method in vars(value).items():
            if inspect.isfunction(method) and not method_name.startswith("_"):
                assert inspect.getdoc(method), f"{name}.{method_name}"
