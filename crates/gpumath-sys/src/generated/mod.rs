//! Written by `codegen/`; see `codegen/README.md`. Do not edit.
#![allow(clippy::type_complexity, reason = "a C function with many parameters has a long type")]

pub mod cufft;
pub mod driver;
pub mod shapes;
