//! Products of matrices with a structure, for Python.

mod arguments;
mod arrays;
mod executor;
mod plan;
mod small;

pub(crate) use executor::PyStructuredMatmulExecutor;
pub(crate) use plan::PyStructuredMatmulPlan;
