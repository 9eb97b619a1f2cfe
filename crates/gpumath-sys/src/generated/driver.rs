//! Seed; `codegen` replaces this file.

use crate::table::Symbol;

/// Every function.
pub static SYMBOLS: &[&Symbol] = &[];
