"""Writes the documentation of a function, the same for `help()` and for the stubs."""

from __future__ import annotations

import textwrap

from gpumath_codegen import api
from gpumath_codegen.model import Function, Library, Parameter

_MEANING = {
    "i8": "8-bit integer",
    "u8": "8-bit unsigned integer",
    "i16": "16-bit integer",
    "u16": "16-bit unsigned integer",
    "i32": "32-bit integer",
    "u32": "32-bit unsigned integer",
    "i64": "64-bit integer",
    "u64": "64-bit unsigned integer",
    "ptr": "address",
    "f32": "32-bit floating point number",
    "f64": "64-bit floating point number",
    "str": "text",
    "c64": "complex number of two 32-bit floating point numbers",
    "c128": "complex number of two 64-bit floating point numbers",
}
_TYPE = {"f32": "float", "f64": "float", "str": "str", "c64": "complex", "c128": "complex"}

# Type and meaning of a parameter with this role, for any C type.
_BY_ROLE = {
    "seq": ("int or sequence of {element}", "A sequence of {elements}{length}, or its address."),
    "nested": (
        "int or sequence of sequences",
        "Sequences of {elements}{length}, or their address.",
    ),
    "texts": ("int or sequence of str or bytes", "Texts{length}, or the address of theirs."),
    "bytes": ("int or bytes-like", "Data{size}, or their address."),
    "buffer": ("int or writable bytes-like", "What C writes to: a buffer{size}, or its address."),
    "str": ("str", "Text without NUL characters."),
    "kernel_params": (
        "(values, types), array or list of int, int or None",
        """The kernel's arguments. Values and their types are two tuples or lists of one length. A
    type is a simple ctypes type, to which the value is converted (c_void_p: an int, or what
    has ``getPtr()`` or ``ptr``); the ctypes struct, union or array class of the value; or None
    for a value that is the bytes of the argument: an object with a buffer (a struct, a NumPy
    scalar), an enum member, which becomes an int, or an object whose ``getPtr()`` or ``ptr``
    is the host address of its bytes. An array of 64-bit integers, or a list, has the host
    address of each argument; an int is the address of such an array. 0 or None: no arguments.""",
    ),
    "kernel_extra": (
        "int, array or list of int, or None, optional",
        "Names and values, ended by 0: an array or list of 64-bit integers, or its address.",
    ),
    "logger": ("callable, Logger, None or int", "Gets each message; or a C function's address."),
}


# The same in one word or two, where a C type alone would not say it.
_SHORT_ROLE = {
    "seq": "a sequence",
    "nested": "a sequence of sequences",
    "texts": "texts",
    "bytes": "data",
    "buffer": "a buffer that C writes to",
    "kernel_params": "arguments, or their addresses",
    "kernel_extra": "may be left out",
    "logger": "a callable",
}


def signature(f: Function) -> str:
    """Return ``exec_c2c(plan, idata, odata, direction)``, on several lines if it is long."""
    inputs = (f"{p.name}={p.default}" if p.default else p.name for p in f.inputs)
    line = f"{f.name}({', '.join(inputs)})"
    return textwrap.fill(line, 80, break_long_words=False)


def python_type(p: Parameter) -> str:
    """Return the Python type of an output or of a single input, for the documentation."""
    return p.enum or _TYPE.get(p.kind, "int")


def docstring(lib: Library, f: Function) -> str:
    """Return the NumPy-style text, without quotes."""
    parts = [f.doc, ""]
    parts += _section("Parameters", [_input(p) for p in f.inputs])
    parts += _section("Returns", _returned(f))
    failure = f"{lib.error}\n    The call returned another status than SUCCESS."
    parts += _section("Raises", [failure] if f.returns == "status" else [])
    versions = f"{f.since} to {f.until}" if f.since != f.until else f.since
    source = f"C function ``{f.c_name}``, in {lib.release_of} {versions}. See\n{lib.docs}"
    parts += _section("Notes", [source])
    return "\n".join(parts).strip()


def hover(lib: Library, f: Function) -> str:
    """Return what editors show beside the signature: meaning, C declaration, releases, roles."""
    versions = f"{f.since} to {f.until}" if f.since != f.until else f.since
    roles: dict[str, list[str]] = {}
    for p in f.inputs:
        length = f" of at least {p.length}" if p.length else ""
        short = _SHORT_ROLE[p.role] + length if p.role in _SHORT_ROLE else p.enum
        for words in filter(None, [short, "not 0" if p.not_null else ""]):
            roles.setdefault(words, []).append(p.name)
    facts = [f"{lib.release_of} {versions}"]
    facts += [f"{', '.join(names)}: {words}" for words, names in roles.items()]
    facts += [f"returns {', '.join(p.name for p in f.outputs)}"] if f.outputs else []
    declaration = api.wrapped(f"{f.declaration};", "    ", 96)
    return f"{textwrap.fill(f.doc, 93)}\n\n{declaration}\n{textwrap.fill('; '.join(facts), 92)}."


def _section(title: str, entries: list[str]) -> list[str]:
    return [title, "-" * len(title), *entries, ""] if entries else []


def _input(p: Parameter) -> str:
    if p.kind.startswith("struct "):
        size = p.kind.split()[1].split(".")[0]
        meaning = f"``{p.c_type}``, by value: {size} bytes in a buffer, or their address."
        return f"{p.name} : int or bytes-like\n    {meaning}"
    if p.role == "in":
        null = " Not 0." if p.not_null else ""
        return f"{p.name} : {python_type(p)}\n    ``{p.c_type}``: {_MEANING[p.kind]}.{null}"
    kind, meaning = _BY_ROLE[p.role]
    length = f", at least ``{p.length}`` of them" if p.length else ""
    unit = "bytes" if p.role == "bytes" or p.kind in ("i8", "u8") else _plural(p.kind)
    size = f" of at least ``{p.length}`` {unit}" if p.length else ""
    words = {"element": _TYPE.get(p.kind, "int"), "elements": _plural(p.kind)}
    meaning = meaning.format(length=length, size=size, **words)
    return f"{p.name} : {kind.format(**words)}\n    {meaning}"


def _plural(kind: str) -> str:
    return f"{_MEANING[kind]}{'es' if kind == 'ptr' else 's'}"


def _returned(f: Function) -> list[str]:
    if f.returns in ("status", "void"):
        return [_output(p) for p in f.outputs]
    return [f"{_TYPE.get(f.returns, 'int')}\n    What C returns."]


def _output(p: Parameter) -> str:
    # Not the enum, because making its member would take longer than the call.
    return f"{p.name} : {_TYPE.get(p.kind, 'int')}\n    What C writes to ``{p.c_type}``."
