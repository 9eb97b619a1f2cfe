//! Seed; `codegen` replaces this file.
