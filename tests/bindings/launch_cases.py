"""The bytes that C reads of a kernel's arguments."""

from __future__ import annotations

import struct


def packed(format_: str, *values: object) -> str:
    """Return the bytes of C values, as hexadecimal digits."""
    return struct.pack(f"@{format_}", *values).hex()
