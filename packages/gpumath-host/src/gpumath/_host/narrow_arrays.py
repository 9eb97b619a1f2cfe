"""What helper functions for narrow element types ask of NumPy, with ml_dtypes, and of PyTorch."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gpumath._host.array_libraries import library_of
from gpumath.bindings import core

__all__ = ["NarrowArrays", "narrow_arrays_of"]


class NarrowArrays(Protocol):
    """Operations on arrays whose element types are given by name. One instance a library."""

    def dtype(self, array: Any) -> str:
        """Return the name of the element type."""

    def convert(self, array: Any, dtype: str) -> Any:
        """Convert the values to another element type."""

    def reinterpret(self, array: Any, dtype: str) -> Any:
        """View the same bits as another element type of the same size."""

    def repeat(self, array: Any, count: int, axis: int) -> Any:
        """Repeat each element along an axis."""

    def filled(self, like: Any, count: int, value: int, stream: Any) -> Any:
        """Make a vector of uint8 with one value, on the device of ``like``."""

    def moved(self, array: Any, device: str) -> Any:
        """Return the array on a device, ``'cpu'`` or ``'cuda'``."""


class _Numpy:
    def dtype(self, array: Any) -> str:
        return str(array.dtype.name)

    def convert(self, array: Any, dtype: str) -> Any:
        with np.errstate(over="ignore", under="ignore"):  # as PyTorch
            return array.astype(_numpy_dtype(dtype))

    def reinterpret(self, array: Any, dtype: str) -> Any:
        return array.view(_numpy_dtype(dtype))

    def repeat(self, array: Any, count: int, axis: int) -> Any:
        return np.repeat(array, count, axis)

    def filled(
        self,
        like: Any,  # noqa: ARG002 - host memory is one
        count: int,
        value: int,
        stream: Any,  # noqa: ARG002 - there is no stream in host memory
    ) -> Any:
        return np.full(count, value, np.uint8)

    def moved(self, array: Any, device: str) -> Any:
        if device == "cuda":
            msg = "device is 'cuda', but the scales are a NumPy array; pass a PyTorch tensor"
            raise ValueError(msg)
        return array


class _Torch:
    def dtype(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def convert(self, array: Any, dtype: str) -> Any:
        import torch

        return array.to(getattr(torch, dtype))

    def reinterpret(self, array: Any, dtype: str) -> Any:
        import torch

        return array.view(getattr(torch, dtype))

    def repeat(self, array: Any, count: int, axis: int) -> Any:
        import torch

        if array.element_size() > 1:
            return torch.repeat_interleave(array, count, axis)
        # PyTorch repeats no narrow floats, but their bits.
        bits = torch.repeat_interleave(array.view(torch.uint8), count, axis)
        return bits.view(array.dtype)

    def filled(self, like: Any, count: int, value: int, stream: Any) -> Any:
        import torch

        if stream is None or not like.is_cuda:
            return torch.full((count,), value, dtype=torch.uint8, device=like.device)
        chosen = torch.cuda.ExternalStream(core.stream_handle(stream), device=like.device)
        with torch.cuda.stream(chosen):
            return torch.full((count,), value, dtype=torch.uint8, device=like.device)

    def moved(self, array: Any, device: str) -> Any:
        return array.to(device)


def narrow_arrays_of(array: object) -> NarrowArrays:
    """Find the operations for a NumPy array or a PyTorch tensor; ValueError for another class."""
    name = library_of(array).name
    if name not in _LIBRARIES:
        msg = (
            f"a {type(array).__module__}.{type(array).__qualname__} was passed, but these "
            "functions take PyTorch tensors and NumPy arrays; convert it, for example by "
            "torch.from_dlpack()"
        )
        raise ValueError(msg)
    return _LIBRARIES[name]


_LIBRARIES: dict[str, NarrowArrays] = {"numpy": _Numpy(), "torch": _Torch()}


def _numpy_dtype(name: str) -> Any:
    if not name.startswith("float8"):
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
