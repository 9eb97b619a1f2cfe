//! One execution of a plan on arrays of any library.

use std::sync::Arc;

use gpumath_core::device::{CaptureStatus, RelaxedCapture, StreamRef};
use gpumath_core::operation::{Call, Execution, Operation, Plan, Problem, captured};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::operands::Input;
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
    /// In the order of the operation's arguments.
    pub(crate) inputs: &'a mut [Input<'py>],
    /// The arrays that the user gave for the results. New ones are allocated for `None`, and for
    /// those that are missing at the end.
    pub(crate) outs: &'a mut [Option<Input<'py>>],
    pub(crate) arguments: O::Arguments,
    /// By default the current stream of the inputs' library.
    pub(crate) stream: Option<&'a UserStream<'py>>,
    /// Keeps device memory to work in for the next execution. By default a pool lends it for this
    /// one.
    pub(crate) workspace: Option<&'a PyWorkspace>,
    /// Whether to wait for the results.
    pub(crate) blocking: bool,
}

/// The results of one execution.
pub(crate) type Results<'py> = SmallVec<[Bound<'py, PyAny>; 2]>;

/// Addresses of inputs or of results.
type Addresses = SmallVec<[usize; 4]>;

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
    array: Bound<'py, PyAny>,
    /// Address of the element at index (0, …, 0).
    ptr: usize,
}

impl<'py, O: Operation> Invocation<'_, 'py, O> {
    /// Checks whether the plan can be executed on these operands, before anything happens.
    pub(crate) fn check(&self) -> gpumath_core::Result<()> {
        self.plan.check(self.inputs, self.outs)
    }

    /// Like [`check`](Self::check), for inputs that were checked before.
    pub(super) fn check_outs(&self) -> gpumath_core::Result<()> {
        self.plan.check_outs(self.inputs, self.outs)
    }

    /// Executes, and returns the results. The caller has [checked](Self::check) the operands.
    pub(crate) fn run(self, py: Python<'py>) -> PyResult<Results<'py>> {
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
        let streams = WorkStreams::of(py, self.library, location, device, self.stream)?;
        let stream = streams.work;
        let is_empty = self.plan.problem().is_empty();
        let capture = match stream {
            Some(stream) if !is_empty => self.check_capture(py, access, stream)?,
            _ => CaptureStatus::NotCaptured,
        };
        // Libraries may have to allocate results, and the driver to load what the first execution
        // needs. Neither becomes a part of the graph.
        let is_captured = capture.is_capturing();
        let _relaxed = is_captured.then(RelaxedCapture::enter).transpose().or_raise(py)?;
        let targets = self.targets(py, streams)?;
        if is_empty {
            return Ok(targets.into_iter().map(|target| target.array).collect());
        }
        let (workspace, _owner) = match stream {
            Some(stream) => reserve(py, &self, stream, location, is_captured)?,
            None => (0, None),
        };
        if access == Access::Direct {
            let call = Call {
                inputs: &self.inputs.iter().map(|input| input.ptr).collect::<Addresses>(),
                outputs: &targets.iter().map(|target| target.ptr).collect::<Addresses>(),
                location,
                arguments: self.arguments,
                stream,
                capture,
                workspace,
            };
            let plan = self.plan;
            // SAFETY: the operands were checked against the plan, and their objects are alive for
            // the call; the stream is the library's own, or the user vouches for it; the workspace
            // was allocated for the plan on that stream.
            release_gil(py, || unsafe { plan.execute(&call) }).or_raise(py)?;
            self.keep_until_done(py, stream)?;
        } else {
            self.run_and_wait(py, access, &targets, (location, stream), workspace)?;
        }
        Ok(targets.into_iter().map(|target| target.array).collect())
    }

    /// Executes where the engine does not read and write the operands itself, or is one of several
    /// devices. The results are there on return.
    fn run_and_wait(
        &self,
        py: Python<'py>,
        access: Access,
        targets: &[Target<'py>],
        (location, stream): (MemoryLocation, Option<StreamRef>),
        workspace: usize,
    ) -> PyResult<()> {
        deferred_release::release_finished();
        if let (Access::Several, Some(stream)) = (access, stream) {
            // The wait for what makes the operands can be interrupted here.
            wait_until(py, || stream.query())?;
        }
        let (plan, arguments) = (self.plan, self.arguments);
        let specs = plan.problem().outputs();
        let results: SmallVec<[TensorView; 1]> =
            specs.zip(targets).map(|(spec, target)| spec.view_at(target.ptr, location)).collect();
        let sources: SmallVec<[&TensorView; 4]> =
            self.inputs.iter().map(|input| &input.operand.view).collect();
        // SAFETY: as in `run`.
        release_gil(py, || unsafe {
            match (access, stream) {
                (Access::Copied, Some(stream)) => {
                    let results: SmallVec<[&TensorView; 1]> = results.iter().collect();
                    plan.execute_elsewhere(&sources, &results, arguments, stream, workspace)
                }
                _ => plan.execute(&Call {
                    inputs: &sources.iter().map(|view| view.ptr).collect::<Addresses>(),
                    outputs: &results.iter().map(|view| view.ptr).collect::<Addresses>(),
                    location,
                    arguments,
                    stream,
                    capture: CaptureStatus::NotCaptured,
                    workspace,
                }),
            }
        })
        .or_raise(py)
    }

    /// Keeps what was borrowed from operands until the work on `stream` is done, and waits for that
    /// work if the user wants it.
    fn keep_until_done(self, py: Python<'py>, stream: Option<StreamRef>) -> PyResult<()> {
        let Some(stream) = stream else { return Ok(()) };
        for input in self.inputs.iter_mut().chain(self.outs.iter_mut().flatten()) {
            deferred_release::keep_until_done(&input.object, &mut input.operand, stream)
                .or_raise(py)?;
        }
        if self.blocking { wait_until(py, || stream.query()) } else { Ok(()) }
    }

    /// Returns whether the stream is being captured into a graph; an error if this execution cannot
    /// be.
    fn check_capture(
        &self,
        py: Python<'_>,
        access: Access,
        stream: StreamRef,
    ) -> PyResult<CaptureStatus> {
        let name = || self.plan.problem().input(0).map_or("the operand", |spec| spec.name);
        let refused = match access {
            Access::Several => {
                Some((format!("several devices work on {}", name()), "use one device"))
            }
            Access::Copied if self.plan.execution().device().is_none() => {
                Some(("execution='cpu' copies and waits".into(), "leave it out"))
            }
            Access::Copied => {
                Some((format!("{} is in host memory", name()), "copy it to the device"))
            }
            Access::Direct if stream.is_legacy_default() => return Ok(CaptureStatus::NotCaptured),
            Access::Direct => None,
        };
        if let Some((what, cure)) = refused {
            return refuse_capture(py, stream, &what, cure).map(|()| CaptureStatus::NotCaptured);
        }
        let capture = stream.capture_status().or_raise(py)?;
        if !capture.is_capturing() {
            return Ok(capture);
        }
        let problem = self.plan.problem();
        let is_new = (0..).zip(problem.outputs()).any(|(index, _)| {
            self.given(index).is_none() && problem.overwritten_input(index).is_none()
        });
        let refused = if self.blocking {
            Some(captured("blocking=True waits for the result", "leave it out"))
        } else if is_new && matches!(self.library, ArrayLibrary::Other) {
            Some(captured("memory for a new result would belong to it", "give out="))
        } else {
            None
        };
        refused.map_or(Ok(capture), Err).or_raise(py)
    }

    /// The array that the user gave for a result.
    fn given(&self, index: usize) -> Option<&Input<'py>> {
        self.outs.get(index).and_then(Option::as_ref)
    }

    /// The memory that the results go to: what the user gave, the input that is overwritten, or new
    /// arrays of the inputs' library.
    fn targets(
        &self,
        py: Python<'py>,
        streams: WorkStreams,
    ) -> PyResult<SmallVec<[Target<'py>; 1]>> {
        let problem = self.plan.problem();
        let mut targets = SmallVec::new();
        for (index, spec) in problem.outputs().enumerate() {
            let overwritten =
                problem.overwritten_input(index).and_then(|input| self.inputs.get(input));
            targets.push(if let Some(array) = self.given(index).or(overwritten) {
                Target { array: array.object.clone(), ptr: array.ptr }
            } else {
                let (first, stream) = (&self.inputs[0], self.stream.map(|stream| &stream.object));
                let new = streams.allocate(py, || {
                    self.library.empty(&first.object, first, spec.layout, spec.dtype, stream)
                })?;
                Target { array: new.array, ptr: new.ptr }
            });
        }
        Ok(targets)
    }
}
