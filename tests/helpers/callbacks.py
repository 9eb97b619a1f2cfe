"""Callbacks of cuFFT in tests: compilers that may be absent, and a caller that links them."""

from __future__ import annotations

import struct
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import errors, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from tests.helpers.compiler import compiled, linker

ELEMENTS = ("float32", "float64", "complex64", "complex128")
C_TYPES = {"float32": "float", "float64": "double", "complex64": "float2", "complex128": "double2"}
_KINDS = {
    "float32": "Real",
    "float64": "DoubleReal",
    "complex64": "Complex",
    "complex128": "DoubleComplex",
}
# By a C++ compiler: c++filt gives back the signatures of cuFFT's header.
SYMBOLS = {
    ("load", "float32"): "_Z24cufftJITCallbackLoadRealPvyS_S_",
    ("load", "float64"): "_Z30cufftJITCallbackLoadDoubleRealPvyS_S_",
    ("load", "complex64"): "_Z27cufftJITCallbackLoadComplexPvyS_S_",
    ("load", "complex128"): "_Z33cufftJITCallbackLoadDoubleComplexPvyS_S_",
    ("store", "float32"): "_Z25cufftJITCallbackStoreRealPvyfS_S_",
    ("store", "float64"): "_Z31cufftJITCallbackStoreDoubleRealPvydS_S_",
    ("store", "complex64"): "_Z28cufftJITCallbackStoreComplexPvy6float2S_S_",
    ("store", "complex128"): "_Z34cufftJITCallbackStoreDoubleComplexPvy7double2S_S_",
}


def require_numba() -> None:
    """Skip unless Numba's CUDA target and NVVM are there."""
    if find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed")
    if version("numba-cuda").startswith("0.30.") and not hasattr(np, "row_stack"):
        pytest.skip(f"numba-cuda 0.30 does not work with NumPy {np.__version__}")
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        load_nvidia_dynamic_lib("nvvm")
    except DynamicLibNotFoundError:
        pytest.skip("NVVM is not installed")


def require_compilers() -> None:
    """Skip unless NVRTC and nvJitLink are there."""
    try:
        nvrtc.version()
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")


def linked_with_caller(element: str, architecture: int, **pieces: bytes) -> str:
    """Link a prolog (``load``) and an epilog (``store``) as cuFFT does; return the PTX of it all.

    The caller declares them as cuFFT's header does, so their symbols and types have to be right.
    """
    cpp, kind = C_TYPES[element], _KINDS[element]
    caller = f"""
__device__ {cpp} cufftJITCallbackLoad{kind}(void *, unsigned long long, void *, void *);
__device__ void cufftJITCallbackStore{kind}(void *, unsigned long long, {cpp}, void *, void *);
extern "C" __global__ void transform(void *in, void *out, void *info)
{{
    unsigned long long i = threadIdx.x;
    cufftJITCallbackStore{kind}(out, i, cufftJITCallbackLoad{kind}(in, i, info, 0), info, 0);
}}
"""
    code = {"caller": compiled(caller, f"-arch=compute_{architecture}", "-dlto", kind="ltoir")}
    with linker(f"-arch=sm_{architecture}", "-lto", "-ptx") as handle:
        for name, piece in (code | pieces).items():
            nvjitlink.add_data(handle, InputType.LTOIR, piece, len(piece), name)
        nvjitlink.complete(handle)
        text = bytearray(nvjitlink.get_linked_ptx_size(handle))
        nvjitlink.get_linked_ptx(handle, text)
    return text.rstrip(b"\0").decode()


def literal(value: Any, element: str) -> str:
    """Return how PTX writes a real constant of an element type's precision."""
    if element in ("float32", "complex64"):
        return "0f" + struct.pack(">f", value).hex().upper()
    return "0d" + struct.pack(">d", value).hex().upper()
