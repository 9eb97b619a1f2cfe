//! Reads sequences without trusting the length that they claim: shapes, axes, pairs of qualifiers.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// No argument has more numbers. A sequence may have more than memory holds, or never end.
const MOST: usize = 1000;

/// No list has more products.
const MOST_PAIRS: usize = 1 << 20;

/// The integers of a Python sequence. Extracting a `Vec` would allocate for the claimed length.
pub(crate) struct Integers<T>(pub(crate) Vec<T>);

impl<'py, T> FromPyObject<'_, 'py> for Integers<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // SAFETY: `given` is alive.
        let is_sequence = unsafe { ffi::PySequence_Check(given.as_ptr()) } != 0;
        if !is_sequence || given.is_instance_of::<PyString>() {
            let found = given.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a sequence of integers is required, not {found}"
            )));
        }
        items(&given, MOST).map(Self)
    }
}

/// Pairs of a Python sequence, one for each product of a list.
pub(crate) struct Pairs<T>(pub(crate) Vec<T>);

impl<'py, T> FromPyObject<'_, 'py> for Pairs<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        items(&given, MOST_PAIRS).map(Self)
    }
}

/// Reads a sequence without trusting the length that it claims.
fn items<'py, T>(given: &Bound<'py, PyAny>, most: usize) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let mut items = Vec::new();
    for item in given.try_iter()? {
        if items.len() == most {
            return Err(PyValueError::new_err(format!("a sequence has more than {most} items")));
        }
        items.push(item?.extract::<T>()?);
    }
    Ok(items)
}
