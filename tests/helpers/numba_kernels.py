"""Compiles kernels of Numba to machine code, without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpumath.bindings import nvjitlink
from gpumath.bindings.nvjitlink import InputType


def cubin_of(
    kernel: Callable[..., None], signature: tuple[Any, ...], capability: tuple[int, int] = (9, 0)
) -> bytes:
    """Compile a kernel with all that it calls, link it, and return the machine code."""
    from numba import cuda

    codes, _ = cuda.compile_all(
        kernel, signature, device=False, abi="numba", cc=capability, output="ltoir"
    )
    architecture = capability[0] * 10 + capability[1]
    options = ["-lto", f"-arch=sm_{architecture}", "-optimize-unused-variables"]
    handle = nvjitlink.create(len(options), options)
    try:
        for code in codes:
            data = code if isinstance(code, bytes) else code.data
            is_fatbin = type(code).__name__ == "Fatbin"
            kind = InputType.FATBIN if is_fatbin else InputType.LTOIR
            nvjitlink.add_data(handle, kind, data, len(data), type(code).__name__)
        nvjitlink.complete(handle)
        machine_code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, machine_code)
        return bytes(machine_code)
    finally:
        nvjitlink.destroy(handle)
