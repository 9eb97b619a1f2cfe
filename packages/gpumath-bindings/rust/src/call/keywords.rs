//! Binds arguments to parameters by position and by keyword, with the error messages that a Python
//! function would give.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use super::specs::{FunctionSpec, ParameterKind};

/// A borrowed argument for each input, in C's order; NULL where an optional one was left out.
pub(super) type BoundArguments = SmallVec<[*mut ffi::PyObject; 16]>;

/// Returns the arguments in the order of the inputs.
///
/// # Safety
/// - `names` is NULL or a tuple of `str`.
/// - `arguments` points to the positional arguments, and then one for each of `names`. They outlive
///   the result.
pub(super) unsafe fn bind(
    py: Python<'_>,
    spec: &'static FunctionSpec,
    arguments: *const *mut ffi::PyObject,
    positional: &[*mut ffi::PyObject],
    names: *mut ffi::PyObject,
) -> PyResult<BoundArguments> {
    let function = spec.display_name();
    let inputs: SmallVec<[&str; 16]> = spec.inputs().map(|p| p.name).collect();
    if positional.len() > inputs.len() {
        return Err(PyTypeError::new_err(format!(
            "{function}() takes {} but {} {} given",
            counted(inputs.len(), "positional argument"),
            positional.len(),
            if positional.len() == 1 { "was" } else { "were" },
        )));
    }
    let mut bound = BoundArguments::from_slice(positional);
    bound.resize(inputs.len(), std::ptr::null_mut());
    // SAFETY: the caller guarantees NULL or a live tuple.
    let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
    if let Some(names) = names {
        for (index, name) in names.cast_into::<PyTuple>()?.iter_borrowed().enumerate() {
            let name = name.cast::<PyString>()?;
            let name = name.to_str()?;
            let Some(place) = inputs.iter().position(|&input| input == name) else {
                return Err(PyTypeError::new_err(format!(
                    "{function}() got an unexpected keyword argument '{name}'"
                )));
            };
            // SAFETY: the caller guarantees an argument for each name, behind the positional ones.
            let argument = unsafe { *arguments.add(positional.len() + index) };
            if let Some(old) = bound.get_mut(place)
                && !std::mem::replace(old, argument).is_null()
            {
                return Err(PyTypeError::new_err(format!(
                    "{function}() got multiple values for argument '{name}'"
                )));
            }
        }
    }
    let missing: Vec<String> = spec
        .inputs()
        .zip(&bound)
        .filter(|(p, argument)| argument.is_null() && !matches!(p.kind, ParameterKind::KernelExtra))
        .map(|(p, _)| format!("'{}'", p.name))
        .collect();
    if missing.is_empty() {
        return Ok(bound);
    }
    Err(PyTypeError::new_err(format!(
        "{function}() missing {}: {}",
        counted(missing.len(), "required argument"),
        missing.join(", ")
    )))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
