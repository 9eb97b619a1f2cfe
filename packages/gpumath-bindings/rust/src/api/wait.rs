//! Waits that signals such as Ctrl-C can end.

use gpumath_core::Result;
use gpumath_core::device::PollingWait;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::release_gil;

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
