//! Lazy symbol tables of the CUDA libraries.
//!
//! Nothing here decides *where* a library is: that is `gpumath_core::loader`. This crate holds the facts (which
//! function, which exported symbol, which C types) and the unsafe casts that turn an address into a call.

pub mod dynlib;
pub mod generated;
pub mod table;
