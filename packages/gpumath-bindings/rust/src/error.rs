//! The one place where errors of the core become Python exceptions.

use gpumath_core::Error;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns the exception for an error of the core. If it cannot be made, returns the exception that
/// says why.
pub(crate) fn to_pyerr(py: Python<'_>, error: &Error) -> PyErr {
    convert(py, error).unwrap_or_else(|error| error)
}

fn convert(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let text = error.to_string();
    let (name, arguments) = match error {
        Error::InvalidValue(_) => return Ok(PyValueError::new_err(text)),
        Error::InvalidType(_) => return Ok(PyTypeError::new_err(text)),
        // The core called Python code, whose exception is passed on as it is.
        Error::Foreign(foreign) => {
            let raised = foreign.downcast_ref::<PyErr>().map(|error| error.clone_ref(py));
            return Ok(raised.unwrap_or_else(|| PyRuntimeError::new_err(text)));
        }
        Error::OutOfMemory(_) => ("OutOfMemoryError", (text,).into_pyobject(py)?),
        Error::NoDevice(_) => ("NoDeviceError", (text,).into_pyobject(py)?),
        Error::InvalidState(_) => ("InvalidStateError", (text,).into_pyobject(py)?),
        Error::LibraryNotFound(e) => {
            let tried: Vec<_> =
                e.tried.iter().map(|a| (a.step, a.place.as_str(), a.outcome.as_str())).collect();
            let tried = PyTuple::new(py, tried)?;
            ("LibraryNotFoundError", (text, &e.library, tried, &e.fix).into_pyobject(py)?)
        }
        Error::FunctionNotFound(e) => {
            let fields = (
                text,
                &e.function,
                &e.symbol,
                &e.path,
                &e.version,
                e.since.to_string(),
                e.until.to_string(),
            );
            ("FunctionNotFoundError", fields.into_pyobject(py)?)
        }
        Error::Status(e) => {
            let fields = (e.library, e.code, e.function, &e.context);
            ("status_error", fields.into_pyobject(py)?)
        }
        Error::Sticky(e) => ("sticky_error", (e.library, e.code, e.function).into_pyobject(py)?),
        Error::UnsupportedLayout { permutation, axes, .. } => {
            let permutation = PyTuple::new(py, permutation)?;
            let axes = PyTuple::new(py, axes)?;
            ("UnsupportedLayoutError", (text, permutation, axes).into_pyobject(py)?)
        }
    };
    let class = py.import("gpumath.bindings.errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1(arguments)?))
}

/// Return the text of an error with this status, as the core writes it.
#[pyfunction]
pub(crate) fn _status_text(library: &str, status: i128, function: &str, context: &str) -> String {
    gpumath_core::error::status_text(library, status, function, context)
}

/// `?` from a result of the core to a result of PyO3.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the error as an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for gpumath_core::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_pyerr(py, &error))
    }
}
