"""Callbacks for any layout: they multiply each element by a factor that depends on its offset."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.callbacks import C_TYPES

FACTORS = 97


class OffsetFactors:
    """A prolog or an epilog for elements of a type, and the same in NumPy.

    ``put`` copies an array to the GPU.
    """

    def __init__(
        self,
        put: Callable[[np.ndarray], Any],
        phase: str,
        dtype: np.dtype[Any],
        language: str = "python",
    ) -> None:
        real = np.dtype(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
        self.factors = np.random.default_rng().uniform(0.5, 2, FACTORS).astype(real)
        self.memory = put(self.factors)
        code = _code(phase, dtype.name, real.name, language)
        self.callable = fft.DeviceCallable(code, data=core.TensorView(self.memory).ptr)

    def apply(self, values: np.ndarray, array: Any) -> np.ndarray:
        """Return values, which are or will be in the memory of an array, times their factors."""
        steps = core.TensorView(array).strides
        offsets = sum(n * step for n, step in zip(np.indices(values.shape), steps, strict=True))
        return values * self.factors[np.asarray(offsets) % FACTORS]


@cache
def _code(phase: str, element: str, real: str, language: str) -> bytes:
    compile_, function = {
        "prolog": (fft.compile_prolog, _prolog),
        "epilog": (fft.compile_epilog, _epilog),
    }[phase]
    return compile_(function if language == "python" else _source(phase, element), element, real)


def _prolog(data: Any, offset: int, factors: Any, _: Any) -> Any:
    return data[offset] * factors[offset % FACTORS]


def _epilog(data: Any, offset: int, value: Any, factors: Any, _: Any) -> None:
    data[offset] = value * factors[offset % FACTORS]


def _source(phase: str, element: str) -> str:
    cpp = C_TYPES[element]
    is_complex = cpp.endswith("2")
    real = cpp.removesuffix("2")
    product = f"make_{cpp}(f * x.x, f * x.y)" if is_complex else "f * x"
    factor = f"{real} f = factors[i % {FACTORS}];"
    if phase == "prolog":
        return (
            f"__device__ {cpp} prolog(const {cpp} *in, unsigned long long i, const {real} *factors,"
            f" void *)\n{{ {cpp} x = in[i]; {factor} return {product}; }}"
        )
    return (
        f"__device__ void epilog({cpp} *out, unsigned long long i, {cpp} x, const {real} *factors,"
        f" void *)\n{{ {factor} out[i] = {product}; }}"
    )
