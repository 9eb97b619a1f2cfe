"""The facts file api/<library>.txt: what the headers declare, and since when."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path


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


# One parameter: its type, its name, and the brackets of an array.
_PARAMETER = re.compile(r"(.*?)(\w+)((?:\[\w*\])*)")
# A comma inside the type of a pointer to a function has a space before it.
_COMMA = re.compile(r"(?<! ), ")
_FUNCTION = re.compile(r"(\S+)-(\S+) (.*?)(\w+)(?: = (\w+))?\((.*)\)(?: in (.*))?")
_MEMBER = re.compile(r"(\w+) = (-?\d+)(?: (\S+)-(\S+))?")
_STRUCT = re.compile(r"(\w+) (\d+)\.(\d+) (\S+)-(\S+)")
_FIELD = re.compile(r"(\d+) (\S*): (.*) = (.*?)(?: x(\d+))?")


def read(path: Path) -> Api:
    """Load a facts file."""
    facts = Api([], [], [])
    kinds: dict[str, str] = {}
    releases: list[str] = []
    # Indented lines go on with the record before them.
    records = re.findall(r"^[^#\n].*(?:\n .*)*", path.read_text(), re.MULTILINE)
    for record in records:
        keyword, _, text = record.partition(" ")
        head, *lines = (line.strip() for line in text.split("\n"))
        if keyword == "releases":
            releases = head.split()
        elif keyword == "type":
            type_, _, kind = head.rpartition(" = ")
            kinds[type_] = kind
        elif keyword == "enum":
            name, since, until = re.split("[ -]", head)
            found = [_matched(_MEMBER, line) for line in lines]
            members = [Member(m, int(v), a or since, b or until) for m, v, a, b in found]
            facts.enums.append(Enum(name, members))
        elif keyword == "struct":
            name, size, alignment, since, until = _matched(_STRUCT, head)
            fields = [
                Field(field, type_, kind, int(offset), int(count or 1))
                for offset, field, type_, kind, count in (_matched(_FIELD, line) for line in lines)
            ]
            facts.structs.append(Struct(name, int(size), int(alignment), fields, since, until))
        else:
            facts.functions.append(_function(" ".join([keyword, head, *lines]), kinds, releases))
    return facts


def write(path: Path, library: str, facts: Api) -> None:
    """Store a facts file: one C declaration, member or field a line."""
    functions = facts.functions
    known = {r for f in functions for r in (f.since, f.until, *(f.exported or []))}
    releases = sorted(known, key=release)
    kinds = {(p.type, p.kind) for f in functions for p in f.parameters}
    kinds |= {(f.returns, f.return_kind) for f in functions}
    if len({type_ for type_, _ in kinds}) != len(kinds):
        raise SystemExit(f"{library}: a C type has two kinds, which the format cannot say")
    title = f"Facts about {library}, read by `extract` from the wheels in headers.lock.toml"
    out = [f"# {title}. Do not edit.", f"releases {' '.join(releases)}", ""]
    out += [f"type {type_} = {kind}" for type_, kind in sorted(kinds)]
    out += ["", *(wrapped(_line(f, releases), "    ") for f in functions)]
    for enum in facts.enums:
        spans = [f"{m.since}-{m.until}" for m in enum.members]
        usual = max(spans, key=spans.count)
        out += ["", f"enum {enum.name} {usual}"]
        for m, span in zip(enum.members, spans, strict=True):
            out.append(f"    {m.name} = {m.value}{'' if span == usual else f' {span}'}")
    for s in facts.structs:
        out += ["", f"struct {s.name} {s.size}.{s.alignment} {s.since}-{s.until}"]
        for f in s.fields:
            count = f" x{f.count}" if f.count != 1 else ""
            out.append(f"    {f.offset} {f.name}: {f.type} = {f.kind}{count}")
    path.write_text("\n".join(out) + "\n")


def release(text: str) -> list[int]:
    """Return the numbers of a release, by which releases are sorted."""
    return [int(part) for part in text.split(".")]


def prototype(function: Function) -> str:
    """Return the function's declaration in C, without its semicolon."""
    return f"{_joined(function.returns, function.name)}({_parameters(function)})"


def wrapped(text: str, indent: str, width: int = 100) -> str:
    """Return `text` in lines that break behind commas only; all but the first are indented."""
    kept = text.replace(" ", "\0").replace(",\0", ", ")
    lines = textwrap.wrap(kept, width, subsequent_indent=indent, break_long_words=False)
    return "\n".join(lines).replace("\0", " ")


def _function(text: str, kinds: dict[str, str], releases: list[str]) -> Function:
    since, until, returns, name, symbol, parameters, exported = _matched(_FUNCTION, text)
    found = [_matched(_PARAMETER, p) for p in _COMMA.split(parameters)] if parameters else []
    bare = [(type_.strip(), brackets) for type_, _, brackets in found]
    types = [f"{t} {b}" if b and t.endswith("*") else t + b for t, b in bare]
    span = releases[releases.index(since) : releases.index(until) + 1]
    listed = {"": span, "unknown": None, "none": []}
    return Function(
        name,
        symbol or name,
        returns.strip(),
        kinds[returns.strip()],
        [
            Parameter("" if p == "_" else p, type_, kinds[type_])
            for (_, p, _), type_ in zip(found, types, strict=True)
        ],
        since,
        until,
        listed.get(exported, exported.split()),
    )


def _line(f: Function, releases: list[str]) -> str:
    symbol = f" = {f.symbol}" if f.symbol != f.name else ""
    span = releases[releases.index(f.since) : releases.index(f.until) + 1]
    listed = "unknown" if f.exported is None else " ".join(f.exported) or "none"
    exported = f" in {listed}" if f.exported != span else ""
    declared = f"{_joined(f.returns, f.name)}{symbol}({_parameters(f)})"
    return f"{f.since}-{f.until} {declared}{exported}"


def _parameters(function: Function) -> str:
    return ", ".join(_joined(p.type, p.name or "_") for p in function.parameters)


def _joined(type_: str, name: str) -> str:
    # The brackets of an array come behind the name.
    bare, bracket, dimensions = type_.partition("[")
    bare = bare.rstrip()
    return f"{bare}{'' if bare.endswith('*') else ' '}{name}{bracket}{dimensions}"


def _matched(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.fullmatch(text)
    if match is None:
        raise SystemExit(f"a facts file has a line that is not one of its format: {text}")
    return tuple(group or "" for group in match.groups())
