"""Functions that only kernels can call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["kernel_function"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _KernelFunction:
    """Stands for a function in kernels. Numba, which asks for its type, is imported only then."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        del arguments, keywords
        name = f"{self._function.__module__}.{self._function.__name__}"
        msg = f"{name} is called inside kernels that numba.cuda.jit compiles"
        raise RuntimeError(msg)

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device._numba import _random

        return _random.type_of(self._function)


def kernel_function(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function without a body one that kernels can call and other code cannot."""
    return _KernelFunction(function)
