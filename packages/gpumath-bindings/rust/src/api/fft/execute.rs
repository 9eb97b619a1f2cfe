//! Executions of a plan on operands or bare addresses, without allocating.

use std::sync::Arc;

use gpumath_core::Error;
use gpumath_core::device::{CaptureStatus, StreamRef};
use gpumath_core::fft::{FftArguments, FftPlan};
use gpumath_core::operation::{Call, Problem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::api::operation::address_of;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{deferred_release, stream_handle};

/// Transforms `input` to `output`, as `FftPlan.execute` says. On CUDA the work is enqueued on the
/// stream, and nothing waits for it.
pub(super) fn execute(
    py: Python<'_>,
    plan: &Arc<FftPlan>,
    input: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    arguments: FftArguments,
    stream: Option<&Bound<'_, PyAny>>,
    workspace: usize,
) -> PyResult<()> {
    let (problem, execution) = (plan.problem(), plan.execution());
    if execution.devices().is_some() {
        return Err(Error::InvalidState(
            "this plan is for several devices, which run() executes".into(),
        ))
        .or_raise(py);
    }
    let handle = stream.map_or(Ok(0), stream_handle)?;
    // SAFETY: the user vouches for the handle, as the documentation of `stream` says.
    let stream = execution.device().map(|device| unsafe { StreamRef::new(device, handle) });
    let (source, source_operand) = address_of(plan, problem.input(0), input, handle)?;
    let (result, result_operand) = address_of(plan, problem.output(0), output, handle)?;
    if result_operand.as_ref().is_some_and(|operand| operand.readonly) {
        return Err(PyValueError::new_err("the output is read-only"));
    }
    if (source == result) != problem.inplace && !problem.is_empty() {
        return Err(PyValueError::new_err(if problem.inplace {
            "this plan works in place: input and output have to be the same memory"
        } else {
            "this plan works out of place: input and output must not be the same memory"
        }));
    }
    let capture = match stream {
        Some(stream) if !stream.is_legacy_default() => stream.capture_status().or_raise(py)?,
        _ => CaptureStatus::NotCaptured,
    };
    let call = Call {
        inputs: &[source],
        outputs: &[result],
        location: execution.location(),
        arguments,
        stream,
        capture,
        workspace,
    };
    // SAFETY: operands were checked against the plan's layouts and are alive for the call. The user
    // vouches for bare addresses, the stream and the workspace, as the documentation says.
    release_gil(py, || unsafe { plan.execute(&call) }).or_raise(py)?;
    for (object, operand) in [(input, source_operand), (output, result_operand)] {
        if let (Some(mut operand), Some(stream)) = (operand, stream) {
            deferred_release::keep_until_done(object, &mut operand, stream).or_raise(py)?;
        }
    }
    Ok(())
}
