"""Exceptions of `gpumath.linalg`."""

from __future__ import annotations

from gpumath.bindings.errors import InvalidStateError

__all__ = ["InvalidMatmulState"]


class InvalidMatmulState(InvalidStateError):  # noqa: N818 - the name that nvmath-python gave it
    """A `Matmul` object was used after free(), before plan(), or without operands."""
