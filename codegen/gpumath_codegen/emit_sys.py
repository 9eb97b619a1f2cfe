"""Writes crates/gpumath-sys/src/generated: the symbol tables and the trampolines."""

from __future__ import annotations

import json
import re
import textwrap

from gpumath_codegen.model import Enum, Function, Library, letter

_RUST = {"ptr": "usize", "handle": "usize", "str": "usize"}
_BY_VALUE = {"c64": "Complex<f32>", "c128": "Complex<f64>"}
_TOKEN = re.compile(r"s\d+a\d+|[a-z]")


def library(lib: Library) -> str:
    """Return ``<library>.rs``."""
    lines = "".join(_symbol(f) for f in lib.functions)
    names = [name for name in ("ByValueStruct", "Complex") if f"{name}<" in lines]
    table = ", ".join([*names, "symbols"])
    return f"""//! The functions of {lib.title}, and the {lib.release_of} releases that have them.

use crate::table::{{{table}}};

symbols! {{ "{lib.name}";
{lines}}}
"""


def shapes(functions: list[Function]) -> str:
    """Return ``shapes.rs``: one trampoline for every ABI shape that occurs."""
    names = sorted({f.shape for f in functions})
    lines = "".join(_shape(name) for name in names)
    structs = sorted({token for name in names for token in _TOKEN.findall(name) if token[1:]})
    aliases = "".join(f"type {token} = {_by_value_struct(token)};\n" for token in structs)
    used = "ByValueStruct, Complex" if structs else "Complex"
    return f"""//! Calls through an address, one function for every ABI shape.
//!
//! The name is the shape: what is returned, then one letter a parameter. `i` is a 32-bit integer,
//! `l` a 64-bit integer or an address, `b` an unsigned and `c` a signed byte, `h` a 16-bit integer,
//! `f` an `f32`, `d` an `f64`, `x` a complex number of two `f32`, `z` one of two `f64`, and `s24a8`
//! a struct of 24 bytes that is aligned to 8 and holds no floating point numbers. `v` is nothing.
//!
//! Every argument lies in a 64-bit slot, in its low bits, and so does the value that is returned.
//! Of `z` and structs the slot holds the address.
#![allow(non_camel_case_types, dead_code, reason = "types are letters; not all of them may occur")]

use crate::shape::shapes;
use crate::table::{{{used}}};

type b = u8;
type c = i8;
type d = f64;
type f = f32;
type h = i16;
type i = i32;
type l = u64;
type v = ();
type x = Complex<f32>;
type z = Complex<f64>;
{aliases}
shapes! {{
{lines}}}
"""


def statuses(libraries: list[Library]) -> str:
    """Return ``statuses.rs``: the names of all statuses, and what each usually means."""
    tables = "".join(
        # One line a status, however long its text is.
        f"#[rustfmt::skip]\nconst {lib.name.upper()}: &[StatusRow] = &[\n{_rows(lib.status)}];\n\n"
        for lib in libraries
        if lib.status
    )
    modules = ", ".join(f'("{lib.name}", {lib.status_from.upper()})' for lib in libraries)
    return f"""//! The statuses that functions return.

use crate::table::StatusRow;

{tables}
/// Every module, by its Python name, and the statuses of its functions.
pub static STATUSES: &[(&str, &[StatusRow])] = &[{modules}];
"""


def module(names: list[str]) -> str:
    """Return ``mod.rs``."""
    lines = "".join(f"pub mod {name.lower()};\n" for name in sorted([*names, "shapes", "statuses"]))
    tables = ", ".join(f'("{name}", {name.lower()}::SYMBOLS)' for name in sorted(names))
    return f"""//! Written by `codegen/`; see `codegen/README.md`. Do not edit.
#![allow(clippy::type_complexity, reason = "a C function with many parameters has a long type")]

use crate::table::Symbol;

{lines}
/// Every module, by its Python name, and its rows.
pub static MODULES: &[(&str, &[&Symbol])] = &[{tables}];
"""


def _rows(status: Enum) -> str:
    return "".join(
        f'    ({m.value}, "{m.c_name}", {json.dumps(m.meaning, ensure_ascii=False)}),\n'
        for m in status.members
    )


def _symbol(f: Function) -> str:
    symbol = f" = {f.symbol}" if f.symbol != f.c_name else ""
    line = f'{f.static} {f.name} {f.c_name}{symbol} "{f.since}" "{f.until}"'
    if any(f.versions):
        line += f' within("{f.versions[0]}", "{f.versions[1]}")'
    if f.core_calls:
        returns = "" if f.return_kind == "void" else f" -> {_type(f.return_kind)}"
        line += f" fn({', '.join(_type(p.abi) for p in f.parameters)}){returns}"
    wrapped = textwrap.wrap(f"{line};", 96, subsequent_indent="    ", break_on_hyphens=False)
    return textwrap.indent("\n".join(wrapped), "    ") + "\n"


def _type(kind: str) -> str:
    """Return the Rust type of an ABI kind."""
    if kind.startswith("struct "):
        return _by_value_struct(letter(kind))
    return _BY_VALUE.get(kind) or _RUST.get(kind, kind)


def _by_value_struct(token: str) -> str:
    size, alignment = (int(number) for number in token[1:].split("a"))
    return f"ByValueStruct<[u{8 * alignment}; {size // alignment}]>"


def _shape(name: str) -> str:
    returned, rest = name.split("_")
    return f"    {name}({' '.join(_TOKEN.findall(rest))}) -> {returned};\n"
