"""Checks the workspace of an operation against the user's limit on device memory."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING

from gpumath.bindings import core
from gpumath.bindings.errors import OutOfMemoryError

if TYPE_CHECKING:
    from gpumath._host.operation import Plan

__all__ = ["check_memory_limit", "memory_limit_bytes"]

# The exponent has at most two digits, because the value is computed exactly, with all its digits.
_TEXT = re.compile(
    r"\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?\s*(%|[kmgt]?b|[kmgt]ib)\s*", re.IGNORECASE
)
_UNITS: dict[str, int] = {
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", 1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", 1)},
}


def memory_limit_bytes(limit: object, total: int) -> int:
    """Turn a user's memory limit into bytes.

    Parameters
    ----------
    limit : int, float or str
        An int above 0, or a whole float above 1, is a number of bytes. A float above 0 and at most
        1 is a fraction of the device's memory. A string is a positive number and a unit: ``%`` of
        the device's memory; ``B``, ``kB``, ``MB``, ``GB``, ``TB`` (powers of 1000); or ``KiB``,
        ``MiB``, ``GiB``, ``TiB`` (powers of 1024). Units may be in upper or lower case.
    total : int
        Memory of the device in bytes.

    Returns
    -------
    int
        The limit in bytes, rounded down.

    Raises
    ------
    ValueError
        The limit is not positive, is above 100 %, is less than a byte, or is a string of another
        form.
    TypeError
        The limit is neither a number nor a string.

    Examples
    --------
    >>> from gpumath._host.memory_limit import memory_limit_bytes
    >>> memory_limit_bytes("80%", total=1000)
    800
    >>> memory_limit_bytes("0.5 GiB", total=1000)
    536870912
    """
    if isinstance(limit, str):
        return _from_text(limit, total)
    if isinstance(limit, bool):
        raise _refusal(limit)
    if isinstance(limit, Integral):
        size = int(limit)
        if size < 1:
            raise _refusal(limit)
        return size
    if isinstance(limit, Real):
        return _from_real(float(limit), total)
    msg = f"memory_limit is a {type(limit).__name__}; {_FORMS}"
    raise TypeError(msg)


def check_memory_limit(limit: object, plan: Plan) -> None:
    """Raise OutOfMemoryError if the workspace of a plan on a GPU exceeds the user's limit."""
    if limit is None or plan.device_id is None:
        return
    size, device_id = plan.workspace_size, plan.device_id
    total = core.Device(device_id).total_memory
    allowed = memory_limit_bytes(limit, total)
    if size > allowed:
        msg = (
            f"a workspace of {size} bytes is needed, and memory_limit={limit!r} allows {allowed} "
            f"of the {total} bytes of CUDA device {device_id}; raise the limit, or compute in "
            "smaller parts"
        )
        raise OutOfMemoryError(msg)


def _from_real(value: float, total: int) -> int:
    if 0 < value <= 1:
        return math.floor(Fraction(value) * total)
    # A whole float such as 2e9 is a number of bytes, but 1.5 was meant as a fraction.
    if value > 1 and value.is_integer():
        return int(value)
    raise _refusal(value)


def _from_text(text: str, total: int) -> int:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _refusal(text)
    number, exponent, unit = match.groups(default="")
    value = Fraction(number + exponent)
    if unit == "%":
        if not 0 < value <= 100:
            raise _refusal(text)
        return value * total // 100
    size = math.floor(value * _UNITS[unit.lower()])
    if size < 1:
        raise _refusal(text)
    return size


_FORMS = (
    "allowed are a number of bytes above 0 (2000000000, 2e9), a fraction of the device's memory "
    "above 0 and at most 1 (0.8), and a string of a positive number and %, B, kB, MB, GB, TB, KiB, "
    "MiB, GiB or TiB ('80%', '0.5 GiB')"
)


def _refusal(limit: object) -> ValueError:
    return ValueError(f"memory_limit is {limit!r}; {_FORMS}")
