"""The facts file api/<library>.toml: what the headers declare, and since when."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Parameter:
    """A C parameter: its name, its type as written, and its type as the ABI sees it.

    ``kind`` is a scalar (``i32`` … ``f64``), ``enum NAME``, ``handle`` (a typedef that hides a
    pointer to a struct), ``struct SIZE.ALIGNMENT``, ``c64``, ``c128``, ``void``, or one of these
    with ``*`` and ``[]`` behind it and ``const`` before it. A pointer to a struct is ``struct*``.
    ``callback`` is a pointer to a function.
    """

    name: str
    type: str
    kind: str


@dataclass
class Function:
    """A C function over all releases that were read."""

    name: str
    symbol: str
    returns: str
    return_kind: str
    parameters: list[Parameter]
    since: str = ""
    until: str = ""
    # Releases whose library exports it; None where no library was at hand.
    exported: list[str] | None = None


@dataclass
class Member:
    """A member of a C enum."""

    name: str
    value: int
    since: str
    until: str


@dataclass
class Enum:
    """A C enum over all releases that were read."""

    name: str
    members: list[Member]


@dataclass
class Field:
    """A field of a C struct.

    ``kind`` is as in `Parameter`, or ``struct NAME`` for a nested struct or union that has a type
    name. A union without one is ``u8`` bytes, of the type ``union``, and its members follow; their
    names are paths (``res.array.hArray``), and so is its own (``waitValue.``, where it lends its
    members to ``waitValue``). ``count`` is the number of elements of an array, else 1.
    """

    name: str
    type: str
    kind: str
    offset: int
    count: int


@dataclass
class Struct:
    """One layout of a C struct: size and alignment in bytes, and its fields."""

    name: str
    size: int
    alignment: int
    fields: list[Field]
    since: str = ""
    until: str = ""


@dataclass
class Api:
    """One facts file."""

    functions: list[Function]
    enums: list[Enum]
    structs: list[Struct]


def read(path: Path) -> Api:
    """Load a facts file."""
    data: dict[str, Any] = tomllib.loads(path.read_text())
    functions = [
        Function(**{**row, "parameters": [Parameter(*p) for p in row["parameters"]]})
        for row in data.get("function", [])
    ]
    enums = [
        Enum(row["name"], [Member(*member) for member in row["members"]])
        for row in data.get("enum", [])
    ]
    structs = [
        Struct(**{**row, "fields": [Field(*item) for item in row["fields"]]})
        for row in data.get("struct", [])
    ]
    return Api(functions, enums, structs)


def write(path: Path, library: str, facts: Api) -> None:
    """Store a facts file, one parameter or member a line."""
    title = f"Facts about {library}, read by `extract` from the wheels in headers.lock.toml"
    out = [f"# {title}. Do not edit.\n"]
    for function in facts.functions:
        out += ["\n[[function]]\n"]
        for key in ("name", "symbol", "returns", "return_kind", "since", "until", "exported"):
            if (value := getattr(function, key)) is not None:
                out.append(f"{key} = {_text(value)}\n")
        out.append(_rows("parameters", [[p.name, p.type, p.kind] for p in function.parameters]))
    for enum in facts.enums:
        out += ["\n[[enum]]\n", f"name = {_text(enum.name)}\n"]
        out.append(_rows("members", [[m.name, m.value, m.since, m.until] for m in enum.members]))
    for struct in facts.structs:
        out += ["\n[[struct]]\n"]
        for key in ("name", "size", "alignment", "since", "until"):
            out.append(f"{key} = {_text(getattr(struct, key))}\n")
        fields = [[f.name, f.type, f.kind, f.offset, f.count] for f in struct.fields]
        out.append(_rows("fields", fields))
    path.write_text("".join(out))


def _rows(key: str, rows: list[list[Any]]) -> str:
    lines = "".join(f"    {_text(row)},\n" for row in rows)
    return f"{key} = [\n{lines}]\n" if rows else f"{key} = []\n"


def _text(value: Any) -> str:
    # For the strings, integers and lists used here, JSON is TOML.
    return json.dumps(value)
