//! `gpumath.bindings._core`.
use pyo3::prelude::*;

/// The extension module.
#[pymodule(gil_used = false)]
mod _core {}
