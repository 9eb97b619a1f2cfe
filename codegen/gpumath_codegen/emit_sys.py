"""crates/gpumath-sys/src/generated: the symbol tables and the trampolines."""

from __future__ import annotations

from gpumath_codegen.model import Function, Library

_RUST = {"ptr": "usize", "handle": "usize", "str": "usize"}
_SHAPE = {"c": "i8", "b": "u8", "h": "i16", "i": "i32", "l": "u64", "f": "f32", "d": "f64"}


def library(lib: Library) -> str:
    """Return ``<library>.rs``."""
    statics = "".join(_static(lib, f) for f in lib.functions)
    symbols = ", ".join(f"{f.static}.symbol()" for f in lib.functions)
    statuses = ", ".join(f'({m.value}, "{m.name}")' for m in lib.status.members)
    return f"""//! {lib.title}: one row a function, with its exact C type.

use crate::table::{{Function, Release, Symbol}};

{statics}
/// Every row.
pub static SYMBOLS: &[&Symbol] = &[{symbols}];

/// Names of the statuses, as in the Python enum.
pub static STATUS_NAMES: &[(i32, &str)] = &[{statuses}];
"""


def shapes(functions: list[Function]) -> str:
    """Return ``shapes.rs``: one trampoline for every ABI shape that occurs."""
    body = "".join(_shape(name) for name in sorted({f.shape for f in functions}))
    return f"""//! Calls through an address, one function for every ABI shape.
//!
//! The name is the shape: what is returned, then one letter a parameter. `i` is a 32-bit integer,
//! `l` a 64-bit integer or an address, `b` an unsigned and `c` a signed byte, `h` a 16-bit integer,
//! `f` an `f32`, `d` an `f64`.
//!
//! Every argument lies in a 64-bit slot, in its low bits, and so does the value that is returned.

{body}"""


def module(names: list[str]) -> str:
    """Return ``mod.rs``."""
    lines = "".join(f"pub mod {name};\n" for name in sorted([*names, "shapes"]))
    return f"""//! Written by `codegen/`; see `codegen/README.md`. Do not edit.
#![allow(clippy::type_complexity, reason = "a C function with many parameters has a long type")]

{lines}"""


def _static(lib: Library, f: Function) -> str:
    types = ", ".join(_RUST.get(p.abi, p.abi) for p in f.parameters)
    returns = "" if f.return_kind == "void" else f" -> {_RUST.get(f.return_kind, f.return_kind)}"
    texts = ", ".join(f'"{text}"' for text in (lib.name, f.name, f.c_name, f.symbol))
    return f"""
/// `{f.c_name}`, in CUDA {f.since} to {f.until}.
pub static {f.static}: Function<unsafe extern "C" fn({types}){returns}> = Function::new(Symbol::new(
    {texts}, {_release(f.since)}, {_release(f.until)},
));
"""


def _release(text: str) -> str:
    major, minor = text.split(".")
    return f"Release {{ major: {major}, minor: {minor} }}"


def _shape(name: str) -> str:
    returned, letters = name.split("_")
    types = ", ".join(_SHAPE[letter] for letter in letters)
    arguments = ", ".join(_argument(i, letter) for i, letter in enumerate(letters))
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


def _argument(index: int, letter: str) -> str:
    slot = f"*slots.add({index})" if index else "*slots"
    if letter == "f":
        return f"f32::from_bits({slot} as u32)"
    if letter == "d":
        return f"f64::from_bits({slot})"
    return slot if letter == "l" else f"{slot} as {_SHAPE[letter]}"


_RESULT = {
    "v": ("", "CALL; 0"),
    "i": (" -> i32", "CALL as u64"),
    "l": (" -> u64", "CALL"),
    "f": (" -> f32", "u64::from(CALL.to_bits())"),
    "d": (" -> f64", "CALL.to_bits()"),
}
