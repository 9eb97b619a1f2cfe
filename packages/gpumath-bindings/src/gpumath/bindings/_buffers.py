"""Wrappers of functions that fill a buffer without being told its length."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

_P = ParamSpec("_P")

__all__ = ["sized", "text_from"]


def sized(row: Callable[_P, None], size: Callable[[Any], int]) -> Callable[_P, None]:
    """Wrap ``row`` with a check that the buffer is large enough for what C writes.

    Parameters
    ----------
    row : callable
        A function of a handle and of a buffer or an address.
    size : callable
        Takes the handle and returns the number of bytes that C writes.

    Returns
    -------
    callable
        ``row`` under its public name, without the underscore. It raises ValueError for a buffer
        that is too small; an address is used as it is.
    """
    # Such as "(prog, ptx)". Importing `inspect` would take longer than all else here.
    parameters: list[str] = getattr(row, "__text_signature__", "").strip("()").split(", ")
    name = row.__name__.removeprefix("_")

    @functools.wraps(row)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        try:
            buffer = given.get(parameters[1])
            length = memoryview(buffer).nbytes  # type: ignore[arg-type]  # refused below
        except TypeError:  # an address, or an object that the row refuses
            pass
        else:
            if length < (needed := size(given.get(parameters[0]))):
                raise ValueError(
                    f"{name}() argument '{parameters[1]}' has {length} bytes, but the call writes "
                    f"{needed}; call {name}_size() first"
                )
        row(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def text_from(row: Callable[[Any, Any], None], size: Callable[[Any], int], handle: Any) -> str:
    """Return the text that C writes, or an empty text if the library refuses.

    Parameters
    ----------
    row, size : callable
        As for `sized`.
    handle : int
        The handle that both get.
    """
    try:
        buffer = bytearray(size(handle))
        if buffer:
            row(handle, buffer)
    except Exception:  # the text only explains another error, which must not be hidden
        return ""
    return buffer.partition(b"\0")[0].decode(errors="replace").strip()
