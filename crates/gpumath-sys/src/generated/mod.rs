//! Written by `codegen/`; see `codegen/README.md`. Do not edit.

pub mod cufft;
pub mod driver;
