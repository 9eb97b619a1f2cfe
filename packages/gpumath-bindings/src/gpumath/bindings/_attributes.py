"""The element types of attributes that C reads and writes through `void *`."""

from __future__ import annotations

from operator import index

# `typing` would take longer to import than a library's module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import IntEnum
    from typing import SupportsIndex

    import numpy

__all__ = ["dtype_getter"]


def dtype_getter(
    name: str, attributes: type[IntEnum], types: Mapping[str, str]
) -> Callable[[SupportsIndex], type[numpy.generic]]:
    """Return the function ``name``, which returns the NumPy type of an attribute.

    Parameters
    ----------
    name : str
        Name of the function.
    attributes : type of IntEnum
        The attributes.
    types : mapping of str to str
        For NumPy's name of a type the names of the attributes that have it, separated by spaces. A
        ``*`` before or behind a name stands for any text. The first type that fits counts.

    Returns
    -------
    callable
        Takes an attribute and returns a type such as ``numpy.int32``. It raises ValueError for a
        number that is no attribute, and imports NumPy.
    """

    def getter(attr: SupportsIndex) -> type[numpy.generic]:
        number = index(attr)
        try:
            member = attributes(number).name
        except ValueError:
            raise ValueError(f"{name}(): {number} is no {attributes.__name__}") from None
        import numpy

        found = next(kind for kind, names in types.items() if _fits(member, names))
        type_: type[numpy.generic] = getattr(numpy, found)
        return type_

    getter.__name__ = getter.__qualname__ = name
    getter.__doc__ = f"""Return the NumPy type of an attribute, to size the memory for its value.

    Parameters
    ----------
    attr : {attributes.__name__}
        The attribute.

    Returns
    -------
    type
        Such as ``numpy.int32``. Addresses are ``numpy.int64``.

    Raises
    ------
    ValueError
        ``attr`` is no attribute.
    """
    return getter


def _fits(member: str, names: str) -> bool:
    return any(
        member.endswith(name[1:])
        if name.startswith("*")
        else member.startswith(name[:-1])
        if name.endswith("*")
        else member == name
        for name in names.split()
    )
