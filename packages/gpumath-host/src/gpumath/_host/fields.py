"""Dictionaries of fields, which users may give instead of an object of options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

__all__ = ["from_fields"]

T = TypeVar("T")


def from_fields(
    cls: type[T], name: str, fields: Mapping[Any, Any], error: type[Exception] = TypeError
) -> T:
    """Make an object of the dataclass ``cls`` for the argument ``name``.

    Raise ``error`` if a field is not one of the class.
    """
    known = cls.__dataclass_fields__  # type: ignore[attr-defined]  # every dataclass has it
    if unknown := [field for field in fields if field not in known]:
        names = ", ".join(map(repr, sorted(map(str, unknown))))
        msg = f"{name} has no field {names}; {cls.__name__} has {', '.join(known)}"
        raise error(msg)
    return cls(**fields)
