//! The arrays of a product, or of a list of products.

use std::sync::Arc;

use gpumath_core::operation::{Execution, Operation, PlanLookup};
use gpumath_core::structured_matmul::{
    Scalars, StructuredMatmul, StructuredMatmulPlan, StructuredMatmulRequest,
};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use crate::api::operation::{Input, Invocation, Planning, PyWorkspace, UserStream, find_or_plan};
use crate::error::OrRaise;
use crate::interop::{self, ArrayLibrary};

/// Operands `a`, `b` and perhaps `c`, and perhaps arrays for results, of one library.
pub(super) struct Arrays<'py> {
    pub(super) library: ArrayLibrary,
    /// Number of products.
    pub(super) count: usize,
    /// Whether lists were given, so that the result is one too.
    is_list: bool,
    pub(super) has_addend: bool,
    inputs: SmallVec<[Input<'py>; 3]>,
    outs: SmallVec<[Option<Input<'py>>; 1]>,
}

impl<'py> Arrays<'py> {
    /// Reads the arguments: arrays, or lists of as many arrays. Work enqueued on `stream` from now
    /// on waits for the work that writes the elements. Pass `None` if they will not be used.
    pub(super) fn read(
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<usize>,
    ) -> PyResult<Self> {
        let mut first = None;
        let mut read = |name: &str, object: Bound<'py, PyAny>| {
            let (operand, library) = interop::view_beside(name, &object, stream, first)?;
            first.get_or_insert(("a", library));
            Ok::<_, PyErr>(Input { object, operand })
        };
        let expected = list_length(a);
        let mut inputs = SmallVec::new();
        let mut outs = SmallVec::new();
        for (name, given) in [("a", Some(a)), ("b", Some(b)), ("c", c), ("out", out)] {
            let Some(given) = given else { continue };
            let length = list_length(given);
            if length != expected || length == Some(0) {
                let described = |length: Option<usize>| match length {
                    Some(length) => format!("a list of {length}"),
                    None => "one array".to_owned(),
                };
                return Err(PyValueError::new_err(format!(
                    "{name} is {}, and a is {}; give single arrays, or lists of as many arrays, of \
                     one at least",
                    described(length),
                    described(expected)
                )));
            }
            let mut put = |input: Input<'py>| {
                if name == "out" { outs.push(Some(input)) } else { inputs.push(input) }
            };
            if length.is_none() {
                put(read(name, given.clone())?);
                continue;
            }
            for (index, item) in given.try_iter()?.enumerate() {
                put(read(&format!("{name}[{index}]"), item?)?);
            }
        }
        let library = first.map_or(ArrayLibrary::Other, |(_, library)| library);
        let (count, is_list) = (expected.unwrap_or(1), expected.is_some());
        Ok(Self { library, count, is_list, has_addend: c.is_some(), inputs, outs })
    }

    /// Where the first operand is.
    pub(super) fn location(&self) -> MemoryLocation {
        self.inputs.first().map_or(MemoryLocation::Host, |first| first.device)
    }

    /// The views of the operands.
    pub(super) fn views(&self) -> SmallVec<[&TensorView; 3]> {
        self.inputs.iter().map(|input| &input.operand.view).collect()
    }

    /// The request for products to the given arrays.
    pub(super) fn request(&self) -> StructuredMatmulRequest {
        StructuredMatmulRequest {
            count: self.count,
            has_addend: self.has_addend,
            outputs: self.outs.iter().flatten().map(|out| out.operand.view.clone()).collect(),
            ..StructuredMatmulRequest::default()
        }
    }

    /// Returns the plan from the calling thread's cache; a new plan is entered there.
    pub(super) fn plan(
        &self,
        py: Python<'py>,
        request: &StructuredMatmulRequest,
        execution: Execution,
        stream: Option<&UserStream<'py>>,
    ) -> PyResult<Arc<StructuredMatmulPlan>> {
        let (inputs, library) = (&self.views(), self.library);
        find_or_plan(py, &Planning { request, inputs, execution, library, stream })
    }

    /// Finds or makes the plan, and runs it. `None` declines arguments that do not fit, before
    /// anything happens.
    pub(super) fn plan_and_run(
        &mut self,
        py: Python<'py>,
        request: &StructuredMatmulRequest,
        execution: Execution,
        scalars: Scalars,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let plan = match StructuredMatmulPlan::find(request, &self.views(), execution) {
            Ok(PlanLookup::Cached(plan)) => plan,
            Ok(PlanLookup::Missing(problem)) => {
                let (inputs, library) = (&self.views(), self.library);
                Planning { request, inputs, execution, library, stream: None }
                    .plan(py, *problem, true)?
            }
            Err(_) => return Ok(None),
        };
        if StructuredMatmul::check_arguments(plan.problem(), scalars).is_err() {
            return Ok(None);
        }
        self.run(py, &plan, scalars, None, None, false).map(Some)
    }

    /// Checks the operands against the plan, executes it, and returns its result, or a list of
    /// results.
    pub(super) fn run(
        &mut self,
        py: Python<'py>,
        plan: &Arc<StructuredMatmulPlan>,
        arguments: Scalars,
        stream: Option<&UserStream<'py>>,
        workspace: Option<&PyWorkspace>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let expected = plan.problem().count();
        if self.count != expected {
            return Err(PyValueError::new_err(format!(
                "{} products are given, but the plan has {expected}",
                self.count
            )));
        }
        let invocation: Invocation<'_, 'py, StructuredMatmul> = Invocation {
            plan,
            library: self.library,
            inputs: &mut self.inputs,
            outs: &mut self.outs,
            arguments,
            stream,
            workspace,
            blocking,
        };
        invocation.check().or_raise(py)?;
        let mut results = invocation.run(py)?;
        if self.is_list {
            return Ok(PyList::new(py, results)?.into_any());
        }
        Ok(results.swap_remove(0))
    }
}

/// The length of a list or tuple; `None` for anything else.
pub(super) fn list_length(object: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(list) = object.cast::<PyList>() {
        return Some(list.len());
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Some(tuple.len());
    }
    None
}
