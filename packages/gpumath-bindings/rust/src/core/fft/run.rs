//! One execution of a plan: operand, result, workspace.

use std::sync::Arc;

use gpumath_core::Error;
use gpumath_core::device::{CaptureStatus, RelaxedCapture, StreamRef};
use gpumath_core::fft::{Direction, Execution, FftPlan as Plan, Norm, Problem, Transform};
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::FftPlan;
use crate::core::device::wait;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{self, Library, Operand};

impl FftPlan {
    /// Makes a plan that is in no cache; not while the stream that it will run on is captured.
    pub(super) fn make(
        py: Python<'_>,
        problem: Problem,
        execution: Execution,
        cached: bool,
        operand: &TensorView,
        library: Library,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Some(devices) = execution.devices() {
            devices.check().or_raise(py)?;
        }
        // Several devices wait anyway, and are not a matter of the stream of one of them.
        if let Some(device) = execution.device().filter(|_| execution.devices().is_none()) {
            let stream = match stream {
                Some(stream) => interop::stream_handle(stream)?,
                None if operand.device == MemoryLocation::Host => 0,
                None => library.current_stream(py, device)?,
            };
            refuse_capture(
                py,
                stream,
                device,
                "a plan is made",
                "make it before the capture begins",
            )?;
        }
        let plan = release_gil(py, || {
            if cached {
                Plan::cached(problem, execution)
            } else {
                Plan::new(problem, execution).map(Arc::new)
            }
        });
        Ok(Self { plan: plan.or_raise(py)? })
    }

    /// Runs on an operand that the plan fits, and that `source` looks into; a stream comes with its handle.
    #[expect(clippy::too_many_arguments, reason = "what `run` and `transform` have in common")]
    pub(super) fn run_on<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        source: Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        direction: Direction,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
        workspace: Option<&Bound<'py, PyAny>>,
        blocking: bool,
        norm: Option<Norm>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let problem = self.plan.problem();
        let factor = problem.factor(norm, direction);
        if let (MemoryLocation::Host, Execution::Cuda { device }) =
            (source.device, self.plan.execution())
        {
            return self.run_from_host(
                py, operand, &source, library, out, direction, factor, stream, workspace, device,
            );
        }
        if self.plan.execution().devices().is_some() {
            return self.run_multi(py, operand, &source, library, out, direction, factor, stream);
        }
        let device = self.plan.execution().device();
        let handle = match (stream, device) {
            (Some((_, handle)), _) => handle,
            (None, Some(device)) => library.current_stream(py, device)?,
            (None, None) => 0,
        };
        // SAFETY: the handle is the library's own, or the user guarantees that it is valid. On the CPU it is not used.
        let order = unsafe { StreamRef::new(device.unwrap_or(0), handle) };
        let capture = match device {
            Some(_) if !order.is_legacy_default() => Some(order.capture_status().or_raise(py)?),
            _ => None,
        };
        let captured = capture.is_some_and(CaptureStatus::is_capturing);
        let is_new = out.is_none() && !problem.inplace;
        if captured && blocking {
            return Err(captured_error("blocking=True waits for the result", "leave it out"))
                .or_raise(py);
        }
        if captured && is_new && matches!(library, Library::Other) {
            return Err(captured_error("memory for a new result would belong to it", "give out="))
                .or_raise(py);
        }
        // Libraries may have to allocate for the result, and the driver to load what the first execution needs.
        let _relaxed = captured.then(RelaxedCapture::enter).transpose().or_raise(py)?;
        let stream_object = stream.map(|(stream, _)| stream);
        let (result, address, target) =
            self.result(operand, &source, library, out, handle, stream_object)?;
        self.check_sharing(source.ptr, address)?;
        let (scratch, _owner) = self.workspace(workspace, operand, stream, handle, captured)?;
        let ptr = source.ptr;
        // SAFETY: the views were checked against the plan's layouts and their objects are alive for the call; for the
        // stream and the workspace the caller vouches, as the documentation says.
        release_gil(py, || unsafe {
            let transform = Transform { input: ptr, output: address, direction, factor };
            self.plan.execute(transform, order, capture, scratch)
        })
        .or_raise(py)?;
        interop::pending::keep(operand, source, handle).or_raise(py)?;
        if let (Some(out), Some(target)) = (out, target) {
            interop::pending::keep(out, target, handle).or_raise(py)?;
        }
        if device.is_some() && blocking {
            wait(py, || order.query())?;
        }
        Ok(result)
    }

    /// What the result goes to, its address, and the view of an array that the user gave.
    pub(super) fn result<'py>(
        &self,
        operand: &Bound<'py, PyAny>,
        source: &Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        handle: usize,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, usize, Option<Operand>)> {
        let problem = self.plan.problem();
        if let Some(out) = out {
            let view = interop::out_view(operand, out, Some(handle))?;
            let place = match self.plan.execution().devices() {
                Some(_) => self.place_of(&view),
                None => source.device,
            };
            check_view(place, &view, "out", problem.output_dtype(), &problem.output, true)?;
            if !problem.inplace && view.overlaps(source) && view.ptr != source.ptr {
                return Err(PyValueError::new_err(
                    "out and the operand overlap in memory; give memory of its own",
                ));
            }
            let address = view.ptr;
            return Ok((out.clone(), address, Some(view)));
        }
        if problem.inplace {
            return Ok((operand.clone(), source.ptr, None));
        }
        let empty =
            library.empty(operand, source, &problem.output, problem.output_dtype(), stream)?;
        Ok((empty.array, empty.ptr, None))
    }

    /// The address of one side, and what to keep until the work is done: a bare address is taken as it is, an operand
    /// is checked against the plan.
    pub(super) fn address(
        &self,
        side: &str,
        operand: &Bound<'_, PyAny>,
        dtype: DType,
        layout: &Layout,
        written: bool,
        stream: usize,
    ) -> PyResult<(usize, Option<Operand>)> {
        if let Ok(address) = operand.cast::<PyInt>() {
            return Ok((address.extract()?, None));
        }
        let view = interop::view(operand, Some(stream))?;
        check_view(self.place_of(&view), &view, side, dtype, layout, written)?;
        Ok((view.ptr, view.owner.is_some().then_some(view)))
    }

    /// Refuses an operand that does not fit the plan. For a plan on a GPU, host memory will do.
    pub(super) fn check_operand(&self, view: &TensorView) -> PyResult<()> {
        let problem = self.plan.problem();
        let place = if view.device == MemoryLocation::Host {
            MemoryLocation::Host
        } else {
            self.place_of(view)
        };
        check_view(place, view, "operand", problem.input_dtype(), &problem.input, problem.inplace)
    }

    /// Input and output are the same memory exactly if the plan works in place.
    pub(super) fn check_sharing(&self, source: usize, result: usize) -> PyResult<()> {
        let problem = self.plan.problem();
        if (source == result) == problem.inplace || problem.input.is_empty() {
            return Ok(());
        }
        Err(PyValueError::new_err(if problem.inplace {
            "this plan works in place: input and output have to be the same memory"
        } else {
            "this plan works out of place: input and output must not be the same memory"
        }))
    }

    /// Device memory for one execution: address and owner.
    pub(super) fn workspace<'py>(
        &self,
        source: Option<&Bound<'py, PyAny>>,
        operand: &Bound<'py, PyAny>,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
        handle: usize,
        captured: bool,
    ) -> PyResult<(usize, Option<Bound<'py, PyAny>>)> {
        let size = self.plan.workspace_size();
        let (Some(source), Some(device), true) = (source, self.plan.execution().device(), size > 0)
        else {
            return Ok((0, None));
        };
        let block = match stream {
            Some((stream, _)) => source.call1((operand, size, device, stream, captured)),
            None => source.call1((operand, size, device, handle, captured)),
        };
        let (address, owner) = block?.extract()?;
        Ok((address, Some(owner)))
    }
}

/// Refuses a view that is not of this place, element type and layout, or is to be written and cannot be.
fn check_view(
    place: MemoryLocation,
    view: &TensorView,
    side: &str,
    dtype: DType,
    layout: &Layout,
    written: bool,
) -> PyResult<()> {
    if view.dtype != dtype || !view.layout.is_equivalent(layout) || view.device != place {
        let wanted =
            TensorView { ptr: 0, dtype, layout: layout.clone(), device: place, readonly: false };
        return Err(PyValueError::new_err(format!(
            "the plan was made for an {side} of {}, and this one is of {}; copy it to that, or make another plan",
            wanted.describe(),
            view.describe()
        )));
    }
    if written && view.readonly {
        return Err(PyValueError::new_err(format!("the {side} is read-only")));
    }
    Ok(())
}

/// Raises InvalidStateError if a stream is captured into a graph, which what is about to be done would break.
pub(super) fn refuse_capture(
    py: Python<'_>,
    stream: usize,
    device: i32,
    what: &str,
    cure: &str,
) -> PyResult<()> {
    // SAFETY: the handle is the library's own, or the user vouches for it.
    match unsafe { StreamRef::new(device, stream) }.is_capturing() {
        Ok(true) => Err(captured_error(what, cure)).or_raise(py),
        // Without a device nothing is captured, and other reasons may come first.
        Ok(false) | Err(Error::NoDevice(_)) => Ok(()),
        Err(error) => Err(error).or_raise(py),
    }
}

pub(super) fn captured_error(what: &str, cure: &str) -> Error {
    Error::InvalidState(format!(
        "the stream is being captured into a graph: {what}, which cannot be captured; {cure}"
    ))
}
