"""Writes the docstrings of the stubs; call/documentation.rs composes those of `help()`."""

from __future__ import annotations

import textwrap

from gpumath_codegen import api
from gpumath_codegen.model import Function, Library

# What Python passes, where the C type alone would not say it.
_SHORT_ROLE = {
    "seq": "a sequence",
    "nested": "a sequence of sequences",
    "str_or_ptr": "text, or its address",
    "texts": "texts",
    "bytes": "data",
    "buffer": "a buffer that C writes to",
    "kernel_params": "arguments, or their addresses",
    "kernel_extra": "may be left out",
    "logger": "a callable",
}


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
