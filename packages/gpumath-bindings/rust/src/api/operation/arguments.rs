//! The words and numbers that users choose with.

use std::num::NonZeroUsize;

use gpumath_core::device::Devices;
use gpumath_core::operation::{Execution, usable_cores};
use gpumath_core::tensor::{Dims, MemoryLocation};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::integers::Integers;

/// Where to compute, as a user says it; `None` leaves the choice to the operand.
#[derive(Default)]
pub(crate) struct ExecutionArguments<'a> {
    /// `"cpu"` or `"cuda"`.
    pub(crate) execution: Option<&'a str>,
    /// Device for operands in host memory.
    pub(crate) device_id: Option<i32>,
    /// Several devices that work together.
    pub(crate) device_ids: Option<Integers<i32>>,
    /// Threads on the CPU, from [`thread_limit`].
    pub(crate) num_threads: Option<NonZeroUsize>,
}

impl ExecutionArguments<'_> {
    /// Decides where operands at `location` are computed.
    pub(crate) fn resolve(&self, py: Python<'_>, location: MemoryLocation) -> PyResult<Execution> {
        if let Some(ids) = &self.device_ids {
            return self.on_several(Devices::new(&ids.0).or_raise(py)?, location);
        }
        let on_cuda = match self.execution {
            Some(name) => choice("execution", name, ["cpu", "cuda"])? == 1,
            None => location != MemoryLocation::Host,
        };
        if on_cuda {
            let device = match (location, self.device_id) {
                (MemoryLocation::Device(operand), Some(asked)) if operand != asked => {
                    return Err(PyValueError::new_err(format!(
                        "device_id is {asked}, but the operand is on device {operand}; copy it \
                         there, or leave device_id out"
                    )));
                }
                (MemoryLocation::Device(operand), _) => operand,
                (MemoryLocation::Host, asked) => asked.unwrap_or(0),
            };
            return Ok(Execution::Cuda { device });
        }
        Ok(Execution::Cpu { threads: self.num_threads.unwrap_or_else(usable_cores) })
    }

    fn on_several(&self, devices: Devices, location: MemoryLocation) -> PyResult<Execution> {
        if self.execution == Some("cpu") || self.device_id.is_some() {
            return Err(PyValueError::new_err(
                "device_ids names the CUDA devices that work together; give neither device_id nor \
                 execution=\"cpu\" with it",
            ));
        }
        let execution = Execution::CudaMulti { devices };
        if execution.reaches(location) {
            return Ok(execution);
        }
        Err(PyValueError::new_err(format!(
            "the operand is {}, but device_ids is {:?}; copy it to one of them or to host memory, \
             or name its device too",
            location.describe(),
            devices.ordinals()
        )))
    }
}

/// Reads the argument `num_threads`: an integer, or None for one thread for each usable core.
pub(crate) fn thread_limit(given: &Bound<'_, PyAny>) -> PyResult<Option<NonZeroUsize>> {
    if given.is_none() {
        return Ok(None);
    }
    match given.extract::<i32>().map(|count| usize::try_from(count).map(NonZeroUsize::new)) {
        Ok(Ok(Some(count))) => Ok(Some(count)),
        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
            Err(PyTypeError::new_err(format!(
                "num_threads is {}; an integer of at least 1, or None for one thread for each \
                 usable core, is needed",
                given.repr()?
            )))
        }
        _ => Err(PyValueError::new_err(format!(
            "num_threads is {}, but at least one thread and at most {} are possible; None means \
             one for each usable core",
            given.repr()?,
            i32::MAX
        ))),
    }
}

/// Returns the position of `value` among `allowed`.
pub(crate) fn choice<const N: usize>(
    name: &str,
    value: &str,
    allowed: [&str; N],
) -> PyResult<usize> {
    allowed.iter().position(|&candidate| candidate == value).ok_or_else(|| {
        PyValueError::new_err(format!("{name} is {value:?}; allowed are {}", allowed.join(", ")))
    })
}

/// Reads a sequence of axes; `None` means all axes.
pub(crate) fn axes(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Dims>> {
    let Some(given) = given else { return Ok(None) };
    match given.extract::<Integers<i64>>() {
        Ok(axes) => Ok(Some(Dims::from_vec(axes.0))),
        Err(error) => {
            let message = format!(
                "axes is {}; a sequence of integers, such as [0, 1], or None is needed",
                given.repr()?
            );
            let refusal = if error.is_instance_of::<PyTypeError>(given.py()) {
                PyTypeError::new_err(message)
            } else {
                PyValueError::new_err(message)
            };
            Err(refusal)
        }
    }
}

/// Returns a `ValueError` with the argument's name instead of the `OverflowError` for an integer
/// that no float64 is near to; any other error as it is.
pub(crate) fn without_overflow(name: &str, number: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(number.py()) {
        return error;
    }
    // Python writes no integers of thousands of digits.
    PyValueError::new_err(format!(
        "{name} is a number that is too large for float64; give one of at most {:e}",
        f64::MAX
    ))
}
