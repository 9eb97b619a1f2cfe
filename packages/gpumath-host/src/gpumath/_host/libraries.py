"""The array libraries whose operands are understood, found by the operand's class.

Looking into operands, and allocating results, is the business of `gpumath.bindings.core`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol

__all__ = ["ArrayLibrary", "library_of"]


class ArrayLibrary(Protocol):
    """What the host library asks of an array library. It has one instance a library."""

    name: str

    def check_dtype(self, dtype: str) -> None:
        """Raise ValueError unless the library has the element type ``dtype``."""

    def write(self, operand: Any, values: Any) -> None:
        """Set the elements of ``operand`` to those of ``values``, a NumPy array of the same shape.

        The operand is in device memory. The values of complex32, a type that NumPy lacks, come as
        integers of the same size.
        """

    def roll(self, operand: Any, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        """Copy ``operand`` with its elements moved along ``axes``, around the ends."""

    def on_stream(self, stream: int, device_id: int) -> AbstractContextManager[object]:
        """While it lasts, the library allocates and works on ``stream`` of the device."""

    def workspace(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        """Address and owner of ``size`` bytes from the library's pool, for work on ``stream``."""

    def trim(self) -> None:
        """Give the free memory of the library's pool back to the device."""


def library_of(operand: object) -> ArrayLibrary:
    """Find the array library of an operand; ValueError if there is none."""
    library = _BY_CLASS.get(type(operand))
    return library if library is not None else _find(operand)


# Filled by the first operand of each class, so that an array library is imported only when an
# operand shows that it is there.
_BY_CLASS: dict[type, ArrayLibrary] = {}

# Programs that make classes all the time must not fill the memory with them.
_MAX_REMEMBERED = 256

_ADAPTERS = {
    ("numpy", "ndarray"): "gpumath._host.numpy_arrays",
    ("cupy", "ndarray"): "gpumath._host.cupy_arrays",
    ("torch", "Tensor"): "gpumath._host.torch_tensors",
}


# What other classes lend their memory by, beside the buffer protocol.
_PROTOCOLS = ("__dlpack_c_exchange_api__", "__dlpack__", "__cuda_array_interface__")


def _find(operand: object) -> ArrayLibrary:
    operand_class = type(operand)
    for base in operand_class.__mro__:
        key = base.__module__.partition(".")[0], base.__name__
        if key == ("numpy", "MaskedArray"):
            msg = (
                "the operand is a NumPy masked array, and a transform would ignore its mask; "
                "pass operand.filled(value) or operand.data"
            )
            raise ValueError(msg)
        if key == ("numpy", "generic"):
            break
        if key in _ADAPTERS:
            return _remember(operand_class, _ADAPTERS[key])
    else:
        if any(hasattr(operand_class, name) for name in _PROTOCOLS) or _has_buffer(operand):
            return _remember(operand_class, "gpumath._host.other_arrays")
    name = f"{operand_class.__module__}.{operand_class.__qualname__}"
    msg = (
        f"the operand is a {name}; a NumPy array, a CuPy array, a PyTorch tensor, or an object "
        "with __dlpack__, __cuda_array_interface__ or the buffer protocol is accepted. Convert it "
        "first, for example with numpy.asarray()"
    )
    raise ValueError(msg)


def _remember(operand_class: type, module: str) -> ArrayLibrary:
    library: ArrayLibrary = import_module(module).LIBRARY
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
