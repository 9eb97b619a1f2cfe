"""Operands that SciPy's functions take and a transform does not: lists, integers, half precision.

SciPy computes lists and integers in float64, and half precision in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gpumath._host.array_libraries import library_of
from gpumath.bindings import core

__all__ = [
    "as_array",
    "as_complex",
    "as_floating",
    "as_operand",
    "conjugated",
    "dtype_of",
    "empty",
    "is_c_contiguous",
    "placed",
    "reversed_along",
    "to_dtype",
    "windows",
]

# NumPy takes microseconds to say the name of a type.
_NAMES = {np.dtype(name): name for name in ("float32", "float64", "complex64", "complex128")}
# What becomes a NumPy array.
_PLAIN = (int, float, complex, list, tuple, np.generic)
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_FLOATING = (*_COMPLEX, *_COMPLEX.values())
_WIDER = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}


def as_array(operand: Any) -> Any:
    """Return a NumPy array, CuPy array or PyTorch tensor as it is, all else as a NumPy array."""
    if isinstance(operand, np.ndarray):
        return np.asarray(operand)
    name = ""
    if not isinstance(operand, _PLAIN):
        with suppress(ValueError):  # of what only numpy.asarray() knows
            name = library_of(operand).name
    if name == "torch":
        # Views that are conjugated or negated when they are read.
        return operand.resolve_conj().resolve_neg()
    return operand if name == "cupy" else np.asarray(operand)


def as_operand(operand: Any) -> Any:
    """Like `as_array`, but arrays of other libraries are refused, not copied to NumPy."""
    if type(operand) is np.ndarray:
        return operand
    if not isinstance(operand, _PLAIN):
        library = library_of(operand)
        if library.name not in ("numpy", "cupy", "torch"):
            msg = (
                f"the operand is a {type(operand).__name__}, but a NumPy array, a CuPy array or a "
                "PyTorch tensor is needed, for example from cupy.asarray()"
            )
            raise ValueError(msg)
    return as_array(operand)


def dtype_of(array: Any) -> str:
    """Return the name of an element type, without its byte order."""
    if isinstance(array, np.ndarray):
        name = _NAMES.get(array.dtype)
        return name if name is not None else str(array.dtype.name)
    return core.TensorView(array).dtype


def to_dtype(array: Any, dtype: str) -> Any:
    """Convert an array to another element type of the native byte order, if it has another."""
    if library_of(array).name == "torch":
        import torch

        return array.to(getattr(torch, dtype))
    return array.astype(dtype, copy=False)


def as_floating(array: Any) -> Any:
    """Convert an array to an element type that is transformed, if it has none.

    Raises TypeError for those beyond double precision.
    """
    dtype = dtype_of(array)
    if dtype in _FLOATING:
        return placed(array) if isinstance(array, np.ndarray) else array
    if dtype.startswith(("float", "complex")) and dtype not in _WIDER:
        msg = (
            f"the operand is {dtype}, which is not transformed; convert it to float64 or complex128"
        )
        raise TypeError(msg)
    return to_dtype(array, _WIDER.get(dtype, "float64"))


def placed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array of another byte order, or whose elements are not aligned."""
    flags, size = array.flags, array.dtype.itemsize
    is_placed = flags.c_contiguous or not any(stride % size for stride in array.strides)
    if array.dtype.isnative and flags.aligned and is_placed:
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


def reversed_along(array: Any, axes: tuple[int, ...]) -> Any:
    """Return an array with its elements in reverse order along ``axes``."""
    if library_of(array).name == "torch":
        return array.flip(axes)
    turns = (slice(None, None, -1 if i in axes else 1) for i in range(array.ndim))
    return array[(*turns, ...)]  # an array also where there are no dimensions


def empty(like: Any, shape: Sequence[int], dtype: str) -> Any:
    """Allocate an array of the library and on the device of ``like``."""
    name = library_of(like).name
    if name == "torch":
        import torch

        return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=like.device)
    if name == "cupy":
        import cupy

        with like.device:
            return cupy.empty(tuple(shape), dtype)
    return np.empty(shape, dtype)


def is_c_contiguous(array: Any) -> bool:
    """Whether the elements follow each other in memory, with the last axis the fastest."""
    if library_of(array).name == "torch":
        return bool(array.is_contiguous())
    return bool(array.flags.c_contiguous)


def windows(array: Any, axis: int, length: int, step: int) -> Any:
    """Return a view of the pieces of an array along one axis, every ``step`` elements.

    The axis counts the pieces, and a new last axis the elements of each.
    """
    name = library_of(array).name
    if name == "torch":
        return array.unfold(axis, length, step)
    count = (array.shape[axis] - length) // step + 1
    stride = array.strides[axis]
    shape, strides = [*array.shape, length], [*array.strides, stride]
    shape[axis], strides[axis] = count, step * stride
    if name == "cupy":
        from cupy.lib.stride_tricks import as_strided

        return as_strided(array, shape, strides)
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)
