"""Dictionaries of fields, which users may give instead of an object of options."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

__all__ = ["from_fields"]

T = TypeVar("T")


@cache
def _field_names(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, which `dataclasses.fields` lists slowly."""
    return tuple(field.name for field in dataclasses.fields(cls))


def from_fields(cls: type[T], name: str, fields: Mapping[Any, Any]) -> T:
    """Make an object of the dataclass ``cls`` for the argument ``name``.

    Raise TypeError if a field is not one of the class.
    """
    # Classes are hashable, but mypy does not know that.
    key: Any = cls
    known = _field_names(key)
    if unknown := [field for field in fields if field not in known]:
        names = ", ".join(map(repr, sorted(map(str, unknown))))
        msg = f"{name} has no field {names}; {cls.__name__} has {', '.join(known)}"
        raise TypeError(msg)
    return cls(**fields)
