"""Checks of what users pass, with messages that say what is allowed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import index
from typing import Any, TypeVar

from gpumath.device._architecture import CodeType, Dim3, as_compute_capability

__all__ = [
    *("as_block", "as_code_type", "as_count", "as_tuple"),
    *("instance_of", "is_suggested", "one_of"),
]

_MOST = 2**32 - 1  # what libmathdx's code has as a number

_T = TypeVar("_T")


def one_of(name: str, value: Any, allowed: Sequence[_T]) -> _T:
    """Return a value that must be one of a few."""
    # An array is not hashable, and compares its elements.
    if not isinstance(value, Hashable) or value not in allowed:
        msg = f"{name} is {value!r}; one of {', '.join(map(repr, allowed))} is needed"
        raise ValueError(msg)
    return allowed[allowed.index(value)]


def is_suggested(value: Any) -> bool:
    """Return whether a value is the word that leaves the choice to the library."""
    return isinstance(value, str) and value == "suggested"


def instance_of(name: str, value: Any, kind: type[_T]) -> _T:
    """Return a value that must be an object of a class."""
    if not isinstance(value, kind):
        msg = f"{name} is {value!r}; an object of {kind.__name__} is needed"
        raise TypeError(msg)
    return value


def as_count(name: str, value: Any) -> int:
    """Return a value that must be a positive integer."""
    try:
        number = index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        msg = f"{name} is {value!r}; a positive integer is needed"
        raise ValueError(msg)
    if number > _MOST:
        msg = f"{name} is {number}; at most {_MOST} is possible"
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


def as_block(values: Sequence[Any]) -> Dim3:
    """Return the threads of a block, given in one to three directions."""
    block = Dim3(*(as_count("block_dim", value) for value in values))
    if block.x * block.y * block.z > 1024 or block.z > 64:
        msg = f"block_dim is {tuple(block)}; a block has at most 1024 threads, and 64 of them in z"
        raise ValueError(msg)
    return block


def as_tuple(name: str, value: Any, length: int) -> tuple[Any, ...]:
    """Return a sequence of a given length as a tuple."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != length:
        msg = f"{name} is {value!r}; {length} values are needed"
        raise ValueError(msg)
    return tuple(value)
