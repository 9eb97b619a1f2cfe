//! One execution of a plan on arrays of any library.

use std::sync::Arc;

use gpumath_core::device::{CaptureStatus, RelaxedCapture, StreamRef};
use gpumath_core::operation::{Call, Execution, Operation, Plan, Problem, captured};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::operands::{Input, Inputs, Outs, check, location_of};
use super::streams::{UserStream, WorkStreams, refuse_capture};
use super::workspace::{PyWorkspace, reserve};
use crate::api::wait::wait_until;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{ArrayLibrary, deferred_release};

/// Everything that one execution takes.
pub(crate) struct Invocation<'a, 'py, O: Operation> {
    pub(crate) plan: &'a Arc<Plan<O>>,
    /// The library of the inputs, which allocates the results.
    pub(crate) library: ArrayLibrary,
    pub(crate) inputs: Inputs<'py>,
    /// As many as the operation has results.
    pub(crate) outs: Outs<'py>,
    pub(crate) arguments: O::Arguments,
    /// By default the current stream of the inputs' library.
    pub(crate) stream: Option<UserStream<'py>>,
    /// Keeps device memory to work in for the next execution. By default a pool lends it for this
    /// one.
    pub(crate) workspace: Option<&'a PyWorkspace>,
    /// Whether to wait for the results.
    pub(crate) blocking: bool,
}

/// The results of one execution.
pub(crate) type Results<'py> = SmallVec<[Bound<'py, PyAny>; 1]>;

/// How a plan gets at its operands.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// The engine reads and writes them where they are.
    Direct,
    /// They are copied between host memory and a device; the call waits for the results.
    Copied,
    /// Several devices read and write them; the call waits for the results.
    Several,
}

/// The memory for one result.
struct Target<'py> {
    object: Bound<'py, PyAny>,
    view: TensorView,
    /// The array that the user gave.
    given: Option<Input<'py>>,
}

impl<'py, O: Operation> Invocation<'_, 'py, O> {
    /// Checks whether the plan can be executed on these operands, before anything happens.
    pub(crate) fn check(&self) -> gpumath_core::Result<()> {
        let location = location_of(self.plan, &self.inputs)?;
        check(self.plan, location, &self.inputs, &self.outs)
    }

    /// Executes, and returns the results. The caller has [checked](Self::check) the operands.
    pub(crate) fn run(mut self, py: Python<'py>) -> PyResult<Results<'py>> {
        let location = self.inputs.first().map_or(MemoryLocation::Host, |first| first.device);
        let execution = self.plan.execution();
        let access = match execution {
            Execution::CudaMulti { .. } => Access::Several,
            _ if execution.reaches(location) => Access::Direct,
            _ => Access::Copied,
        };
        let device = match (location, execution) {
            (MemoryLocation::Host, Execution::Cuda { device })
            | (MemoryLocation::Device(device), _) => Some(device),
            _ => None,
        };
        let streams = WorkStreams::of(py, self.library, location, device, self.stream.as_ref())?;
        let stream = streams.work;
        let is_empty = self.plan.problem().is_empty();
        let capture = match stream {
            Some(stream) if !is_empty => self.check_capture(py, access, stream)?,
            _ => CaptureStatus::NotCaptured,
        };
        let is_captured = capture.is_capturing();
        // Libraries may have to allocate results, and the driver to load what the first execution
        // needs. Neither becomes a part of the graph.
        let _relaxed = is_captured.then(RelaxedCapture::enter).transpose().or_raise(py)?;
        let targets = self.targets(py, location, streams)?;
        if is_empty {
            return Ok(targets.into_iter().map(|target| target.object).collect());
        }
        let (workspace, _owner) = match stream {
            Some(stream) => reserve(py, &self, stream, location, is_captured)?,
            None => (0, None),
        };
        if access == Access::Copied {
            deferred_release::release_finished();
        }
        if let (Access::Several, Some(stream)) = (access, stream) {
            // The wait for what makes the operands can be interrupted here.
            wait_until(py, || stream.query())?;
        }
        let (plan, arguments) = (self.plan, self.arguments);
        let sources: SmallVec<[&TensorView; 4]> =
            self.inputs.iter().map(|input| &input.operand.view).collect();
        let results: SmallVec<[&TensorView; 1]> =
            targets.iter().map(|target| &target.view).collect();
        // SAFETY: the operands were checked against the plan, and their objects are alive for the
        // call; the stream is the library's own, or the user vouches for it; the workspace was
        // allocated for the plan on that stream.
        release_gil(py, || unsafe {
            match (access, stream) {
                (Access::Copied, Some(stream)) => {
                    plan.execute_elsewhere(&sources, &results, arguments, stream, workspace)
                }
                _ => plan.execute(&Call {
                    inputs: &sources.iter().map(|view| view.ptr).collect::<SmallVec<[usize; 4]>>(),
                    outputs: &results.iter().map(|view| view.ptr).collect::<SmallVec<[usize; 1]>>(),
                    location,
                    arguments,
                    stream,
                    capture,
                    workspace,
                }),
            }
        })
        .or_raise(py)?;
        drop((sources, results));
        if let (Access::Direct, Some(stream)) = (access, stream) {
            for Input { object, operand } in std::mem::take(&mut self.inputs) {
                deferred_release::keep_until_done(&object, operand, stream).or_raise(py)?;
            }
            if self.blocking {
                wait_until(py, || stream.query())?;
            }
        }
        let mut arrays = Results::new();
        for Target { object, given, .. } in targets {
            if let (Some(stream), Some(given)) =
                (stream.filter(|_| access == Access::Direct), given)
            {
                deferred_release::keep_until_done(&object, given.operand, stream).or_raise(py)?;
            }
            arrays.push(object);
        }
        Ok(arrays)
    }

    /// Returns whether the stream is being captured into a graph; an error if this execution cannot
    /// be.
    fn check_capture(
        &self,
        py: Python<'_>,
        access: Access,
        stream: StreamRef,
    ) -> PyResult<CaptureStatus> {
        let refused = match access {
            Access::Several => Some(("several devices work on the operand", "use one device")),
            Access::Copied if self.plan.execution().device().is_none() => {
                Some(("execution='cpu' copies and waits", "leave it out"))
            }
            Access::Copied => Some(("the operand is in host memory", "copy it to the device")),
            Access::Direct if stream.is_legacy_default() => return Ok(CaptureStatus::NotCaptured),
            Access::Direct => None,
        };
        if let Some((what, cure)) = refused {
            return refuse_capture(py, stream, what, cure).map(|()| CaptureStatus::NotCaptured);
        }
        let capture = stream.capture_status().or_raise(py)?;
        if !capture.is_capturing() {
            return Ok(capture);
        }
        let is_new = self.plan.problem().overwritten_input().is_none()
            && self.outs.iter().any(Option::is_none);
        let refused = if self.blocking {
            Some(captured("blocking=True waits for the result", "leave it out"))
        } else if is_new && matches!(self.library, ArrayLibrary::Other) {
            Some(captured("memory for a new result would belong to it", "give out="))
        } else {
            None
        };
        refused.map_or(Ok(capture), Err).or_raise(py)
    }

    /// The memory that the results go to: what the user gave, the input that is overwritten, or new
    /// arrays of the inputs' library.
    fn targets(
        &mut self,
        py: Python<'py>,
        location: MemoryLocation,
        streams: WorkStreams,
    ) -> PyResult<SmallVec<[Target<'py>; 1]>> {
        let problem = self.plan.problem();
        let overwritten = problem.overwritten_input();
        let mut targets = SmallVec::new();
        for (index, (spec, out)) in
            problem.outputs().zip(std::mem::take(&mut self.outs)).enumerate()
        {
            let overwritten =
                overwritten.filter(|_| index == 0).and_then(|input| self.inputs.get(input));
            targets.push(if let Some(given) = out {
                let (object, view) = (given.object.clone(), given.operand.view.clone());
                Target { object, view, given: Some(given) }
            } else if let Some(input) = overwritten {
                let (object, view) = (input.object.clone(), input.operand.view.clone());
                Target { object, view, given: None }
            } else {
                let object = self.stream.as_ref().map(|stream| &stream.object);
                let first = &self.inputs[0];
                let new = streams.allocate(py, || {
                    self.library.empty(&first.object, first, spec.layout, spec.dtype, object)
                })?;
                Target { view: spec.view_at(new.ptr, location), object: new.array, given: None }
            });
        }
        Ok(targets)
    }
}
