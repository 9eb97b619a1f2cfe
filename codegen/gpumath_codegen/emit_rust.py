"""Writes the rows from which call/ of the bindings makes Python functions."""

from __future__ import annotations

from gpumath_codegen import text
from gpumath_codegen.model import Function, Library, Parameter

# `Row` and `Kind` are call::FunctionSpec and call::ParameterKind.
_NAMES = ("Kind", "Length", "Parameter", "Returns", "Row", "Value")
_VARIANT = {"ptr": "Address", "str": "Text"}


def library(lib: Library) -> str:
    """Return ``<library>.rs``."""
    rows = "".join(_row(lib, f) for f in lib.functions)
    used = [name for name in _NAMES if f"{name}::" in rows or f"{name} {{" in rows]
    return f"""//! {lib.title}: one row a function, as Python sees it.

use gpumath_sys::generated::{{{lib.rust}, shapes}};

use crate::call::{{{", ".join(used)}}};

/// Every function of the module.
pub(crate) static ROWS: &[Row] = &[{rows}];
"""


def module(names: list[str]) -> str:
    """Return ``mod.rs``."""
    lines = "".join(f"mod {name.lower()};\n" for name in sorted(names))
    modules = ", ".join(f'("{name}", {name.lower()}::ROWS)' for name in sorted(names))
    return f"""//! Written by `codegen/`; see `codegen/README.md`. Do not edit.

use crate::call::Row;

{lines}
/// Every module, by its Python name, and its functions.
pub(crate) static MODULES: &[(&str, &[Row])] = &[{modules}];
"""


def _row(lib: Library, f: Function) -> str:
    # CPython reads the signature from the text before the dashes.
    doc = f"{text.signature(f)}\n--\n\n{text.docstring(lib, f)}"
    doc = doc.replace("\\", r"\\").replace('"', r"\"")
    parameters = ", ".join(_parameter(f, p) for p in f.parameters)
    return f"""
    Row {{
        name: c"{f.name}",
        doc: c"{doc}",
        symbol: {lib.rust}::{f.static}.symbol(),
        parameters: &[{parameters}],
        inputs: {len(f.inputs)},
        shape: shapes::{f.shape},
        returns: Returns::{_returns(f.returns)},
        keep_gil: {str(f.keep_gil).lower()},
    }},"""


def _parameter(f: Function, p: Parameter) -> str:
    not_null = str(p.not_null).lower()
    return f'Parameter {{ name: "{p.name}", kind: {_kind(f, p)}, not_null: {not_null} }}'


def _kind(f: Function, p: Parameter) -> str:
    if p.kind.startswith("struct "):
        return f"Kind::Struct({p.kind.split()[1].split('.')[0]})"
    value = f"Value::{_variant(p.kind)}"
    lengths = [q.name for q in f.inputs]
    length = f"Length::Argument({lengths.index(p.length)})" if p.length else "Length::Unknown"
    return {
        "in": f"Kind::Value({value})",
        "out": f"Kind::Output({value})",
        "str": "Kind::Text",
        "kernel_params": "Kind::KernelParameters",
        "kernel_extra": "Kind::KernelExtra",
        "bytes": f"Kind::Bytes({length})",
        "buffer": f"Kind::Buffer({value}, {length})",
        "texts": f"Kind::Texts({length})",
        "nested": f"Kind::Nested({value}, {length})",
        "logger": "Kind::Logger",
        "seq": f"Kind::Sequence({value}, {length})",
    }[p.role]


def _returns(returns: str) -> str:
    if returns in ("status", "void"):
        return returns.capitalize()
    return f"Value(Value::{_variant(returns)})"


def _variant(kind: str) -> str:
    return _VARIANT.get(kind, kind.upper())
