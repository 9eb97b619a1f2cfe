//! Streams of any library.

use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyInt, PyTuple};
use pyo3::{intern, prelude::*};

/// The `cudaStream_t` of an int, of an object with `__cuda_stream__`, or of a CuPy or older PyTorch stream.
pub(crate) fn stream_handle(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = stream.py();
    if let Ok(handle) = stream.cast::<PyInt>() {
        return handle.extract();
    }
    if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let pair = protocol.call0()?;
        return pair.cast::<PyTuple>()?.get_item(1)?.extract();
    }
    for name in [intern!(py, "cuda_stream"), intern!(py, "ptr")] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return handle.extract();
        }
    }
    Err(PyTypeError::new_err(format!(
        "stream is a {}; an int (cudaStream_t), an object with __cuda_stream__(), or a stream of CuPy or PyTorch is \
         needed",
        stream.get_type().fully_qualified_name()?
    )))
}
