"""Writes ``docs/coverage.md``: how much of the headers is bound."""

from __future__ import annotations

from gpumath_codegen import api
from gpumath_codegen.model import Library

_HEAD = """# Coverage

Read this page to see which CUDA functions `gpumath.bindings` has. The table counts the functions
that NVIDIA's headers declare, over all releases that were read, and the functions, enums, enum
members and structs that are bound. A function counts once for each signature that it had. Calling
a function that the installed library lacks raises `FunctionNotFoundError`, which names the releases
that have it.

| module | releases | declared | bound | skipped | in no library | enums | members | structs |
|---|---|---|---|---|---|---|---|---|
"""
_SKIPPED = """
## Skipped

| function | reason |
|---|---|
"""
_NO_LIBRARY = """
## In no library

The headers declare these functions, but no release of the library that was read exports them. They
are bound, and calling one raises `FunctionNotFoundError`.

| module | functions |
|---|---|
"""


def page(libraries: list[Library]) -> str:
    """Return the page's text."""
    rows = [_row(lib) for lib in libraries]
    columns = zip(*(numbers for _, numbers in rows), strict=True)
    total = " | ".join(str(sum(column)) for column in columns)
    lines = [f"| {text} | {' | '.join(map(str, numbers))} |\n" for text, numbers in rows]
    skipped = [
        f"| `{function}` | {reason} |\n"
        for lib in libraries
        for function, reason in sorted(lib.skipped.items())
    ]
    absent = [
        f"| `{lib.name}` | {', '.join(f'`{name}`' for name in names)} |\n"
        for lib in libraries
        if (names := _in_no_library(lib))
    ]
    return "".join(
        [_HEAD, *lines, f"| all | | {total} |\n", _SKIPPED, *skipped, _NO_LIBRARY, *absent]
    )


def _row(lib: Library) -> tuple[str, list[int]]:
    functions = lib.facts.functions
    releases = f"{lib.release_of} {_first(lib)} to {_last(lib)}"
    numbers = [
        len(functions),
        len(lib.functions),
        len(lib.skipped),
        len(_in_no_library(lib)),
        len(lib.enums),
        sum(len(enum.members) for enum in lib.enums),
        len(lib.structs),
    ]
    return f"[`{lib.name}`]({lib.docs}) | {releases}", numbers


def _in_no_library(lib: Library) -> list[str]:
    return sorted({f.name for f in lib.facts.functions if f.exported == []})


def _first(lib: Library) -> str:
    return min((f.since for f in lib.facts.functions), key=api.release)


def _last(lib: Library) -> str:
    return max((f.until for f in lib.facts.functions), key=api.release)
