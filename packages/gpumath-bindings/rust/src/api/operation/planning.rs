//! From a request about operands to a plan.

use std::sync::Arc;

use gpumath_core::device::StreamRef;
use gpumath_core::error::Error;
use gpumath_core::operation::{Execution, Operation, Plan, PlanLookup, Request};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::prelude::*;

use super::streams::{UserStream, refuse_capture};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::ArrayLibrary;

/// What a plan is made of.
pub(crate) struct Planning<'a, 'py, O: Operation> {
    pub(crate) request: &'a O::Request,
    /// The inputs; their values do not matter.
    pub(crate) inputs: &'a [&'a TensorView],
    pub(crate) execution: Execution,
    /// The library of the operands.
    pub(crate) library: ArrayLibrary,
    /// Stream that the plan will first run on; by default the library's current one.
    pub(crate) stream: Option<&'a UserStream<'py>>,
}

/// Returns the plan from the calling thread's cache; a new plan is entered there.
pub(crate) fn find_or_plan<O: Operation>(
    py: Python<'_>,
    planning: &Planning<'_, '_, O>,
) -> PyResult<Arc<Plan<O>>> {
    match Plan::find(planning.request, planning.inputs, planning.execution).or_raise(py)? {
        PlanLookup::Cached(plan) => Ok(plan),
        PlanLookup::Missing(problem) => planning.plan(py, *problem, true),
    }
}

impl<O: Operation> Planning<'_, '_, O> {
    /// Makes a plan that is in no cache.
    pub(crate) fn uncached(&self, py: Python<'_>) -> PyResult<Arc<Plan<O>>> {
        let problem = self.request.problem(self.inputs, self.execution).or_raise(py)?;
        self.plan(py, problem, false)
    }

    /// Plans, but not while the stream that the plan will run on is being captured.
    pub(crate) fn plan(
        &self,
        py: Python<'_>,
        problem: O::Problem,
        cached: bool,
    ) -> PyResult<Arc<Plan<O>>> {
        if let Some(devices) = self.execution.devices() {
            // Several devices work on streams of their own.
            devices.check().or_raise(py)?;
        } else if let Some(device) = self.execution.device() {
            let is_on_host =
                self.inputs.first().is_none_or(|view| view.device == MemoryLocation::Host);
            let handle = match self.stream {
                Some(stream) => stream.handle,
                None if is_on_host => 0,
                None => self.library.current_stream(py, device)?,
            };
            // SAFETY: the handle is the library's own, or the user vouches for it.
            let stream = unsafe { StreamRef::new(device, handle) };
            refuse_capture(py, stream, "a plan is made", "make it before the capture begins")?;
        }
        let execution = self.execution;
        let plan = |problem: O::Problem| {
            release_gil(py, || {
                if cached {
                    Plan::cached(problem, execution)
                } else {
                    Plan::new(problem, execution).map(Arc::new)
                }
            })
        };
        match plan(problem.clone()) {
            Err(Error::OutOfMemory(_)) => {
                // The operands' library may keep memory that it does not use.
                self.library.trim(py)?;
                plan(problem).or_raise(py)
            }
            planned => planned.or_raise(py),
        }
    }
}
