//! Plans and runs in one call, for the functions of the host library if only defaults are asked
//! for.

use gpumath_core::matmul::{Matmul, MatmulRequest};
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arguments::{epilog, further_inputs, named, scalars};
use super::results::to_python;
use crate::api::operation::Operands;
use crate::api::operation::arguments::ExecutionArguments;

/// The arguments of `MatmulPlan.multiply`.
pub(super) struct MultiplyCall<'a, 'py> {
    pub(super) a: &'a Bound<'py, PyAny>,
    pub(super) b: &'a Bound<'py, PyAny>,
    pub(super) c: Option<&'a Bound<'py, PyAny>>,
    pub(super) alpha: Option<&'a Bound<'py, PyAny>>,
    pub(super) beta: Option<&'a Bound<'py, PyAny>>,
    pub(super) out: Option<&'a Bound<'py, PyAny>>,
    pub(super) epilog: Option<i32>,
    pub(super) inputs: Option<&'a Bound<'py, PyDict>>,
    pub(super) execution: Option<&'a str>,
    pub(super) takes_host_memory: bool,
}

impl<'py> MultiplyCall<'_, 'py> {
    /// Finds or makes the plan, and runs it. `None` declines arguments that do not fit, before
    /// anything happens.
    pub(super) fn run(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let further = further_inputs(self.c, self.inputs)?;
        let named = named(self.a, self.b, &further);
        let Ok(mut operands) = Operands::read(&named, self.out, Some(0)) else { return Ok(None) };
        if !self.takes_host_memory && operands.location() == MemoryLocation::Host {
            return Ok(None);
        }
        let request = MatmulRequest {
            further: further.iter().map(|(role, _)| *role).collect(),
            epilog: epilog(self.epilog)?,
            output: operands.out().cloned(),
            ..MatmulRequest::default()
        };
        let chosen =
            ExecutionArguments { execution: self.execution, ..ExecutionArguments::default() };
        let Some(plan) = operands.plan_unless_refused::<Matmul>(py, &request, &chosen)? else {
            return Ok(None);
        };
        let invocation = operands.invocation(&plan, scalars(self.alpha, self.beta)?);
        if invocation.check().is_err() {
            return Ok(None);
        }
        let results = invocation.run(py)?;
        to_python(py, plan.problem(), results).map(Some)
    }
}
