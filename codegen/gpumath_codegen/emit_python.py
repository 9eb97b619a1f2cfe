"""Writes ``_generated/<library>.py`` (enums) and ``_core/<library>.pyi`` (stubs)."""

from __future__ import annotations

import textwrap

from gpumath_codegen import api, text
from gpumath_codegen.model import Enum, Function, Library, Parameter

_SUPPORTS = ("SupportsFloat", "SupportsIndex", "SupportsInt")
_INT = "SupportsIndex | SupportsInt"
_FLOATS = "_Floats: TypeAlias = _Int | Sequence[SupportsFloat | SupportsIndex] | Buffer\n"
_FLOAT = "SupportsFloat | SupportsIndex"
_COMPLEX = "SupportsComplex | SupportsFloat | SupportsIndex"
_STUB_TYPE = {"f32": _FLOAT, "f64": _FLOAT, "c64": _COMPLEX, "c128": _COMPLEX}
# Type of a parameter with this role, for any C type.
_BY_ROLE = {
    "bytes": "_Int | Buffer",
    "buffer": "_Int | Buffer",
    "str": "str",
    "str_or_ptr": "str | _Int",
    "texts": "_Int | Sequence[str | bytes]",
    "nested": "_Int | Sequence[_Ints]",
    "kernel_params": (
        "_Int | list[int] | Buffer | tuple[Sequence[object], Sequence[type | None]] | None"
    ),
    "kernel_extra": "_Int | list[int] | Buffer | None",
    "logger": "_Int | Callable[..., None] | None",
}


def enums(lib: Library, lazy: bool = False) -> str:
    """Return the module with the library's enums, or with those that are imported late."""
    chosen = [enum for enum in lib.enums if enum.lazy == lazy]
    base = sorted({_base(enum) for enum in chosen})
    classes = "".join(_enum(enum) for enum in chosen)
    names = ", ".join(f'"{enum.name}"' for enum in chosen)
    return f'''"""Enums of {lib.title}{" that are imported when asked for" if lazy else ""}."""

{f"from enum import {', '.join(base)}" if base else ""}

__all__: list[str] = [{names}]

{classes}
{_statuses(lib.status) if lib.status and not lazy else ""}
'''


def _statuses(status: Enum) -> str:
    return f"""
# For the exceptions: the enum of the statuses.
STATUS = {status.name}
"""


def stub(lib: Library) -> str:
    """Return the stub of the extension module's functions."""
    functions = "".join(_stub(lib, f) for f in lib.functions)
    floats = _FLOATS if "_Floats" in functions else ""
    imports = [name for name in _SUPPORTS if name in functions + _INT + floats]
    imports += ["SupportsComplex"] * ("SupportsComplex" in functions)
    imports += ["Any"] * ("Any" in functions)
    callbacks = "Callable, " if "Callable" in functions else ""
    return f'''"""Functions of {lib.title}, one to one."""

from collections.abc import {callbacks}Sequence
from typing import {", ".join(sorted([*imports, "TypeAlias"]))}

from typing_extensions import Buffer

_Int: TypeAlias = {_INT}
_Ints: TypeAlias = _Int | Sequence[_Int] | Buffer
{floats}
# One function below the other, and not one parameter.
# fmt: off
{functions}'''


def package(modules: list[str]) -> str:
    """Return ``_core/__init__.pyi``."""
    lines = "\n".join(f"from gpumath.bindings._core import {m} as {m}" for m in sorted(modules))
    return (
        f'"""The extension module; use `gpumath.bindings` and its public modules."""\n\n{lines}\n'
    )


def _base(enum: Enum) -> str:
    return "IntFlag" if enum.flags else "IntEnum"


def _enum(enum: Enum) -> str:
    members = "".join(f"    {m.name} = {m.value}\n" for m in enum.members)
    if enum.older:
        members += "    # Only headers before CUDA 12 have these.\n"
        members += "".join(f"    {name} = {value}\n" for name, value in enum.older.items())
    spelling = "" if enum.name[0].isupper() else "  # noqa: N801 - the library's own spelling"
    return f'''
class {enum.name}({_base(enum)}):{spelling}
    """{enum.doc}

    C name: ``{enum.c_name}``.
    """

{members}
'''


def _stub(lib: Library, f: Function) -> str:
    parameters = ", ".join(f"{p.name}: {_input(p)}{_default(p)}" for p in f.inputs)
    outputs = [_output(p) for p in f.outputs]
    if f.returns not in ("status", "void"):
        outputs = [{"str": "str", "f32": "float", "f64": "float"}.get(f.returns, "int")]
    returns = {0: "None", 1: "".join(outputs)}.get(len(outputs), f"tuple[{', '.join(outputs)}]")
    head = api.wrapped(f"def {f.name}({parameters}) -> {returns}:", " " * 8)
    doc = textwrap.indent(f'"""{text.hover(lib, f)}"""', "    ")
    return f"{head}\n{doc}\n"


def _input(p: Parameter) -> str:
    if p.role == "seq":
        return "_Floats" if p.kind in ("f32", "f64") else "_Ints"
    if p.kind.startswith("struct "):
        return "_Int | Buffer"
    return _BY_ROLE.get(p.role) or _STUB_TYPE.get(p.kind, "_Int")


def _default(p: Parameter) -> str:
    return f" = {p.default}" if p.default else ""


def _output(p: Parameter) -> str:
    return {"f32": "float", "f64": "float", "str": "str"}.get(p.kind, "int")
