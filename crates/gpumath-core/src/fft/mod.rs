//! Fourier transforms: problem → plan → execute.

pub(crate) mod cufft;
mod passes;
mod plan;
mod problem;
mod request;

pub use plan::{Execution, FftPlan, Found};
pub use problem::{Direction, Kind, Precision, Problem};
pub use request::Request;
