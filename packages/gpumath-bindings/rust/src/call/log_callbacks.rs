//! Passes log messages of the libraries to Python: C callbacks that call a Python callable or a
//! `logging.Logger`.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Mutex;

use gpumath_core::process::PerProcess;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::scalar_arguments::{ArgumentContext, slot_of, type_name};
use super::specs::Value;
use crate::gil::acquire_gil;

/// The callable or the logger that gets a library's messages; `None` if Python gets none.
pub(super) type LogTarget = Option<Py<PyAny>>;

/// The libraries that take a log callback. [`callback_of`] has the same order.
const LIBRARIES: [&str; 4] = ["cublas", "cublasLt", "cusparse", "cusolverDn"];
/// The target of each library. A forked child has none: it would need a new handle to log anything.
static TARGETS: PerProcess<Mutex<[LogTarget; LIBRARIES.len()]>> = PerProcess::new();

/// Returns the address of a library's C callback. Each library has its own, because a callback is
/// not told which library calls it.
fn callback_of(library: &str) -> u64 {
    let pointer = match LIBRARIES.iter().position(|name| *name == library) {
        Some(0) => cublas as *const (),
        Some(1) => with_level::<1> as *const (),
        Some(2) => with_level::<2> as *const (),
        Some(3) => with_level::<3> as *const (),
        _ => std::ptr::null(),
    };
    pointer as u64
}

/// Returns the C callback for an argument, and the target to set once the library has accepted the
/// callback.
pub(super) fn target_of(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
) -> PyResult<(u64, Option<LogTarget>)> {
    // SAFETY: arguments are live objects.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    if object.is_none() {
        return Ok((0, Some(None)));
    }
    if object.is_callable() || object.hasattr("log")? {
        return Ok((callback_of(context.spec.symbol.library), Some(Some(object.unbind()))));
    }
    if object.hasattr("__int__")? {
        return Ok((slot_of(py, argument, Value::Address, context)?, Some(None)));
    }
    let (name, found) = (context.name(), type_name(&object));
    Err(PyTypeError::new_err(format!(
        "{name}: a callable, a logging.Logger, None or an address is required, not {found}"
    )))
}

/// Sets the target of a library's messages.
pub(super) fn set_target(py: Python<'_>, library: &str, target: LogTarget) {
    let Some(index) = LIBRARIES.iter().position(|name| *name == library) else { return };
    // Another thread may hold the lock for a message, but it waits for nothing while it does.
    let mut targets = TARGETS.lock();
    let old = targets.get_mut(index).map(|slot| std::mem::replace(slot, target));
    drop(targets);
    // Dropped after the lock is released, because the drop may run Python code.
    drop(old.map(|old| old.map(|object| object.into_bound(py))));
}

extern "C" fn cublas(message: *const c_char) {
    dispatch(0, None, message);
}

extern "C" fn with_level<const INDEX: usize>(
    level: c_int,
    function: *const c_char,
    message: *const c_char,
) {
    dispatch(INDEX, Some((level, function)), message);
}

/// Delivers a message to the library's target. An exception goes to `sys.unraisablehook`, because
/// the library cannot report it.
fn dispatch(index: usize, origin: Option<(c_int, *const c_char)>, message: *const c_char) {
    acquire_gil(|py| {
        let targets = TARGETS.lock();
        let target = targets.get(index).and_then(|slot| slot.as_ref().map(|t| t.clone_ref(py)));
        drop(targets);
        let Some(target) = target else { return };
        let target = target.bind(py);
        if let Err(error) = deliver(target, origin, message) {
            error.write_unraisable(py, Some(target));
        }
    });
}

/// Calls the target. A callable gets level, function and message, or from cuBLAS only the message.
fn deliver(
    target: &Bound<'_, PyAny>,
    origin: Option<(c_int, *const c_char)>,
    message: *const c_char,
) -> PyResult<()> {
    let message = text(message);
    match (origin, target.is_callable()) {
        (None, true) => target.call1((message,))?,
        (Some((level, function)), true) => target.call1((level, text(function), message))?,
        (None, false) => target.call_method1("log", (PYTHON_LEVELS[4], "%s", message))?,
        (Some((level, function)), false) => {
            let place = usize::try_from(level).unwrap_or(0).min(PYTHON_LEVELS.len() - 1);
            let level = PYTHON_LEVELS[place];
            target.call_method1("log", (level, "%s: %s", text(function), message))?
        }
    };
    Ok(())
}

/// The `logging` levels for a library's levels: off, error, trace, hint, info and API trace.
const PYTHON_LEVELS: [c_int; 6] = [10, 40, 10, 20, 20, 10];

/// Returns a copy of a text, without white space at its end.
fn text(address: *const c_char) -> String {
    if address.is_null() {
        return String::new();
    }
    // SAFETY: the libraries pass NUL-terminated strings that stay valid during the callback.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().trim_end().to_owned()
}
