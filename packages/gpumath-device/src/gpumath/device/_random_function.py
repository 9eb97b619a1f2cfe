"""Makes the functions of `gpumath.device.random`, which only kernels can call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gpumath.device._kernel_functions import only_in_kernels

__all__ = ["KernelFunction", "kernel_function"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class KernelFunction:
    """Stands for a function in kernels. Numba, which asks for its type, is imported only then."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        del arguments, keywords
        only_in_kernels(f"{self._function.__module__}.{self._function.__name__}")

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device._numba import _random

        return _random.type_of(self._function)


def kernel_function(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function without a body one that kernels can call and other code cannot."""
    return KernelFunction(function)
