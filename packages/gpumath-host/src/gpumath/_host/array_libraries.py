"""The array libraries whose operands are understood, found by the operand's class.

`gpumath.bindings.core` looks into operands and allocates results. What an operation asks of a
library beyond that is here.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

__all__ = ["ArrayLibrary", "library_of"]


class ArrayLibrary(Protocol):
    """What the host library asks of an array library. It has one instance a library."""

    name: str

    def check_dtype(self, dtype: str) -> None:
        """Raise ValueError unless the library has the element type ``dtype``."""

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        """Copy ``operand`` with its elements moved along ``axes``, around the ends."""

    def resolve(self, operand: Any) -> Any:
        """Copy ``operand`` if its elements are still to be computed; else return it itself."""

    def scalar(self, operand: Any, value: float) -> Any:
        """Make an array of one float32 element in the memory of ``operand``."""


class _Numpy:
    name = "numpy"

    def check_dtype(self, dtype: str) -> None:
        _refuse_complex32("NumPy", dtype, "a PyTorch tensor on a GPU")

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        return np.roll(operand, shifts, axes)

    def resolve(self, operand: Any) -> Any:
        return operand

    def scalar(self, operand: Any, value: float) -> Any:  # noqa: ARG002 - host memory is one
        return np.full(1, value, np.float32)


class _Cupy:
    name = "cupy"

    def check_dtype(self, dtype: str) -> None:
        _refuse_complex32("CuPy", dtype, "a PyTorch tensor")

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        import cupy

        with operand.device:
            return cupy.roll(operand, shifts, axes)

    def resolve(self, operand: Any) -> Any:
        return operand

    def scalar(self, operand: Any, value: float) -> Any:
        import cupy

        with operand.device:
            return cupy.full(1, value, cupy.float32)


class _Torch:
    name = "torch"

    def check_dtype(self, dtype: str) -> None:
        """PyTorch has every element type."""

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        import torch

        return torch.roll(operand, shifts, axes)

    def resolve(self, operand: Any) -> Any:
        """Conjugate and negate what is marked to be; only a mark tells it from the original."""
        return operand.resolve_conj().resolve_neg()

    def scalar(self, operand: Any, value: float) -> Any:
        import torch

        return torch.full((1,), value, dtype=torch.float32, device=operand.device)


class _Other:
    """JAX, Numba, gpumath itself, and whatever else lends its memory.

    Results are gpumath arrays, which every library can take over without a copy.
    """

    name = "any other array class"

    def check_dtype(self, dtype: str) -> None:
        """Accept all: gpumath arrays have every element type."""

    def roll(
        self,
        operand: Any,
        shifts: tuple[int, ...],  # noqa: ARG002 - there is no function to call
        axes: tuple[int, ...],  # noqa: ARG002 - there is no function to call
    ) -> Any:
        msg = (
            f"the operand is a {type(operand).__name__}, but a NumPy array, a CuPy array or a "
            "PyTorch tensor is needed, for example from cupy.asarray()"
        )
        raise ValueError(msg)

    def resolve(self, operand: Any) -> Any:
        return operand

    def scalar(self, operand: Any, value: float) -> Any:
        msg = (
            f"{value!r} is a number, but a is a {type(operand).__name__}, for which an array of "
            "one float32 element is needed"
        )
        raise ValueError(msg)


def library_of(operand: object, name: str = "the operand") -> ArrayLibrary:
    """Find the array library of an operand; ValueError, which names it, if there is none."""
    library = _BY_CLASS.get(type(operand))
    return library if library is not None else _find(operand, name)


# Filled by the first operand of each class.
_BY_CLASS: dict[type, ArrayLibrary] = {}

# Programs that make classes all the time must not fill the memory with them.
_MAX_REMEMBERED = 256

# By the top-level module and the name of the class that arrays are instances of.
_LIBRARIES: dict[tuple[str, str], ArrayLibrary] = {
    ("numpy", "ndarray"): _Numpy(),
    ("cupy", "ndarray"): _Cupy(),
    ("torch", "Tensor"): _Torch(),
}
_OTHER = _Other()

# What other classes lend their memory by, beside the buffer protocol.
_PROTOCOLS = ("__dlpack_c_exchange_api__", "__dlpack__", "__cuda_array_interface__")


def _find(operand: object, name: str) -> ArrayLibrary:
    operand_class = type(operand)
    for base in operand_class.__mro__:
        key = base.__module__.partition(".")[0], base.__name__
        if key == ("numpy", "MaskedArray"):
            msg = (
                f"{name} is a NumPy masked array, and its mask would be ignored; pass its "
                "filled(value) or its data"
            )
            raise ValueError(msg)
        if key == ("numpy", "generic"):
            break
        if key in _LIBRARIES:
            return _remember(operand_class, _LIBRARIES[key])
    else:
        if any(hasattr(operand_class, name) for name in _PROTOCOLS) or _has_buffer(operand):
            return _remember(operand_class, _OTHER)
    described = f"{operand_class.__module__}.{operand_class.__qualname__}"
    msg = (
        f"{name} is a {described}; a NumPy array, a CuPy array, a PyTorch tensor, or an object "
        "with __dlpack__, __cuda_array_interface__ or the buffer protocol is accepted. Convert it "
        "first, for example with numpy.asarray()"
    )
    raise ValueError(msg)


def _remember(operand_class: type, library: ArrayLibrary) -> ArrayLibrary:
    if len(_BY_CLASS) < _MAX_REMEMBERED:
        _BY_CLASS[operand_class] = library
    return library


def _has_buffer(operand: object) -> bool:
    try:
        memoryview(operand)  # type: ignore[arg-type]  # whether it can be is the question
    except TypeError:
        return False
    except BufferError:
        pass
    return True


def _refuse_complex32(library: str, dtype: str, instead: str) -> None:
    if dtype == "complex32":
        msg = (
            f"{library} has no element type for a {dtype} result; convert the operand to single "
            f"or double precision, or use {instead}"
        )
        raise ValueError(msg)
