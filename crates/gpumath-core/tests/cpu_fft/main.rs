//! The CPU engine against transforms computed from their definition in double precision.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![allow(clippy::similar_names, reason = "r2c, c2r and c2c are the names of the kinds")]

mod embedded;
mod libraries;
#[path = "../support/random.rs"]
mod random;
mod reference;
mod threads;
