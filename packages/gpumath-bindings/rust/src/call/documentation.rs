//! Composes the docstrings of the functions of a library from their specs.
//!
//! `CPython` takes a docstring as an address, so the texts of a library are made all at once, when
//! its module is filled, and kept.

use std::ffi::CStr;
use std::fmt::Write;

use super::specs::{FunctionSpec, Length, Library, Parameter, ParameterKind, Returns, Value};

/// The longest line of a signature.
const SIGNATURE_WIDTH: usize = 80;

const KERNEL_PARAMETERS: (&str, &str) = (
    "(values, types), array or list of int, int or None",
    "The kernel's arguments. Values and their types are two tuples or lists of one length. A
    type is a simple ctypes type, to which the value is converted (c_void_p: an int, or what
    has ``getPtr()`` or ``ptr``); the ctypes struct, union or array class of the value; or None
    for a value that is the bytes of the argument: an object with a buffer (a struct, a NumPy
    scalar), an enum member, which becomes an int, or an object whose ``getPtr()`` or ``ptr``
    is the host address of its bytes. An array of 64-bit integers, or a list, has the host
    address of each argument; an int is the address of such an array. 0 or None: no arguments.",
);
const KERNEL_EXTRA: (&str, &str) = (
    "int, array or list of int, or None, optional",
    "Names and values, ended by 0: an array or list of 64-bit integers, or its address.",
);
const TEXT_OR_ADDRESS: (&str, &str) =
    ("str or int", "Text without NUL characters, or its address; 0 is none.");
const LOGGER: (&str, &str) =
    ("callable, Logger, None or int", "Gets each message; or a C function's address.");

/// Returns the name of each function of a library, and its signature, `--` and docstring, as
/// `inspect.signature` reads them. They are never freed.
pub(super) fn texts(library: &Library) -> impl Iterator<Item = (&'static CStr, &'static CStr)> {
    let mut all = String::with_capacity(1024 * library.functions.len());
    let mut places = Vec::with_capacity(library.functions.len());
    for spec in library.functions {
        let name = all.len();
        all.push_str(spec.symbol.name);
        all.push('\0');
        let doc = all.len();
        // Writing to a `String` does not fail.
        let _ = write_signature(&mut all, spec);
        all.push_str("\n--\n\n");
        let _ = write_docstring(&mut all, library, spec);
        all.push('\0');
        places.push((name, doc));
    }
    let all: &'static [u8] = all.leak().as_bytes();
    let text = |start| CStr::from_bytes_until_nul(&all[start..]).unwrap_or_default();
    places.into_iter().map(move |(name, doc)| (text(name), text(doc)))
}

/// Writes `exec_c2c(plan, idata, odata, direction)`, on several lines if it is long.
fn write_signature(out: &mut String, spec: &FunctionSpec) -> std::fmt::Result {
    let mut line = out.len();
    write!(out, "{}(", spec.symbol.name)?;
    let mut separator = "";
    for p in spec.inputs() {
        out.push_str(separator);
        let default = if matches!(p.kind, ParameterKind::KernelExtra) { "=0" } else { "" };
        // With the comma or the bracket behind it.
        let width = p.name.len() + default.len() + 1;
        if out.len() - line + usize::from(!separator.is_empty()) + width > SIGNATURE_WIDTH {
            out.push('\n');
            line = out.len();
        } else if !separator.is_empty() {
            out.push(' ');
        }
        write!(out, "{}{default}", p.name)?;
        separator = ",";
    }
    out.push(')');
    Ok(())
}

/// Writes the text below the signature, in NumPy's style.
fn write_docstring(out: &mut String, library: &Library, spec: &FunctionSpec) -> std::fmt::Result {
    out.push_str(spec.summary);
    let mut inputs = spec.inputs().peekable();
    if inputs.peek().is_some() {
        out.push_str("\n\nParameters\n----------");
        for p in inputs {
            write_input(out, library, spec, p)?;
        }
    }
    if let Returns::Value(value) = spec.returns {
        write!(out, "\n\nReturns\n-------\n{}\n    What C returns.", python_type(value))?;
    } else {
        let mut title = "\n\nReturns\n-------";
        for p in spec.parameters {
            let ParameterKind::Output(value) = p.kind else { continue };
            let (kind, text) = (python_type(value), c_text(library, p));
            write!(out, "{title}\n{} : {kind}\n    What C writes to ``{text}``.", p.name)?;
            title = "";
        }
    }
    if spec.returns == Returns::Status {
        let error = library.error;
        out.push_str("\n\nRaises\n------\n");
        write!(out, "{error}\n    The call returned another status than SUCCESS.")?;
    }
    let (symbol, of) = (spec.symbol, library.release_of);
    write!(out, "\n\nNotes\n-----\nC function ``{}``, in {of} {}", symbol.c_name, symbol.since)?;
    if symbol.since != symbol.until {
        write!(out, " to {}", symbol.until)?;
    }
    write!(out, ". See\n{}", library.docs)
}

/// Writes name, Python type and meaning of an argument.
fn write_input(
    out: &mut String,
    library: &Library,
    spec: &FunctionSpec,
    p: &Parameter,
) -> std::fmt::Result {
    write!(out, "\n{} : ", p.name)?;
    // ", at least ``n`` of them" or "": of an array whose length another argument says.
    let least = |length, before, behind| match length {
        Length::Unknown => String::new(),
        Length::Argument(index) => {
            let name = spec.inputs().nth(usize::from(index)).map_or("", |counter| counter.name);
            format!("{before} at least ``{name}``{behind}")
        }
    };
    match p.kind {
        ParameterKind::Value(value) => {
            let enumeration = library.types[usize::from(p.c_type)].python_enum;
            let kind = if enumeration.is_empty() { python_type(value) } else { enumeration };
            let null = if p.not_null { " Not 0." } else { "" };
            let meaning = meaning(value);
            write!(out, "{kind}\n    ``{}``: {meaning}.{null}", c_text(library, p))
        }
        ParameterKind::Struct(size) => {
            let text = c_text(library, p);
            out.push_str("int or bytes-like\n");
            write!(out, "    ``{text}``, by value: {size} bytes in a buffer, or their address.")
        }
        ParameterKind::Sequence(value, length) => {
            let least = least(length, ",", " of them");
            writeln!(out, "int or sequence of {}", python_type(value))?;
            write!(out, "    A sequence of {}{least}, or its address.", plural(value))
        }
        ParameterKind::Nested(value, length) => {
            let least = least(length, ",", " of them");
            out.push_str("int or sequence of sequences\n");
            write!(out, "    Sequences of {}{least}, or their address.", plural(value))
        }
        ParameterKind::Texts(length) => {
            let least = least(length, ",", " of them");
            out.push_str("int or sequence of str or bytes\n");
            write!(out, "    Texts{least}, or the address of theirs.")
        }
        ParameterKind::Bytes(length) => {
            let size = least(length, " of", " bytes");
            write!(out, "int or bytes-like\n    Data{size}, or their address.")
        }
        ParameterKind::Buffer(value, length) => {
            let byte = matches!(value, Value::I8 | Value::U8);
            let unit = if byte { "bytes".to_owned() } else { plural(value) };
            let size = least(length, " of", &format!(" {unit}"));
            out.push_str("int or writable bytes-like\n");
            write!(out, "    What C writes to: a buffer{size}, or its address.")
        }
        ParameterKind::Utf8 => write!(out, "str\n    Text without NUL characters."),
        ParameterKind::Utf8OrAddress => write_both(out, TEXT_OR_ADDRESS),
        ParameterKind::KernelParameters => write_both(out, KERNEL_PARAMETERS),
        ParameterKind::KernelExtra => write_both(out, KERNEL_EXTRA),
        ParameterKind::Logger => write_both(out, LOGGER),
        ParameterKind::Output(_) => Ok(()),
    }
}

fn write_both(out: &mut String, (kind, meaning): (&str, &str)) -> std::fmt::Result {
    write!(out, "{kind}\n    {meaning}")
}

fn c_text(library: &Library, p: &Parameter) -> &'static str {
    library.types[usize::from(p.c_type)].text
}

/// Returns the Python type of a single value.
fn python_type(value: Value) -> &'static str {
    match value {
        Value::F32 | Value::F64 => "float",
        Value::C64 | Value::C128 => "complex",
        Value::Text => "str",
        _ => "int",
    }
}

fn meaning(value: Value) -> &'static str {
    match value {
        Value::I8 => "8-bit integer",
        Value::U8 => "8-bit unsigned integer",
        Value::I16 => "16-bit integer",
        Value::U16 => "16-bit unsigned integer",
        Value::I32 => "32-bit integer",
        Value::U32 => "32-bit unsigned integer",
        Value::I64 => "64-bit integer",
        Value::U64 => "64-bit unsigned integer",
        Value::Address => "address",
        Value::F32 => "32-bit floating point number",
        Value::F64 => "64-bit floating point number",
        Value::C64 => "complex number of two 32-bit floating point numbers",
        Value::C128 => "complex number of two 64-bit floating point numbers",
        Value::Text => "text",
    }
}

fn plural(value: Value) -> String {
    format!("{}{}", meaning(value), if value == Value::Address { "es" } else { "s" })
}
