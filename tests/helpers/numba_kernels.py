"""Compiles kernels of Numba to machine code, without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpumath.bindings.nvjitlink import InputType
from tests.helpers.compiler import linked


def cubin_of(
    kernel: Callable[..., None], signature: tuple[Any, ...], capability: tuple[int, int] = (9, 0)
) -> bytes:
    """Compile a kernel with all that it calls, link it, and return the machine code."""
    from numba import cuda

    codes, _ = cuda.compile_all(
        kernel, signature, device=False, abi="numba", cc=capability, output="ltoir"
    )
    inputs = []
    for code in codes:
        kind = InputType.FATBIN if type(code).__name__ == "Fatbin" else InputType.LTOIR
        inputs.append((kind, code if isinstance(code, bytes) else code.data))
    architecture = f"-arch=sm_{capability[0]}{capability[1]}"
    return linked(inputs, "-lto", architecture, "-optimize-unused-variables")
