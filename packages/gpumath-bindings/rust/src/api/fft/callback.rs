//! Reads prologs and epilogs of `FftPlan` from Python objects.

use gpumath_core::fft::{Callback, Callbacks};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

/// Reads the two arguments of `FftPlan`.
pub(crate) fn callbacks(
    prolog: Option<&Bound<'_, PyAny>>,
    epilog: Option<&Bound<'_, PyAny>>,
) -> PyResult<Callbacks> {
    Ok(Callbacks {
        prolog: prolog.map(|object| callback("prolog", object)).transpose()?,
        epilog: epilog.map(|object| callback("epilog", object)).transpose()?,
    })
}

/// Reads one argument, which errors call `name`.
fn callback(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Callback> {
    let field = |field: &str| {
        object.getattr(field).map_err(|_| {
            PyTypeError::new_err(format!(
                "{name} is a {}; an object with the attributes ltoir, size and data is needed",
                object.get_type()
            ))
        })
    };
    let (code, size, data) = (field("ltoir")?, field("size")?, field("data")?);
    let data = data.extract::<Option<usize>>()?.unwrap_or(0);
    let size = size.extract::<Option<usize>>()?;
    if let Ok(code) = code.cast::<PyBytes>() {
        let code = code.as_bytes();
        let used = size.unwrap_or(code.len());
        let code = code.get(..used).filter(|code| !code.is_empty()).ok_or_else(|| {
            PyValueError::new_err(format!(
                "{name}: size is {used}, and ltoir has {} bytes",
                code.len()
            ))
        })?;
        return Ok(Callback::new(code, data));
    }
    let (Ok(address), Some(size @ 1..)) = (code.cast::<PyInt>(), size) else {
        return Err(PyValueError::new_err(format!(
            "{name}: ltoir is {}, size is {}; the code as bytes, or its address and a positive \
             size, are needed",
            code.repr()?,
            size.map_or_else(|| String::from("None"), |size| size.to_string())
        )));
    };
    let address: usize = address.extract()?;
    if address == 0 {
        return Err(PyValueError::new_err(format!("{name}: ltoir is a NULL pointer")));
    }
    // SAFETY: the user vouches for the address and the size, as the documentation of
    // `DeviceCallable` says.
    let code = unsafe { std::slice::from_raw_parts(address as *const u8, size) };
    Ok(Callback::new(code, data))
}
