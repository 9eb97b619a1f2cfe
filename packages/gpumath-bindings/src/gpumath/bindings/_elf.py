"""Looks for damage in ELF files, which ends the process inside a linker."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["MAGIC", "damage"]

MAGIC = b"\x7fELF"
_64_BIT_LITTLE_ENDIAN = b"\x02\x01"

# Of the header: the type, offsets of both tables, then sizes and numbers of their entries.
_HEADER = struct.Struct("<16xH14xQQ4xHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_RELOCATION_WITH_ADDEND = struct.Struct("<QQq")

# The type of files that are to be linked.
_TO_BE_LINKED = 1
# Types of sections.
_SYMBOLS, _TEXTS, _RELOCATIONS_WITH_ADDEND, _NO_BITS, _RELOCATIONS = 2, 3, 4, 8, 9
_ENTRIES = {
    _SYMBOLS: _SYMBOL,
    _RELOCATIONS_WITH_ADDEND: _RELOCATION_WITH_ADDEND,
    _RELOCATIONS: _RELOCATION,
}
# Indices of sections from here on have a meaning of their own.
_RESERVED = 0xFF00


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def damage(data: bytes) -> str | None:
    """Return what is damaged in an ELF file of 64 bits; None if nothing is found.

    Tables, sections, names, symbols and relocations have to be within each other's bounds.

    Parameters
    ----------
    data : bytes
        The file. What is no such file has no damage.
    """
    if data[:6] != MAGIC + _64_BIT_LITTLE_ENDIAN:
        return "it is cut off" if data[:4] == MAGIC and len(data) < 6 else None
    if len(data) < _HEADER.size:
        return "it is cut off"
    kind, segments_at, sections_at, header_size, *tables = _HEADER.unpack_from(data)
    segment_size, segment_count, section_size, section_count, names_index = tables
    if header_size != _HEADER.size:
        return "its header has a wrong size"
    for offset, size, count, entry in (
        (segments_at, segment_size, segment_count, _SEGMENT),
        (sections_at, section_size, section_count, _SECTION),
    ):
        if count and size != entry.size:
            return "its tables have a wrong size"
        if count and offset + size * count > len(data):
            return "it is cut off"
    for at in range(segment_count):
        _, _, offset, _, _, size, *_ = _SEGMENT.unpack_from(data, segments_at + at * _SEGMENT.size)
        if offset + size > len(data):
            return "it is cut off"
    sections = [
        _Section(*_SECTION.unpack_from(data, sections_at + at * _SECTION.size))
        for at in range(section_count)
    ]
    if sections and names_index >= section_count:
        return "its section names are missing"
    names = sections[names_index] if sections else None
    for section in sections:
        found = _in_section(data, section, sections, names) or _in_entries(
            data, section, sections, kind == _TO_BE_LINKED
        )
        if found:
            return found
    return None


def _in_section(
    data: bytes, section: _Section, sections: list[_Section], names: _Section | None
) -> str | None:
    if section.type != _NO_BITS and section.offset + section.size > len(data):
        return "it is cut off"
    if section.name and names and section.name >= names.size:
        return "a section has no name"
    if section.link >= len(sections):
        return "a section belongs to one that is missing"
    if section.alignment & (section.alignment - 1):
        return "a section has a wrong alignment"
    if section.type == _TEXTS:
        last = data[section.offset : section.offset + section.size][-1:]
        return "its texts have no end" if last not in (b"", b"\0") else None
    return None


def _in_entries(
    data: bytes, section: _Section, sections: list[_Section], is_to_be_linked: bool
) -> str | None:
    entry = _ENTRIES.get(section.type)
    if entry is None:
        return None
    if section.entry_size != entry.size or section.size % entry.size:
        return "a table has a wrong size"
    content = entry.iter_unpack(data[section.offset : section.offset + section.size])
    linked = sections[section.link]
    if section.type == _SYMBOLS:
        return _in_symbols(content, linked, sections)
    if section.info >= len(sections):
        return "relocations of a section that is missing"
    symbols, target = linked.size // _SYMBOL.size, sections[section.info]
    for offset, info, *_ in content:
        # In other files, offsets are addresses, and a symbol may be absent.
        if is_to_be_linked and (offset >= target.size or info >> 32 >= symbols):
            return "a relocation is outside of its section"
    return None


def _in_symbols(
    content: Iterator[tuple[int, ...]], texts: _Section, sections: list[_Section]
) -> str | None:
    if texts.type != _TEXTS:
        return "its symbols have no names"
    for name, _, _, index, _, _ in content:
        if name >= max(texts.size, 1):
            return "a symbol has no name"
        if len(sections) <= index < _RESERVED:
            return "a symbol is in a section that is missing"
    return None
