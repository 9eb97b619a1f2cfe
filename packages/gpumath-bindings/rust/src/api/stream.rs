//! The class `Stream`, and functions for streams of any library.

use gpumath_core::device::{Event, Stream, StreamRef};
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;

use super::event::PyEvent;
use super::wait::wait_until;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{self, stream_handle};

/// A new stream, which does not wait for the legacy default stream.
///
/// Parameters
/// ----------
/// device_id : int, default: 0
///     CUDA device.
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
/// ...     stream = core.Stream()
/// ...     stream.synchronize()
#[pyclass(frozen, name = "Stream", module = "gpumath.bindings.core")]
pub(crate) struct PyStream(Stream);

#[pymethods]
impl PyStream {
    #[new]
    #[pyo3(signature = (device_id=0))]
    fn new(py: Python<'_>, device_id: i32) -> PyResult<Self> {
        release_gil(py, || Stream::new(device_id)).or_raise(py).map(Self)
    }

    /// The stream's cudaStream_t.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle()
    }

    /// Ordinal of the stream's device.
    #[getter]
    fn device_id(&self) -> i32 {
        self.0.device()
    }

    /// Return the version of this protocol, by which libraries exchange streams, and the handle.
    fn __cuda_stream__(&self) -> (i32, usize) {
        (0, self.0.handle())
    }

    /// Wait until the stream's work is done. Signals such as Ctrl-C end the wait, but not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait_until(py, || self.0.query())
    }

    /// Record the work that is on the stream now, in a new event.
    fn record(&self, py: Python<'_>) -> PyResult<PyEvent> {
        let event = release_gil(py, || {
            let event = Event::new(self.0.device(), false)?;
            // SAFETY: the stream lives as long as `self`.
            event.record(unsafe { self.0.stream_ref() }).map(|()| event)
        });
        event.or_raise(py).map(PyEvent)
    }

    /// Make work that is enqueued from now on start after the work that `event` has recorded.
    fn wait(&self, py: Python<'_>, event: &PyEvent) -> PyResult<()> {
        release_gil(py, || self.0.wait(&event.0)).or_raise(py)
    }

    fn __repr__(&self) -> String {
        format!("Stream(handle={:#x}, device_id={})", self.0.handle(), self.0.device())
    }
}

/// Return the handle of a stream, as an int.
///
/// Parameters
/// ----------
/// stream : int or stream object
///     A `cudaStream_t`, a stream of CuPy, PyTorch or Numba, or an object with
///     ``__cuda_stream__()``.
///
/// Raises
/// ------
/// TypeError
///     The stream is none of these.
/// ValueError
///     The handle is negative, or larger than an address.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.stream_handle(2)
/// 2
#[pyfunction(name = "stream_handle")]
pub(crate) fn handle_of(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    stream_handle(stream)
}

/// Wait until the work of any library's stream is done.
///
/// Parameters
/// ----------
/// stream : int or stream object
///     A `cudaStream_t`, a stream of CuPy, PyTorch or Numba, or an object with
///     ``__cuda_stream__()``.
/// device_id : int, default: 0
///     CUDA device of the stream.
/// interruptible : bool, default: True
///     Whether signals such as Ctrl-C end the wait, though not the work. With False they are
///     handled when the work is done, for callers that then free memory which the work uses.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     core.synchronize_stream(0)  # the default stream
#[pyfunction]
#[pyo3(signature = (stream, *, device_id=0, interruptible=true))]
pub(crate) fn synchronize_stream(
    stream: &Bound<'_, PyAny>,
    device_id: i32,
    interruptible: bool,
) -> PyResult<()> {
    let handle = stream_handle(stream)?;
    let py = stream.py();
    // SAFETY: the user vouches for the handle, as the documentation says.
    let stream = unsafe { StreamRef::new(device_id, handle) };
    if interruptible {
        wait_until(py, || stream.query())
    } else {
        release_gil(py, || stream.synchronize()).or_raise(py)
    }
}

/// Make work that is enqueued on one stream from now on wait for the work that is on another now.
///
/// Parameters
/// ----------
/// first, then : int or stream object
///     Streams of any library, as for `synchronize_stream`. Nothing happens if they are the same,
///     or if ``then`` is being captured into a graph, which is launched later.
/// device_id : int, default: 0
///     Their CUDA device.
///
/// Raises
/// ------
/// InvalidStateError
///     ``first`` is being captured into a graph, and ``then`` is not.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     stream = core.Stream()
/// ...     core.order_streams(0, stream)  # after the default stream's work
#[pyfunction]
#[pyo3(signature = (first, then, *, device_id=0))]
pub(crate) fn order_streams(
    first: &Bound<'_, PyAny>,
    then: &Bound<'_, PyAny>,
    device_id: i32,
) -> PyResult<()> {
    let (py, first, then) = (then.py(), stream_handle(first)?, stream_handle(then)?);
    // SAFETY: the user vouches for the handles, as the documentation says.
    release_gil(py, || unsafe {
        let (first, then) = (StreamRef::new(device_id, first), StreamRef::new(device_id, then));
        then.order_after(first)
    })
    .or_raise(py)
}

/// Say whether work that is enqueued on a stream is captured into a CUDA graph, instead of run.
///
/// Parameters
/// ----------
/// stream : int or stream object
///     A stream of any library, as for `synchronize_stream`. For the legacy default stream the
///     answer is whether any stream is being captured that it would wait for.
/// device_id : int, default: 0
///     CUDA device of the stream.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     assert not core.is_capturing(core.Stream())
#[pyfunction]
#[pyo3(signature = (stream, *, device_id=0))]
pub(crate) fn is_capturing(stream: &Bound<'_, PyAny>, device_id: i32) -> PyResult<bool> {
    let handle = stream_handle(stream)?;
    // SAFETY: the user vouches for the handle, as the documentation says.
    unsafe { StreamRef::new(device_id, handle) }.is_capturing().or_raise(stream.py())
}

/// Return the handle of the current stream of an operand's library.
///
/// Parameters
/// ----------
/// operand : array
///     Any operand of `TensorView`.
///
/// Returns
/// -------
/// int
///     The current stream of CuPy or PyTorch on the operand's device; 0, the default stream, for
///     other operands.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.current_stream(np.zeros(3))
/// 0
#[pyfunction]
pub(crate) fn current_stream(operand: &Bound<'_, PyAny>) -> PyResult<usize> {
    let (view, library) = interop::view("the operand", operand, None)?;
    match view.device {
        MemoryLocation::Host => Ok(0),
        MemoryLocation::Device(ordinal) => library.current_stream(operand.py(), ordinal),
    }
}
