//! The classes for products of matrices.

mod arguments;
mod executor;
mod multiply;
mod plan;
mod results;

pub(crate) use executor::PyMatmulExecutor;
pub(crate) use plan::PyMatmulPlan;
