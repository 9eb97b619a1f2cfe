"""CUDA streams of any library, as handles."""

from __future__ import annotations

from typing import Self

from gpumath.bindings import core, errors

__all__ = ["BorrowedStream", "refuse_capture", "resolve_stream", "stream_handle"]


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


def resolve_stream(operand: object, device_id: int, stream: object) -> int:
    """Handle of ``stream``, or of the current stream of the operand's library if it is None.

    Another stream than the current one waits for that, where the operand may have been made.
    """
    current = core.current_stream(operand)
    if stream is None:
        return current
    handle = stream_handle(stream)
    if handle != current:
        core.order_streams(current, handle, device_id=device_id)
    return handle


def refuse_capture(stream: int, device_id: int, what: str, cure: str) -> None:
    """Raise InvalidStateError if ``stream`` is captured into a graph: ``what`` would break it."""
    if core.is_capturing(stream, device_id=device_id):
        msg = f"the stream is being captured into a graph: {what}, which cannot be captured; {cure}"
        raise errors.InvalidStateError(msg)


def stream_handle(stream: object) -> int:
    """Handle of a user's stream, together with the object that owns the stream, if there is one."""
    handle = core.stream_handle(stream)
    return stream if isinstance(stream, int) else BorrowedStream(handle, stream)
