"""Checks of what users pass, with messages that say what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

from gpumath.device._architecture import CodeType, as_compute_capability

__all__ = ["as_code_type", "as_count", "as_tuple", "one_of"]

_T = TypeVar("_T")


def one_of(name: str, value: Any, allowed: Sequence[_T]) -> _T:
    """Return a value that must be one of a few."""
    if value not in allowed:
        msg = f"{name} is {value!r}; one of {', '.join(map(repr, allowed))} is needed"
        raise ValueError(msg)
    return allowed[allowed.index(value)]


def as_count(name: str, value: Any) -> int:
    """Return a value that must be a positive integer."""
    try:
        number = index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        msg = f"{name} is {value!r}; a positive integer is needed"
        raise ValueError(msg)
    return number


def as_code_type(value: Any) -> CodeType:
    """Return the kind of code that a user asks for, written as a `CodeType` or as a tuple."""
    if not isinstance(value, Sequence) or len(value) != 2 or value[0] != "lto":
        msg = f"code_type is {value!r}; CodeType('lto', ComputeCapability(...)) is needed"
        raise ValueError(msg)
    capability = value[1]
    if isinstance(capability, Sequence):
        capability = tuple(capability)
    return CodeType("lto", as_compute_capability(capability, "code_type.cc"))


def as_tuple(name: str, value: Any, length: int) -> tuple[Any, ...]:
    """Return a sequence of a given length as a tuple."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != length:
        msg = f"{name} is {value!r}; {length} values are needed"
        raise ValueError(msg)
    return tuple(value)
