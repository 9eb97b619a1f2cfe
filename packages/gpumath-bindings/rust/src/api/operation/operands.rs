//! Operands that were looked into, and whether they fit a plan.

use std::ops::Deref;
use std::sync::Arc;

use gpumath_core::operation::{OperandSpec, Operation, Plan, PlanLookup};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use smallvec::SmallVec;

use super::arguments::ExecutionArguments;
use super::invocation::Invocation;
use super::planning::{Planning, find_or_plan};
use super::streams::UserStream;
use super::workspace::PyWorkspace;
use crate::error::OrRaise;
use crate::interop::{self, ArrayLibrary, Operand};

/// An array that a user gave, and what it is.
pub(crate) struct Input<'py> {
    pub(crate) object: Bound<'py, PyAny>,
    pub(crate) operand: Operand,
}

impl Deref for Input<'_> {
    type Target = TensorView;

    fn deref(&self) -> &TensorView {
        &self.operand.view
    }
}

/// The arrays of one call: operands of one library, and perhaps one for the result.
pub(crate) struct Operands<'py> {
    library: ArrayLibrary,
    inputs: SmallVec<[Input<'py>; 2]>,
    out: [Option<Input<'py>>; 1],
}

impl<'py> Operands<'py> {
    /// Reads operands, which come with the names of the arguments, and the argument `out`. They
    /// must be of one library and require no gradient. Work enqueued on `stream` from now on waits
    /// for the work that writes the elements. Pass `None` if the elements will not be used.
    pub(crate) fn read(
        named: &[(&'static str, &Bound<'py, PyAny>)],
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<usize>,
    ) -> PyResult<Self> {
        let mut first = None;
        let mut read = |name: &'static str, object: &Bound<'py, PyAny>| {
            let (operand, library) = interop::view_beside(name, object, stream, first)?;
            first.get_or_insert((name, library));
            Ok::<_, PyErr>(Input { object: object.clone(), operand })
        };
        let mut inputs = SmallVec::new();
        for &(name, object) in named {
            inputs.push(read(name, object)?);
        }
        let out = out.map(|out| read("out", out)).transpose()?;
        let library = first.map_or(ArrayLibrary::Other, |(_, library)| library);
        Ok(Self { library, inputs, out: [out] })
    }

    /// The view of the first operand.
    pub(crate) fn first(&self) -> Option<&TensorView> {
        self.inputs.first().map(|first| &**first)
    }

    /// Where the first operand is.
    pub(crate) fn location(&self) -> MemoryLocation {
        self.first().map_or(MemoryLocation::Host, |first| first.device)
    }

    /// The view of the array for the result, if there is one.
    pub(crate) fn out(&self) -> Option<&TensorView> {
        self.out[0].as_deref()
    }

    /// Returns the plan from the calling thread's cache; a new plan is entered there.
    pub(crate) fn plan<O: Operation>(
        &self,
        py: Python<'py>,
        request: &O::Request,
        chosen: &ExecutionArguments<'_>,
        stream: Option<&UserStream<'py>>,
    ) -> PyResult<Arc<Plan<O>>> {
        let execution = chosen.resolve(py, self.location())?;
        let (inputs, library) = (&views(&self.inputs), self.library);
        find_or_plan(py, &Planning { request, inputs, execution, library, stream })
    }

    /// Like [`Self::plan`], but `None` if the place or the request is refused.
    pub(crate) fn plan_unless_refused<O: Operation>(
        &self,
        py: Python<'py>,
        request: &O::Request,
        chosen: &ExecutionArguments<'_>,
    ) -> PyResult<Option<Arc<Plan<O>>>> {
        let Ok(execution) = chosen.resolve(py, self.location()) else { return Ok(None) };
        let (inputs, library) = (&views(&self.inputs), self.library);
        match Plan::find(request, inputs, execution) {
            Ok(PlanLookup::Cached(plan)) => Ok(Some(plan)),
            Ok(PlanLookup::Missing(problem)) => {
                let planning = Planning { request, inputs, execution, library, stream: None };
                planning.plan(py, *problem, true).map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    /// Describes an execution of a plan on these operands.
    pub(crate) fn invocation<'a, O: Operation>(
        &'a mut self,
        plan: &'a Arc<Plan<O>>,
        arguments: O::Arguments,
    ) -> Invocation<'a, 'py, O> {
        Invocation {
            plan,
            library: self.library,
            inputs: &mut self.inputs,
            outs: &mut self.out,
            arguments,
            stream: None,
            workspace: None,
            blocking: false,
        }
    }

    /// Checks the operands against the plan, executes it, and returns its one result.
    pub(crate) fn run<O: Operation>(
        &mut self,
        py: Python<'py>,
        plan: &Arc<Plan<O>>,
        arguments: O::Arguments,
        stream: Option<&UserStream<'py>>,
        workspace: Option<&PyWorkspace>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let invocation = self.invocation(plan, arguments);
        let invocation = Invocation { stream, workspace, blocking, ..invocation };
        invocation.check().or_raise(py)?;
        Ok(invocation.run(py)?.swap_remove(0))
    }
}

/// The views of some inputs.
pub(super) fn views<'a>(inputs: &'a [Input<'_>]) -> SmallVec<[&'a TensorView; 4]> {
    inputs.iter().map(|input| &input.operand.view).collect()
}

/// Returns the address of one side of a plan, and the operand to keep until the work is done. A
/// bare address is taken as it is; an operand is checked against the plan.
pub(crate) fn address_of<O: Operation>(
    plan: &Plan<O>,
    spec: Option<OperandSpec<'_>>,
    operand: &Bound<'_, PyAny>,
    stream: usize,
) -> PyResult<(usize, Option<Operand>)> {
    if let Ok(address) = operand.cast::<PyInt>() {
        return Ok((address.extract()?, None));
    }
    let name = spec.as_ref().map_or("the operand", |spec| spec.name);
    let (view, _) = interop::view(name, operand, Some(stream))?;
    if let Some(spec) = spec {
        spec.check(&view, plan.execution().location()).or_raise(operand.py())?;
    }
    Ok((view.ptr, Some(view)))
}
