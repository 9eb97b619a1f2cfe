//! Reads streams of any library.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use crate::once::intern;

/// Returns the `cudaStream_t` of an int, of an object with `__cuda_stream__`, or of a stream of
/// CuPy, Numba or an older PyTorch.
pub(crate) fn stream_handle(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = stream.py();
    if stream.is_instance_of::<PyInt>() && !stream.is_instance_of::<PyBool>() {
        return address(stream);
    }
    if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let pair = protocol.call0()?;
        return address(&pair.cast::<PyTuple>()?.get_item(1)?);
    }
    for name in [intern!(py, "cuda_stream"), intern!(py, "ptr")] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return address(&handle);
        }
    }
    // Numba's older streams have a ctypes pointer, whose value is None for the default stream.
    if let Some(handle) = stream.getattr_opt(intern!(py, "handle"))?
        && let Some(value) = handle.getattr_opt(intern!(py, "value"))?
    {
        return if value.is_none() { Ok(0) } else { address(&value) };
    }
    Err(PyTypeError::new_err(format!(
        "stream is a {}; an int (cudaStream_t), a stream of CuPy, PyTorch or Numba, or an object \
         with __cuda_stream__() is accepted",
        stream.get_type().fully_qualified_name()?
    )))
}

/// Reads the number of a stream's handle.
fn address(handle: &Bound<'_, PyAny>) -> PyResult<usize> {
    handle.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(handle.py()) {
            PyValueError::new_err(format!(
                "stream is {handle}; a cudaStream_t is an address, so it is neither negative nor \
                 that large"
            ))
        } else {
            error
        }
    })
}
