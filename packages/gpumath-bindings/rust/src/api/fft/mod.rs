//! The classes and functions for Fourier transforms.

mod arguments;
mod callback;
mod execute;
mod executor;
mod plan;
mod plan_identity;
mod problem;
mod transform;

pub(crate) use arguments::fft_direction;
pub(crate) use executor::PyFftExecutor;
pub(crate) use plan::PyFftPlan;
pub(crate) use problem::{PyFftPass, PyFftProblem, usable_cores};
