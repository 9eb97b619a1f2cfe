//! `gpumath.bindings._core.pod`: the structs of the C APIs as Python classes.
//!
//! A class says how large its struct is and where its fields are; an instance is an array of such structs, in memory
//! of its own or of another.
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
