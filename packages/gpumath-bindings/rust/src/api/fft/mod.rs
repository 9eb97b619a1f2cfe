//! Fourier transforms, for Python.

mod arguments;
mod callback;
mod executor;
mod plan;
mod problem;
mod transform;

pub(crate) use arguments::fft_direction;
pub(crate) use executor::PyFftExecutor;
pub(crate) use plan::PyFftPlan;
pub(crate) use problem::{PyFftPass, PyFftProblem, usable_cores};
