"""CUDA streams of any library, as handles."""

from __future__ import annotations

from gpumath.bindings import core, errors

__all__ = ["order_after_current", "refuse_capture"]


def order_after_current(operand: object, device_id: int, stream: object) -> None:
    """Make ``stream`` wait for the current stream of the operand's library.

    The operand may still be being written on that one.
    """
    core.order_streams(core.current_stream(operand), stream, device_id=device_id)


def refuse_capture(stream: int, device_id: int, what: str, cure: str) -> None:
    """Raise InvalidStateError if ``stream`` is being captured, which ``what`` would break."""
    if core.is_capturing(stream, device_id=device_id):
        msg = f"the stream is being captured into a graph: {what}, which cannot be captured; {cure}"
        raise errors.InvalidStateError(msg)
