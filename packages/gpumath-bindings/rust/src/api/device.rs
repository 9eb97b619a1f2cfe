//! `Device`, `Stream`, `Event`

use std::sync::mpsc::TryRecvError;

use gpumath_core::{Result, device, memory, tensor};
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{Named, OperandProtocol, deferred_release, stream_handle};

/// Waits until `is_done` says so. What the handler of a signal raises, such as `KeyboardInterrupt`, ends the wait; the
/// GPU's work goes on.
pub(crate) fn wait(
    py: Python<'_>,
    mut is_done: impl FnMut() -> Result<bool> + Send,
) -> PyResult<()> {
    let wait = device::PollingWait::start();
    while !release_gil(py, || wait.poll_round(&mut is_done)).or_raise(py)? {
        py.check_signals()?;
    }
    Ok(())
}

/// A CUDA device that this process sees.
///
/// Parameters
/// ----------
/// device_id : int, default: 0
///     Its ordinal.
///
/// Raises
/// ------
/// NoDeviceError
///     There is no driver, or no such device.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.Device.count() >= 0
/// True
#[pyclass(frozen, eq, hash, module = "gpumath.bindings.core")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Device(device::Device);

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (device_id=0))]
    fn new(py: Python<'_>, device_id: i32) -> PyResult<Self> {
        release_gil(py, || device::Device::new(device_id)).or_raise(py).map(Self)
    }

    /// Number of CUDA devices that this process sees; 0 without a driver.
    #[staticmethod]
    fn count(py: Python<'_>) -> PyResult<i32> {
        release_gil(py, device::count).or_raise(py)
    }

    /// Its ordinal.
    #[getter]
    fn id(&self) -> i32 {
        self.0.ordinal()
    }

    /// Its name, such as "NVIDIA H200".
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.0.name().or_raise(py)
    }

    /// Major and minor number of its compute capability.
    #[getter]
    fn compute_capability(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        self.0.compute_capability().or_raise(py)
    }

    /// Bytes of memory that it has.
    #[getter]
    fn total_memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.total_memory().or_raise(py)
    }

    /// Bytes that are free now, and bytes in all.
    fn memory_info(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        release_gil(py, || self.0.memory_info()).or_raise(py)
    }

    /// Wait for all work of the device. Signals such as Ctrl-C end the wait, and not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.0.spawn_synchronize();
        wait(py, move || match answer.try_recv() {
            Ok(result) => result.map(|()| true),
            Err(TryRecvError::Empty) => Ok(false),
            // The other thread is gone without an answer.
            Err(TryRecvError::Disconnected) => self.0.synchronize().map(|()| true),
        })
    }

    fn __repr__(&self) -> String {
        format!("Device({})", self.0.ordinal())
    }
}

/// Give the newest CUDA release that the driver supports, such as "13.0".
///
/// Raises
/// ------
/// LibraryNotFoundError
///     There is no driver.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     assert float(core.driver_version()) >= 12
#[pyfunction]
pub(crate) fn driver_version(py: Python<'_>) -> PyResult<String> {
    let (major, minor) = release_gil(py, device::driver_version).or_raise(py)?;
    Ok(format!("{major}.{minor}"))
}

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
#[pyclass(frozen, module = "gpumath.bindings.core")]
pub(crate) struct Stream(device::Stream);

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (device_id=0))]
    fn new(py: Python<'_>, device_id: i32) -> PyResult<Self> {
        release_gil(py, || device::Stream::new(device_id)).or_raise(py).map(Self)
    }

    /// The cudaStream_t.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle()
    }

    /// Ordinal of its device.
    #[getter]
    fn device_id(&self) -> i32 {
        self.0.device()
    }

    /// The protocol by which libraries take each other's streams: version and handle.
    fn __cuda_stream__(&self) -> (i32, usize) {
        (0, self.0.handle())
    }

    /// Wait until its work is done. Signals such as Ctrl-C end the wait, and not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.0.query())
    }

    /// Record the work that is on it now, in a new event.
    fn record(&self, py: Python<'_>) -> PyResult<Event> {
        let event = release_gil(py, || {
            let event = device::Event::new(self.0.device(), false)?;
            // SAFETY: the stream lives as long as self.
            event.record(unsafe { self.0.stream_ref() }).map(|()| event)
        });
        event.or_raise(py).map(Event)
    }

    /// Work enqueued from now on starts after the work that `event` recorded.
    fn wait(&self, py: Python<'_>, event: &Event) -> PyResult<()> {
        release_gil(py, || self.0.wait(&event.0)).or_raise(py)
    }

    fn __repr__(&self) -> String {
        format!("Stream(handle={:#x}, device_id={})", self.0.handle(), self.0.device())
    }
}

/// Give the handle of a stream, as an int.
///
/// Parameters
/// ----------
/// stream : int or stream object
///     A `cudaStream_t`, a stream of CuPy, PyTorch or Numba, or an object with ``__cuda_stream__()``.
///
/// Raises
/// ------
/// TypeError
///     It is none of these.
/// ValueError
///     It is negative.
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
///     A `cudaStream_t`, a stream of CuPy, PyTorch or Numba, or an object with ``__cuda_stream__()``.
/// device_id : int, default: 0
///     Its CUDA device.
/// interruptible : bool, default: True
///     Whether signals such as Ctrl-C end the wait, which does not end the work. Without, they are handled
///     when the work is done: for who frees memory next that the work uses.
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
    // SAFETY: the caller vouches for the handle, as the documentation says.
    let stream = unsafe { device::StreamRef::new(device_id, handle) };
    if interruptible {
        wait(py, || stream.query())
    } else {
        release_gil(py, || stream.synchronize()).or_raise(py)
    }
}

/// Make what is put on one stream from now on wait for what is on another now.
///
/// Parameters
/// ----------
/// first, then : int or stream object
///     Streams of any library, as for `synchronize_stream`. Nothing happens if they are the same, or
///     if ``then`` is being captured into a graph, which is launched later.
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
    // SAFETY: the caller vouches for the handles, as the documentation says.
    release_gil(py, || unsafe {
        let (first, then) =
            (device::StreamRef::new(device_id, first), device::StreamRef::new(device_id, then));
        then.order_after(first)
    })
    .or_raise(py)
}

/// Say whether what is put on a stream is captured into a CUDA graph, instead of run.
///
/// Parameters
/// ----------
/// stream : int or stream object
///     A stream of any library, as for `synchronize_stream`. For the legacy default stream the answer is whether a
///     stream is captured that it would wait for.
/// device_id : int, default: 0
///     Its CUDA device.
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
    // SAFETY: the caller vouches for the handle, as the documentation says.
    unsafe { device::StreamRef::new(device_id, handle) }.is_capturing().or_raise(stream.py())
}

/// Give the handle of the stream that an operand's library works on now.
///
/// Parameters
/// ----------
/// operand : array
///     What `TensorView` takes.
///
/// Returns
/// -------
/// int
///     The current stream of CuPy or PyTorch on the operand's device; 0, the default stream, for other operands.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.current_stream(np.zeros(3))
/// 0
#[pyfunction]
pub(crate) fn current_stream(operand: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = operand.py();
    let protocol = OperandProtocol::of(operand).named(py, "the operand")?;
    match protocol.view(operand, None).named(py, "the operand")?.device {
        tensor::MemoryLocation::Host => Ok(0),
        tensor::MemoryLocation::Device(ordinal) => protocol.library().current_stream(py, ordinal),
    }
}

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
#[pyclass(frozen, module = "gpumath.bindings.core")]
pub(crate) struct Event(device::Event);

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (device_id=0, *, timing=false))]
    fn new(py: Python<'_>, device_id: i32, timing: bool) -> PyResult<Self> {
        release_gil(py, || device::Event::new(device_id, timing)).or_raise(py).map(Self)
    }

    /// The cudaEvent_t.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle()
    }

    /// Ordinal of its device.
    #[getter]
    fn device_id(&self) -> i32 {
        self.0.device()
    }

    /// Record the work that is on `stream` now.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let handle = stream.map_or(Ok(0), stream_handle)?;
        // SAFETY: the caller vouches for the handle, as the documentation says.
        release_gil(py, || unsafe {
            self.0.record(device::StreamRef::new(self.0.device(), handle))
        })
        .or_raise(py)
    }

    /// Whether the recorded work is done.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.query().or_raise(py)
    }

    /// Wait until the recorded work is done. Signals such as Ctrl-C end the wait, and not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.0.query())
    }

    /// Milliseconds from the work that this event recorded to that of `end`.
    fn elapsed_ms(&self, py: Python<'_>, end: &Self) -> PyResult<f32> {
        self.0.elapsed_ms(&end.0).or_raise(py)
    }
}

/// Give back what is no longer used, borrowed memory above all, and leave everything else to the end of the process;
/// registered to run when the interpreter exits.
#[pyfunction]
pub(crate) fn _close(py: Python<'_>) {
    deferred_release::release_finished();
    release_gil(py, || {
        device::drop_released();
        memory::free_idle_staging_buffers();
        device::begin_shutdown();
    });
}
