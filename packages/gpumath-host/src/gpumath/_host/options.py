"""Options of operations: those that all of them have, and the forms in which users give them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

from gpumath._host.fields import from_fields
from gpumath._host.memory_limit import memory_limit_bytes
from gpumath._host.memory_managers import (
    BaseCUDAMemoryManager,
    BaseCUDAMemoryManagerAsync,
    check_allocator,
)

__all__ = ["Logger", "OperationOptions", "resolve_options"]

Logger: TypeAlias = logging.Logger | logging.LoggerAdapter[Any]


class OperationOptions:
    """Base of the options of an operation, which are a dataclass with these fields and its own.

    The dataclass declares the fields itself, because their order is a part of its constructor.
    """

    logger: Logger | None
    blocking: Literal["auto", True]
    allocator: BaseCUDAMemoryManager | BaseCUDAMemoryManagerAsync | None
    memory_limit: int | float | str | None

    def __post_init__(self) -> None:
        """Refuse values that are not allowed."""
        self.check()

    def check(self) -> None:
        """Raise ValueError or TypeError if a field has a value that is not allowed."""
        self._check_choice("blocking", ("auto", True))
        logger: object = self.logger
        if logger is not None and not isinstance(logger, logging.Logger | logging.LoggerAdapter):
            msg = (
                f"logger is a {type(logger).__name__}; a logging.Logger, a logging.LoggerAdapter "
                "or None is needed"
            )
            raise TypeError(msg)
        check_allocator(self.allocator)
        if self.memory_limit is not None:
            memory_limit_bytes(self.memory_limit, total=0)

    def _check_choice(self, field: str, allowed: tuple[object, ...]) -> None:
        value = getattr(self, field)
        for choice in allowed:
            if value is choice:
                return
        # By type too, since 1 == True.
        if not any(type(value) is type(choice) and value == choice for choice in allowed):
            choices = ", ".join(map(repr, allowed))
            msg = f"{type(self).__name__}: {field} is {value!r}; allowed are {choices}"
            raise ValueError(msg)


OptionsT = TypeVar("OptionsT", bound=OperationOptions)


@cache
def _defaults(options_class: type[Any]) -> Any:
    # Nobody else sees it, so that nobody changes it.
    return options_class()


def resolve_options(
    options_class: type[OptionsT], options: OptionsT | Mapping[str, Any] | None
) -> OptionsT:
    """Turn the user's ``options`` argument into an object of ``options_class`` that is checked."""
    if options is None:
        # Classes are hashable, but mypy does not know that.
        key: Any = options_class
        defaults: OptionsT = _defaults(key)
        return defaults
    if isinstance(options, options_class):
        # Its fields may have been assigned to since it was made.
        options.check()
        return options
    if isinstance(options, Mapping):
        return from_fields(options_class, "options", options)
    name = options_class.__name__
    msg = (
        f"options is a {type(options).__name__}; {name}, a dictionary of its fields, or None is "
        "accepted"
    )
    raise TypeError(msg)
