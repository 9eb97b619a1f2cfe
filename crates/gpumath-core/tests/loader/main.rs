//! Tests of the loader with small fake libraries, which the tests compile. Most run in a process of
//! their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A test stops where it fails.

mod damage;
mod failures;
mod fake;
mod global;
mod majors;
mod origins;
