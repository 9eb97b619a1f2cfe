//! The class `Event`.

use gpumath_core::device::{Event, StreamRef};
use pyo3::prelude::*;

use super::wait::wait_until;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::stream_handle;

/// A point in the work of a stream.
///
/// Parameters
/// ----------
/// device_id : int, default: 0
///     CUDA device.
/// timing : bool, default: False
///     Whether `elapsed_ms` may be used; recording then costs more.
///
/// Raises
/// ------
/// NoDeviceError
///     There is no such device.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     start, end = core.Event(timing=True), core.Event(timing=True)
/// ...     start.record()
/// ...     end.record()
/// ...     end.synchronize()
/// ...     assert start.elapsed_ms(end) >= 0  # milliseconds
#[pyclass(frozen, name = "Event", module = "gpumath.bindings.core")]
pub(crate) struct PyEvent(pub(super) Event);

#[pymethods]
impl PyEvent {
    #[new]
    #[pyo3(signature = (device_id=0, *, timing=false))]
    fn new(py: Python<'_>, device_id: i32, timing: bool) -> PyResult<Self> {
        release_gil(py, || Event::new(device_id, timing)).or_raise(py).map(Self)
    }

    /// The event's cudaEvent_t.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle()
    }

    /// Ordinal of the event's device.
    #[getter]
    fn device_id(&self) -> i32 {
        self.0.device()
    }

    /// Record the work that is on `stream`, by default the default stream, now.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let handle = stream.map_or(Ok(0), stream_handle)?;
        // SAFETY: the user vouches for the handle, as the documentation says.
        release_gil(py, || unsafe { self.0.record(StreamRef::new(self.0.device(), handle)) })
            .or_raise(py)
    }

    /// Say whether the recorded work is done. This does not wait.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.query().or_raise(py)
    }

    /// Wait until the recorded work is done. Signals such as Ctrl-C end the wait, but not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait_until(py, || self.0.query())
    }

    /// Return the milliseconds between the work that this event and `end` have recorded.
    fn elapsed_ms(&self, py: Python<'_>, end: &Self) -> PyResult<f32> {
        self.0.elapsed_ms(&end.0).or_raise(py)
    }
}
