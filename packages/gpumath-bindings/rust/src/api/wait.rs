//! Waits that signals such as Ctrl-C can end.

use gpumath_core::device::PollingWait;
use gpumath_core::error::Foreign;
use gpumath_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::{acquire_gil, release_gil};

/// Blocks until `is_done` says so, or until the handler of a signal raises an exception such as
/// `KeyboardInterrupt`. The exception ends the wait, but not the work of the GPU.
pub(crate) fn wait_until(
    py: Python<'_>,
    mut is_done: impl FnMut() -> Result<bool> + Send,
) -> PyResult<()> {
    let wait = PollingWait::start();
    while !release_gil(py, || wait.poll_round(&mut is_done)).or_raise(py)? {
        py.check_signals()?;
    }
    Ok(())
}

/// Returns the exception that the handler of a signal raises, if one has come, as an error. Long
/// work on the CPU ends with it.
pub(crate) fn check_signals() -> Result<()> {
    let mut checked = Ok(());
    acquire_gil(|py| checked = py.check_signals());
    checked.map_err(|error| Error::Foreign(Foreign::new(error)))
}
