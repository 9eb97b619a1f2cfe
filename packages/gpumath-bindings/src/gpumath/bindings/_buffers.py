"""Buffers that C fills without being told their length: the length is compared before the call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

_P = ParamSpec("_P")

__all__ = ["sized", "text_from"]


def sized(row: Callable[_P, None], size: Callable[[Any], int]) -> Callable[_P, None]:
    """Return ``row`` with a check that the buffer holds what C writes.

    Parameters
    ----------
    row : callable
        Takes a handle, and a buffer or an address.
    size : callable
        Returns the number of bytes that C writes for this handle.

    Returns
    -------
    callable
        ``row`` under its public name. It raises ValueError for a buffer that is too small; an
        address is used as it is.
    """
    # "(prog, ptx)"; the module inspect takes longer to import than all else here.
    parameters: list[str] = getattr(row, "__text_signature__", "").strip("()").split(", ")
    name = row.__name__.removeprefix("_")

    @functools.wraps(row)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        try:
            length = memoryview(given.get(parameters[1])).nbytes  # type: ignore[arg-type]  # refused
        except TypeError:  # an address, or what the row refuses
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
    """Return what C writes as text, or an empty text if the library refuses to tell.

    Parameters
    ----------
    row, size : callable
        As for `sized`.
    handle : int
        What is asked.
    """
    try:
        buffer = bytearray(size(handle))
        if buffer:
            row(handle, buffer)
    except Exception:  # the text only explains another error, which is not to be hidden
        return ""
    return buffer.partition(b"\0")[0].decode(errors="replace").strip()
