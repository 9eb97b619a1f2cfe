"""Operands that SciPy's functions take and a transform does not: lists, integers, half precision.

SciPy computes lists and integers in float64, and half precision in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath._host.array_libraries import library_of
from gpumath.bindings import core

__all__ = ["as_array", "as_complex", "as_floating", "conjugated", "dtype_of", "to_dtype"]

_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_FLOATING = (*_COMPLEX, *_COMPLEX.values())
_WIDER = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}


def as_array(operand: Any) -> Any:
    """Return a NumPy array, CuPy array or PyTorch tensor as it is, all else as a NumPy array."""
    if isinstance(operand, np.ndarray):
        return np.asarray(operand)
    name = ""
    if not isinstance(operand, int | float | complex | list | tuple | np.generic):
        name = library_of(operand).name
    if name == "torch":
        # Views that are conjugated or negated when they are read.
        return operand.resolve_conj().resolve_neg()
    return operand if name == "cupy" else np.asarray(operand)


def dtype_of(array: Any) -> str:
    """Return the name of an element type, without its byte order."""
    if isinstance(array, np.ndarray):
        return str(array.dtype.name)
    return core.TensorView(array).dtype


def to_dtype(array: Any, dtype: str) -> Any:
    """Convert an array to another element type of the native byte order."""
    if library_of(array).name == "torch":
        import torch

        return array.to(getattr(torch, dtype))
    return array.astype(dtype)


def as_floating(array: Any) -> Any:
    """Convert an array to an element type that is transformed, if it has none.

    Raises TypeError for those beyond double precision.
    """
    dtype = dtype_of(array)
    if dtype in _FLOATING:
        return _placed(array) if isinstance(array, np.ndarray) else array
    if dtype.startswith(("float", "complex")) and dtype not in _WIDER:
        msg = (
            f"the operand is {dtype}, which is not transformed; convert it to float64 or complex128"
        )
        raise TypeError(msg)
    return to_dtype(array, _WIDER.get(dtype, "float64"))


def _placed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array of another byte order, or whose elements are not aligned."""
    size = array.dtype.itemsize
    if array.dtype.isnative and array.flags.aligned and not any(s % size for s in array.strides):
        return array
    return array.astype(array.dtype.newbyteorder("="))


def as_complex(array: Any) -> Any:
    """Convert an array of a type that is transformed to the complex type of its precision."""
    dtype = dtype_of(array)
    return to_dtype(array, _COMPLEX[dtype]) if dtype in _COMPLEX else array


def conjugated(array: Any) -> Any:
    """Conjugate into a new array."""
    if library_of(array).name == "torch":
        return array.conj().resolve_conj()
    return array.conj()
