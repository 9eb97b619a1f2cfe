//! Plans for several devices.

use gpumath_core::device::{Devices, StreamRef};
use gpumath_core::fft::{Direction, Execution, Transform};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::FftPlan;
use super::run::refuse_capture;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{Library, Operand};

/// Where a transform on several devices runs, if the other choices and the operand allow it.
pub(super) fn execution(
    devices: Devices,
    execution: Option<&str>,
    operand: MemoryLocation,
    device_id: Option<i32>,
) -> PyResult<Execution> {
    if execution == Some("cpu") || device_id.is_some() {
        return Err(PyValueError::new_err(
            "device_ids names the CUDA devices that work together; give neither device_id nor execution=\"cpu\" with it",
        ));
    }
    match operand {
        MemoryLocation::Device(device) if !devices.ordinals().contains(&device) => {
            Err(PyValueError::new_err(format!(
                "the operand is on device {device}, and device_ids is {:?}; copy it to one of them or to host memory, or \
                 name its device too",
                devices.ordinals()
            )))
        }
        _ => Ok(Execution::CudaMulti { devices }),
    }
}

impl FftPlan {
    /// Where a view has to be to fit the plan: for several devices where it is, if they reach that.
    pub(super) fn place_of(&self, view: &TensorView) -> MemoryLocation {
        let execution = self.plan.execution();
        match (execution.devices(), view.device) {
            (Some(_), MemoryLocation::Host) => MemoryLocation::Host,
            (Some(devices), MemoryLocation::Device(device))
                if devices.ordinals().contains(&device) =>
            {
                view.device
            }
            _ => execution.device().map_or(MemoryLocation::Host, MemoryLocation::Device),
        }
    }

    /// Runs on several devices, on an operand that `source` looks into, and waits for the result.
    #[expect(clippy::too_many_arguments, reason = "those of `run_on` that matter here")]
    pub(super) fn run_multi<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        source: &Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        direction: Direction,
        factor: Option<f64>,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = match source.device {
            MemoryLocation::Host => None,
            MemoryLocation::Device(device) => Some(device),
        };
        // Nothing is put on a stream for operands in host memory.
        let stream = stream.filter(|_| place.is_some());
        let handle = match (place, stream) {
            (None, _) => 0,
            (Some(_), Some((_, handle))) => handle,
            (Some(device), None) => library.current_stream(py, device)?,
        };
        if let Some(device) = place {
            let what = "several devices work on the operand";
            refuse_capture(py, handle, device, what, "use one device")?;
        }
        let stream = stream.map(|(stream, _)| stream);
        let (result, address, target) =
            self.result(operand, source, library, out, handle, stream)?;
        if target.is_some_and(|target| target.device != source.device) {
            return Err(PyValueError::new_err(
                "out and the operand are not on the same device; give an array that is where the operand is",
            ));
        }
        self.check_sharing(source.ptr, address)?;
        if let Some(device) = place {
            // Such that the user can leave the wait.
            // SAFETY: the handle is the library's own, or the user vouches for it.
            crate::core::device::wait(py, || unsafe { StreamRef::new(device, handle) }.query())?;
        }
        let (input, location) = (source.ptr, source.device);
        // SAFETY: the views were checked against the plan's layouts, and their objects are alive for the call; for the
        // stream the caller vouches.
        release_gil(py, || unsafe {
            let transform = Transform { input, output: address, direction, factor };
            let stream = StreamRef::new(place.unwrap_or(0), handle);
            self.plan.execute_multi(transform, location, stream)
        })
        .or_raise(py)?;
        Ok(result)
    }
}
