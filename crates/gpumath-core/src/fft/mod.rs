//! Fourier transforms: problem → plan → execute.

mod problem;

pub use problem::{Direction, Kind, Precision, Problem};
