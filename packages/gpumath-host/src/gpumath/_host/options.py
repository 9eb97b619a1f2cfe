"""The forms in which users give options: an object, a dictionary of its fields, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

__all__ = ["resolve_options"]


class _Options(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None: ...


OptionsT = TypeVar("OptionsT", bound=_Options)


@cache
def _defaults(options_class: type[Any]) -> Any:
    # Nobody else sees it, so that nobody changes it.
    return options_class()


def resolve_options(
    options_class: type[OptionsT], options: OptionsT | Mapping[str, Any] | None
) -> OptionsT:
    """Turn the user's ``options`` argument into an object of ``options_class`` that is checked."""
    if options is None:
        defaults: OptionsT = _defaults(options_class)
        return defaults
    if isinstance(options, options_class):
        # Its fields may have been assigned to since it was made.
        options.check()
        return options
    if isinstance(options, Mapping):
        known = options_class.__dataclass_fields__
        if unknown := [name for name in options if name not in known]:
            names = ", ".join(map(repr, sorted(map(str, unknown))))
            msg = f"options has no field {names}; {options_class.__name__} has {', '.join(known)}"
            raise TypeError(msg)
        return options_class(**options)
    name = options_class.__name__
    msg = (
        f"options is a {type(options).__name__}; {name}, a dictionary of its fields, or None is "
        "accepted"
    )
    raise TypeError(msg)
