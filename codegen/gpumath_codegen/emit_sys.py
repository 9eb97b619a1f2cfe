"""Writes crates/gpumath-sys/src/generated: the symbol tables and the trampolines."""

from __future__ import annotations

import json
import re

from gpumath_codegen.model import Enum, Function, Library, letter

_RUST = {"ptr": "usize", "handle": "usize", "str": "usize"}
_BY_VALUE = {"c64": "Complex<f32>", "c128": "Complex<f64>"}
_TOKEN = re.compile(r"s\d+a\d+|[a-z]")
_SHAPE = {
    "c": "i8",
    "b": "u8",
    "h": "i16",
    "i": "i32",
    "l": "u64",
    "f": "f32",
    "d": "f64",
    "x": "Complex<f32>",
    "z": "Complex<f64>",
}


def library(lib: Library) -> str:
    """Return ``<library>.rs``."""
    statics = "".join(_static(lib, f) for f in lib.functions)
    symbols = ", ".join(f"{f.static}.symbol()" for f in lib.functions)
    names = [name for name in ("ByValueStruct", "Complex") if f"{name}<" in statics]
    table = ", ".join([*names, "Function", "Release", "Symbol"])
    return f"""//! {lib.title}: one row a function, with its exact C type.

use crate::table::{{{table}}};

{statics}
/// Every row.
pub static SYMBOLS: &[&Symbol] = &[{symbols}];
"""


def shapes(functions: list[Function]) -> str:
    """Return ``shapes.rs``: one trampoline for every ABI shape that occurs."""
    body = "".join(_shape(name) for name in sorted({f.shape for f in functions}))
    used = ", ".join(name for name in ("ByValueStruct", "Complex") if f"{name}" in body)
    table = f"use crate::table::{{{used}}};\n\n" if used else ""
    return f"""//! Calls through an address, one function for every ABI shape.
//!
//! The name is the shape: what is returned, then one letter a parameter. `i` is a 32-bit integer,
//! `l` a 64-bit integer or an address, `b` an unsigned and `c` a signed byte, `h` a 16-bit integer,
//! `f` an `f32`, `d` an `f64`, `x` a complex number of two `f32`, `z` one of two `f64`, and `s24a8`
//! a struct of 24 bytes that is aligned to 8 and holds no floating point numbers.
//!
//! Every argument lies in a 64-bit slot, in its low bits, and so does the value that is returned.
//! Of `z` and structs the slot holds the address.

{table}{body}"""


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


def _static(lib: Library, f: Function) -> str:
    types = ", ".join(_type(p.abi) for p in f.parameters)
    returns = "" if f.return_kind == "void" else f" -> {_type(f.return_kind)}"
    gate = ", ".join(f"Some({_release(text)})" if text else "None" for text in f.versions)
    gate = f".within({gate})" if any(f.versions) else ""
    texts = ", ".join(f'"{text}"' for text in (lib.name, f.name, f.c_name, f.symbol))
    return f"""
/// `{f.c_name}`, in {lib.release_of} {f.since} to {f.until}.
pub static {f.static}: Function<unsafe extern "C" fn({types}){returns}> = Function::new(Symbol::new(
    {texts}, {_release(f.since)}, {_release(f.until)},
){gate});
"""


def _type(kind: str) -> str:
    """Return the Rust type of an ABI kind."""
    if kind.startswith("struct "):
        return _by_value_struct(letter(kind))
    return _BY_VALUE.get(kind) or _RUST.get(kind, kind)


def _by_value_struct(token: str) -> str:
    size, alignment = (int(number) for number in token[1:].split("a"))
    return f"ByValueStruct<[u{8 * alignment}; {size // alignment}]>"


def _release(text: str) -> str:
    major, minor, patch = [*text.split("."), "0"][:3]
    return f"Release::new({major}, {minor}, {patch})"


def _shape(name: str) -> str:
    returned, rest = name.split("_")
    letters = _TOKEN.findall(rest)
    types = ", ".join(_SHAPE.get(token) or _by_value_struct(token) for token in letters)
    arguments = ", ".join(_argument(i, token) for i, token in enumerate(letters))
    arrow, result = _RESULT[returned]
    return f"""
/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// {len(letters)} arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn {name}(address: usize, {"slots" if letters else "_"}: *const u64) -> u64 {{
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {{
        let function: unsafe extern "C" fn({types}){arrow} = std::mem::transmute(address);
        {result.replace("CALL", f"function({arguments})")}
    }}
}}
"""


def _argument(index: int, token: str) -> str:
    slot = f"*slots.add({index})" if index else "*slots"
    if token == "f":
        return f"f32::from_bits({slot} as u32)"
    if token == "d":
        return f"f64::from_bits({slot})"
    if token == "x":
        return f"Complex::from_bits({slot})"
    if token == "z" or token.startswith("s"):
        return f"({slot} as *const {_SHAPE.get(token) or _by_value_struct(token)}).read_unaligned()"
    return slot if token == "l" else f"{slot} as {_SHAPE[token]}"


_RESULT = {
    "v": ("", "CALL; 0"),
    "i": (" -> i32", "CALL as u64"),
    "l": (" -> u64", "CALL"),
    "f": (" -> f32", "u64::from(CALL.to_bits())"),
    "d": (" -> f64", "CALL.to_bits()"),
}
