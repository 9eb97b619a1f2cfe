//! `gpumath.bindings._core.pod`: the structs of the C APIs as Python classes.
//!
//! A class derives from `StructArray` and has a `Field` for each field of its C struct. An instance
//! is an array of such structs, in memory of its own, of another object, or at an address.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments of Python classes are docstrings, in NumPy's style"
)]

mod array;
pub(crate) mod buffer;
mod field;
mod layout;
mod memory;
mod number;

pub(crate) use array::PyStructArray;
pub(crate) use field::PyField;
