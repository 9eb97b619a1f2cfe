"""Tells a compiler of kernels of device functions, if a program has imported that compiler."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["register_loaded_compilers"]


def register_loaded_compilers() -> None:
    """Register descriptors with numba-cuda-mlir, if it is imported.

    It has no attribute like ``_numba_type_``, by which Numba asks for types when it needs them.
    """
    if "numba_cuda_mlir" in sys.modules and find_spec("cffi"):
        from gpumath.device import _numba_mlir as _numba_mlir
