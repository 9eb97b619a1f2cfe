"""The class of compiled callbacks, and the check of the arguments ``prolog`` and ``epilog``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpumath._host.fields import from_fields

__all__ = ["DeviceCallable", "resolve_callback"]


@dataclass
class DeviceCallable:
    """A compiled device function for the prolog or epilog of a transform, and its data.

    Wherever a `DeviceCallable` is accepted, a dictionary of its fields is accepted too.

    Parameters
    ----------
    ltoir : bytes or int
        Code from `compile_prolog` or `compile_epilog`, or the address of such code in host memory.
        The code is read when the transform is planned.
    size : int, optional
        Length of the code in bytes. It is needed if ``ltoir`` is an address.
    data : int, optional
        Address of device memory that the function gets as ``user_info``. The memory must be valid
        whenever the transform runs. By default the function gets a null pointer.

    Raises
    ------
    ValueError
        A field has a value that is not allowed, or ``size`` is missing.

    Examples
    --------
    >>> from gpumath import fft
    >>> code = fft.compile_prolog(
    ...     "__device__ float prolog(const float *x, unsigned long long i, const float *gain, "
    ...     "void *) { return *gain * x[i]; }",
    ...     "float32",
    ...     "float32",
    ...     compute_capability="90",
    ... )
    >>> prolog = fft.DeviceCallable(code, data=0x7F0000000000)
    >>> prolog.size == len(code)
    True
    """

    ltoir: bytes | int | None = None
    size: int | None = None
    data: int | None = None

    def __post_init__(self) -> None:
        """Check the fields, and set the size of code that is given as bytes."""
        for name, value in (("size", self.size), ("data", self.data)):
            if value is not None and (not _is_int(value) or value < 0):
                msg = f"DeviceCallable: {name} is {value!r}; a non-negative integer is needed"
                raise ValueError(msg)
        if self.ltoir is None:
            return
        if isinstance(self.ltoir, bytes):
            if self.size not in (None, len(self.ltoir)):
                msg = (
                    f"DeviceCallable: size is {self.size}, and ltoir has {len(self.ltoir)} bytes; "
                    "leave size out"
                )
                raise ValueError(msg)
            self.size = len(self.ltoir)
        elif not _is_int(self.ltoir):
            msg = (
                f"DeviceCallable: ltoir is a {type(self.ltoir).__name__}; bytes, or the address of "
                "the code as an int, are needed"
            )
            raise ValueError(msg)
        elif self.size is None:
            msg = "DeviceCallable: ltoir is an address; pass size, the length of the code, too"
            raise ValueError(msg)


def resolve_callback(name: str, callback: object) -> DeviceCallable | None:
    """Check a user's ``prolog`` or ``epilog`` argument; return it with code, or None."""
    if callback is None:
        return None
    if isinstance(callback, Mapping):
        callback = from_fields(DeviceCallable, name, callback)
    if not isinstance(callback, DeviceCallable):
        msg = (
            f"{name} is a {type(callback).__name__}; a DeviceCallable, a dictionary of its fields, "
            "or None is accepted. Compile a function first: see compile_prolog and compile_epilog"
        )
        raise TypeError(msg)
    if callback.ltoir is None:
        msg = f"{name} has no code: its ltoir is None"
        raise ValueError(msg)
    return callback


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
