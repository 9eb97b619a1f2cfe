"""Users' arguments: nothing is rounded, cut off or taken for something else."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

__all__ = ["check_choice", "checked_factor", "checked_flag", "checked_integer", "integer"]


def checked_integer(
    name: str,
    value: Any,
    *,
    lowest: int = 0,
    bits: int = 31,
    wrong_type: type[Exception] = TypeError,
) -> int:
    """Return an integer, also one of NumPy, as an int.

    Raise ``wrong_type`` if it is none, which a bool is not, and ValueError unless it is at least
    ``lowest`` and below ``2**bits``.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is not None and lowest <= number < 1 << bits:
        return number
    is_too_large = number is not None and number >= lowest
    wanted = f"an integer below 2**{bits}" if is_too_large else f"an integer of at least {lowest}"
    msg = f"{name} is {value!r}; {wanted} is needed"
    raise (wrong_type if number is None else ValueError)(msg)


def checked_flag(name: str, value: Any) -> bool:
    """Return a bool, also one of NumPy; TypeError for anything else, whatever its truth value."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} is {value!r}; True or False is needed"
        raise TypeError(msg)
    return bool(value)


def checked_factor(name: str, value: Any) -> Any:
    """Return what a product is multiplied by as the core takes it; it refuses what is no number.

    A list or tuple is copied to a list. A bool counts as 0 or 1, and TypeError is raised for a
    masked element, which would be converted to some number.
    """
    # Nearly all of them.
    if value is None or type(value) is float or type(value) is int:
        return value
    if isinstance(value, list | tuple):
        return [checked_factor(name, one) for one in value]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        msg = f"{name} is a masked element of NumPy; give a number"
        raise TypeError(msg)
    return value


def check_choice(name: str, value: object, allowed: tuple[str | None, ...]) -> None:
    """Raise ValueError unless an argument is one of the words, or None, that are allowed."""
    # An array has no truth value when it is compared with a word.
    if not (isinstance(value, str | None) and value in allowed):
        *others, last = map(repr, allowed)
        msg = f"{name} is {value!r}; {', '.join(others)} and {last} are allowed"
        raise ValueError(msg)


def integer(name: str, given: int) -> int:
    """Return an argument as an int; TypeError names it if it is none."""
    try:
        return index(given)
    except TypeError:
        msg = f"{name} is {given!r}; an integer is needed"
        raise TypeError(msg) from None
