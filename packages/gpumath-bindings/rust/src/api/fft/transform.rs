//! Plans and runs in one call, for the functions of the host library if only defaults are asked
//! for.

use std::slice;

use gpumath_core::fft::{
    Callbacks, Direction, Fft, FftArguments, FftPlan, FftRequest, Norm, ResultLayout,
};
use gpumath_core::operation::{Execution, Operation, PlanLookup};
use pyo3::prelude::*;

use super::arguments::{parse_direction, parse_kind, parse_norm};
use crate::api::operation::arguments::{ExecutionArguments, axes as parse_axes};
use crate::api::operation::{Input, Invocation, Planning};
use crate::interop::{self, ArrayLibrary};

/// The arguments of `FftPlan.transform`, in the core's terms.
pub(super) struct TransformCall<'py> {
    request: FftRequest,
    operand: Input<'py>,
    out: Option<Input<'py>>,
    execution: Execution,
    library: ArrayLibrary,
    direction: Direction,
    norm: Option<Norm>,
}

impl<'py> TransformCall<'py> {
    /// Reads the arguments.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `transform`")]
    pub(super) fn of(
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        axes: Option<&Bound<'py, PyAny>>,
        kind: Option<&str>,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        norm: Option<&Bound<'py, PyAny>>,
        execution: Option<&str>,
    ) -> PyResult<Self> {
        let (view, library) = interop::view_without_gradient("the operand", operand, Some(0))?;
        let out = match out {
            None => None,
            Some(out) => {
                Some(Input { object: out.clone(), operand: interop::out_view(operand, out, None)? })
            }
        };
        let request = FftRequest {
            kind: parse_kind(kind)?,
            axes: parse_axes(axes)?,
            inplace: false,
            odd_output_length: false,
            result_layout: ResultLayout::default(),
            output: out.as_ref().map(|out| out.operand.view.clone()),
            callbacks: Callbacks::default(),
        };
        let chosen = ExecutionArguments { execution, ..ExecutionArguments::default() };
        Ok(Self {
            request,
            execution: chosen.resolve(py, view.device)?,
            operand: Input { object: operand.clone(), operand: view },
            out,
            library,
            direction: parse_direction(direction)?,
            norm: parse_norm(norm.map(PyAnyMethods::extract).transpose()?)?,
        })
    }

    /// Finds or makes the plan, and runs it. `None` declines arguments that do not fit, before
    /// anything happens.
    pub(super) fn run(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Self { ref request, execution, library, direction, norm, .. } = *self;
        let plan = match FftPlan::find(request, &[&self.operand], execution) {
            Ok(PlanLookup::Cached(plan)) => plan,
            Ok(PlanLookup::Missing(problem)) => {
                let inputs = [&self.operand.operand.view];
                Planning::<Fft> { request, inputs: &inputs, execution, library, stream: None }
                    .plan(py, *problem, true)?
            }
            Err(_) => return Ok(None),
        };
        let factor = plan.problem().factor(norm, direction);
        let invocation = Invocation {
            plan: &plan,
            library,
            inputs: slice::from_mut(&mut self.operand),
            outs: slice::from_mut(&mut self.out),
            arguments: FftArguments { direction, factor },
            stream: None,
            workspace: None,
            blocking: false,
        };
        if Fft::check_arguments(plan.problem(), invocation.arguments).is_err()
            || invocation.check().is_err()
        {
            return Ok(None);
        }
        invocation.run(py).map(|mut results| results.pop())
    }
}
