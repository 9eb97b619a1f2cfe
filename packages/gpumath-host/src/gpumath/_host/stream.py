"""CUDA streams of any library, as handles."""

from __future__ import annotations

from typing import Any, Self

from gpumath._host.libraries import ArrayLibrary

__all__ = ["BorrowedStream", "resolve_stream", "stream_handle"]


class BorrowedStream(int):
    """A stream handle, in the forms that memory managers ask for.

    It keeps the object that owns the stream: memory that goes back in the order of a stream must
    not outlive it.
    """

    owner: object

    def __new__(cls, handle: int, owner: object = None) -> Self:
        stream = super().__new__(cls, handle)
        stream.owner = owner
        return stream

    @property
    def handle(self) -> int:
        """The ``cudaStream_t``."""
        return int(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of the protocol, and the handle."""
        return 0, int(self)


def resolve_stream(library: ArrayLibrary, device_id: int, stream: object) -> int:
    """Handle of ``stream``, or of the library's current stream if it is None."""
    return library.current_stream(device_id) if stream is None else stream_handle(stream)


def stream_handle(stream: object) -> int:
    """Handle of a stream: an int, or an object of CuPy, PyTorch or with ``__cuda_stream__``."""
    handle: Any = None
    if isinstance(stream, int) and not isinstance(stream, bool):
        handle = stream
    elif (protocol := getattr(stream, "__cuda_stream__", None)) is not None:
        handle = protocol()[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):
            if (handle := getattr(stream, name, None)) is not None:
                break
    if handle is None:
        msg = (
            f"stream is a {type(stream).__name__}; an int (cudaStream_t), a stream of CuPy or "
            "PyTorch, or an object with __cuda_stream__() is accepted"
        )
        raise TypeError(msg)
    number = int(handle)
    if number < 0:
        msg = f"stream is {number}; a cudaStream_t is an address, so it cannot be negative"
        raise ValueError(msg)
    return number if number is stream else BorrowedStream(number, stream)
