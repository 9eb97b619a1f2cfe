//! The class `Device`, and the version of the driver.

use std::sync::mpsc::TryRecvError;

use gpumath_core::device::{self, Device};
use pyo3::prelude::*;

use super::wait::wait_until;
use crate::error::OrRaise;
use crate::gil::release_gil;

/// A CUDA device that this process sees.
///
/// Parameters
/// ----------
/// device_id : int, default: 0
///     Ordinal of the device.
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
#[pyclass(frozen, eq, hash, name = "Device", module = "gpumath.bindings.core")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyDevice(Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (device_id=0))]
    fn new(py: Python<'_>, device_id: i32) -> PyResult<Self> {
        release_gil(py, || Device::new(device_id)).or_raise(py).map(Self)
    }

    /// Count the CUDA devices that this process sees; 0 without a driver.
    #[staticmethod]
    fn count(py: Python<'_>) -> PyResult<i32> {
        release_gil(py, device::count).or_raise(py)
    }

    /// Ordinal of the device.
    #[getter]
    fn id(&self) -> i32 {
        self.0.ordinal()
    }

    /// Name of the device, such as "NVIDIA H200".
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.0.name().or_raise(py)
    }

    /// Major and minor number of the device's compute capability.
    #[getter]
    fn compute_capability(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        self.0.compute_capability().or_raise(py)
    }

    /// Bytes of the device's memory.
    #[getter]
    fn total_memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.total_memory().or_raise(py)
    }

    /// Return the bytes of the device's memory that are free now, and all its bytes.
    fn memory_info(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        release_gil(py, || self.0.memory_info()).or_raise(py)
    }

    /// Wait for all work of the device. Signals such as Ctrl-C end the wait, but not the work.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.0.spawn_synchronize();
        wait_until(py, move || match answer.try_recv() {
            Ok(result) => result.map(|()| true),
            Err(TryRecvError::Empty) => Ok(false),
            // The other thread has ended without an answer, so this thread waits itself.
            Err(TryRecvError::Disconnected) => self.0.synchronize().map(|()| true),
        })
    }

    fn __repr__(&self) -> String {
        format!("Device({})", self.0.ordinal())
    }
}

/// Return the newest CUDA release that the driver supports, such as "13.0".
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
