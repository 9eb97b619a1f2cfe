//! The function that runs when the interpreter exits.

use gpumath_core::{device, memory};
use pyo3::prelude::*;

use crate::gil::release_gil;
use crate::interop::deferred_release;

/// Free what is no longer used, borrowed memory above all, and leave the rest to the end of the
/// process. The package registers this function to run when the interpreter exits.
#[pyfunction]
pub(crate) fn _close(py: Python<'_>) {
    deferred_release::release_finished();
    release_gil(py, || {
        device::drop_released();
        memory::free_idle_staging_buffers();
        device::begin_shutdown();
    });
}
