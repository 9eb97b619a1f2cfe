"""Exceptions of `gpumath.fft`."""

from __future__ import annotations

from gpumath.bindings.errors import InvalidStateError

__all__ = ["InvalidFFTState"]


class InvalidFFTState(InvalidStateError):  # noqa: N818 - the name that nvmath-python gave it
    """An `FFT` object was used after free(), before plan(), or without an operand."""
