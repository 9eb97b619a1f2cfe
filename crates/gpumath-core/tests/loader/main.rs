//! The loader against small fake libraries that the tests compile, each test in its own process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A test stops where it fails.

mod failures;
mod fake;
mod global;
mod majors;
mod origins;
