"""Writes the specs from which call/ of the bindings makes Python functions."""

from __future__ import annotations

import re

from gpumath_codegen import api
from gpumath_codegen.model import Function, Library, Parameter

# The variants of call::specs::Value that are not called as the kind is.
_VARIANT = {"ptr": "Address", "str": "Text"}


def library(lib: Library) -> str:
    """Return ``<library>.rs``."""
    parameters = [p for f in lib.functions for p in f.parameters]
    by_value = {p.c_type for p in parameters if p.role == "in"}
    types = {_type(p) for p in parameters if p.role == "in" or p.c_type not in by_value}
    if len({line.partition(" ")[0] for line in types}) != len(types):
        raise SystemExit(f"{lib.name}: two C types, or two kinds of one, have one name in Rust")
    lines = "".join(sorted(types))
    functions = "".join(_function(f) for f in lib.functions)
    texts = " ".join(f'"{text}"' for text in (lib.name, lib.error, lib.release_of, lib.docs))
    return f"""//! {lib.title}: its C types, and its functions as Python sees them.

crate::call::library! {{
{lib.rust} {texts}
types {{
{lines}}}
functions {{
{functions}}}
}}
"""


def module(names: list[str]) -> str:
    """Return ``mod.rs``."""
    lines = "".join(f"mod {name.lower()};\n" for name in sorted(names))
    modules = ", ".join(f"&{name.lower()}::LIBRARY" for name in sorted(names))
    return f"""//! Written by `codegen/`; see `codegen/README.md`. Do not edit.

use crate::call::Library;

{lines}
/// Every module.
pub(crate) static LIBRARIES: &[&Library] = &[{modules}];
"""


def _type_name(c_type: str) -> str:
    """Return ``const_float_p`` for ``const float *``, and ``int_a`` for ``int[]``."""
    text = re.sub(r"\[\d*\]", " a", c_type.replace("*", " p"))
    return "_".join(re.findall(r"\w+", re.sub(r"\bp p\b", "pp", text)))


def _type(p: Parameter) -> str:
    value = _variant(p.kind) if p.role == "in" and not p.kind.startswith("struct") else "Address"
    enum = f' "{p.enum}"' if p.enum and p.role == "in" else ""
    return f'{_type_name(p.c_type)} = {value} "{p.c_type}"{enum};\n'


def _function(f: Function) -> str:
    summary = f.doc.replace("\\", r"\\").replace('"', r"\"")
    keep_gil = " keep_gil" if f.keep_gil else ""
    parameters = api.wrapped(f"({', '.join(_parameter(f, p) for p in f.parameters)})", "    ")
    returns = {"status": "", "void": " -> Returns::Void"}.get(
        f.returns, f" -> Returns::Value({_variant(f.returns)})"
    )
    return f'{f.static} {f.shape}{keep_gil} "{summary}"\n    {parameters}{returns};\n'


def _parameter(f: Function, p: Parameter) -> str:
    null = " [not_null]" if p.not_null else ""
    kind = _kind(f, p)
    return f"{p.name} {_type_name(p.c_type)}{null}{f' = {kind}' if kind else ''}"


def _kind(f: Function, p: Parameter) -> str:
    """Return the variant of call::specs::ParameterKind, or nothing for one passed by value."""
    if p.kind.startswith("struct "):
        return f"Struct({p.kind.split()[1].split('.')[0]})"
    value = _variant(p.kind)
    lengths = [q.name for q in f.inputs]
    length = f"Argument({lengths.index(p.length)})" if p.length else "Unknown"
    return {
        "in": "",
        "out": f"Output({value})",
        "str": "Utf8",
        "str_or_ptr": "Utf8OrAddress",
        "kernel_params": "KernelParameters",
        "kernel_extra": "KernelExtra",
        "bytes": f"Bytes({length})",
        "buffer": f"Buffer({value}, {length})",
        "texts": f"Texts({length})",
        "nested": f"Nested({value}, {length})",
        "logger": "Logger",
        "seq": f"Sequence({value}, {length})",
    }[p.role]


def _variant(kind: str) -> str:
    return _VARIANT.get(kind, kind.upper())
