//! Plans for a GPU that run on operands in host memory.

use gpumath_core::device::StreamRef;
use gpumath_core::fft::Direction;
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::prelude::*;

use super::FftPlan;
use super::run::refuse_capture;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{Library, Operand, pending};

impl FftPlan {
    /// Copies the operand that `source` looks into to the plan's device, runs there, and copies the result back.
    #[expect(clippy::too_many_arguments, reason = "those of `run_on` that matter here")]
    pub(super) fn run_from_host<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        source: &Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        direction: Direction,
        factor: Option<f64>,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
        workspace: Option<&Bound<'py, PyAny>>,
        device: i32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let problem = self.plan.problem();
        let handle = stream.map_or(0, |(_, handle)| handle);
        if !problem.input.is_empty() {
            let what = "the operand is in host memory";
            refuse_capture(py, handle, device, what, "copy it to the device")?;
        }
        let (result, address, given) = self.result(operand, source, library, out, handle, None)?;
        self.check_sharing(source.ptr, address)?;
        if problem.input.is_empty() {
            return Ok(result);
        }
        pending::release_finished();
        let (scratch, _owner) = self.workspace(workspace, operand, stream, handle, false)?;
        let new;
        let target = if let Some(given) = &given {
            &given.view
        } else {
            new = TensorView {
                ptr: address,
                dtype: problem.output_dtype(),
                layout: problem.output.clone(),
                device: MemoryLocation::Host,
                readonly: false,
            };
            &new
        };
        let source = &source.view;
        // SAFETY: the views were checked against the plan's layouts and their objects are alive for the call; for the
        // stream and the workspace the caller vouches, as the documentation of `run` says.
        release_gil(py, || unsafe {
            let stream = StreamRef::new(device, handle);
            self.plan.execute_from_host(source, target, direction, factor, stream, scratch)
        })
        .or_raise(py)?;
        Ok(result)
    }
}
