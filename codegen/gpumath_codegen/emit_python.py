"""The Python side: ``_generated/<library>.py`` (enums) and ``_core/<library>.pyi`` (stubs)."""

from __future__ import annotations

import json
import textwrap

from gpumath_codegen import text
from gpumath_codegen.model import Enum, Function, Library, Parameter

_SUPPORTS = ("SupportsFloat", "SupportsIndex", "SupportsInt")
_INT = "SupportsIndex | SupportsInt"
_FLOATS = "_Floats: TypeAlias = _Int | Sequence[SupportsFloat | SupportsIndex] | Buffer\n"
_STUB_TYPE = {"f32": "SupportsFloat | SupportsIndex", "f64": "SupportsFloat | SupportsIndex"}


def enums(lib: Library) -> str:
    """Return the module with the library's enums."""
    base = sorted({_base(enum) for enum in lib.enums})
    classes = "".join(_enum(enum) for enum in lib.enums)
    names = ", ".join(f'"{name}"' for name in ["MEANINGS", *(enum.name for enum in lib.enums)])
    meanings = "".join(
        f"    {m.value}: {_quoted(m.meaning)},\n" for m in lib.status.members if m.meaning
    )
    return f'''"""Enums of {lib.title}."""

from enum import {", ".join(base)}

__all__ = [{names},]

# What each status means, for the exception's text.
MEANINGS: dict[int, str] = {{
{meanings}}}

{classes}
'''


def stub(lib: Library) -> str:
    """Return the stub of the extension module's functions."""
    functions = "".join(_stub(lib, f) for f in lib.functions)
    imports = [name for name in _SUPPORTS if name in functions or name in _INT]
    return f'''"""Functions of {lib.title}, one to one."""

from collections.abc import Sequence
from typing import {", ".join([*imports, "TypeAlias"])}

from typing_extensions import Buffer

_Int: TypeAlias = {_INT}
_Ints: TypeAlias = _Int | Sequence[_Int] | Buffer
{_FLOATS if "_Floats" in functions else ""}
{functions}'''


def package(modules: list[str]) -> str:
    """Return ``_core/__init__.pyi``."""
    lines = "\n".join(f"from gpumath.bindings._core import {m} as {m}" for m in sorted(modules))
    return (
        f'"""The extension module; use `gpumath.bindings` and its public modules."""\n\n{lines}\n'
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _base(enum: Enum) -> str:
    return "IntFlag" if enum.flags else "IntEnum"


def _enum(enum: Enum) -> str:
    members = "".join(f"    {m.name} = {m.value}\n" for m in enum.members)
    spelling = "" if enum.name[0].isupper() else "  # noqa: N801 - the library's own spelling"
    return f'''
class {enum.name}({_base(enum)}):{spelling}
    """{enum.doc}

    C name: ``{enum.c_name}``.
    """

{members}
'''


def _stub(lib: Library, f: Function) -> str:
    parameters = ", ".join(f"{p.name}: {_input(p)}" for p in f.inputs)
    outputs = [_output(p) for p in f.outputs]
    if f.returns not in ("status", "void"):
        outputs = [{"str": "str", "f32": "float", "f64": "float"}.get(f.returns, "int")]
    returns = {0: "None", 1: "".join(outputs)}.get(len(outputs), f"tuple[{', '.join(outputs)}]")
    doc = textwrap.indent(f'"""{text.docstring(lib, f)}\n"""', "    ")
    return f"def {f.name}({parameters}) -> {returns}:\n{doc}\n\n"


def _input(p: Parameter) -> str:
    if p.role == "seq":
        return "_Floats" if p.kind in _STUB_TYPE else "_Ints"
    if p.role == "bytes":
        return "_Int | Buffer"
    return "str" if p.role == "str" else _STUB_TYPE.get(p.kind, "_Int")


def _output(p: Parameter) -> str:
    return {"f32": "float", "f64": "float", "str": "str"}.get(p.kind, "int")
