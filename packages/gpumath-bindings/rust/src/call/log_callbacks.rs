//! Log messages of the libraries: C callbacks that hand them to a Python callable or a `logging.Logger`.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::Value;
use super::scalar_arguments::{ArgumentContext, slot_of, type_name};
use crate::gil::with_gil_in_callback;

/// Where a library's messages go; `None` for nowhere.
type LogTarget = Option<Py<PyAny>>;

/// The libraries that have a log callback.
const LIBRARIES: [&str; 4] = ["cublas", "cublasLt", "cusparse", "cusolverDn"];
/// One target a library.
static TARGETS: Mutex<[LogTarget; LIBRARIES.len()]> = Mutex::new([const { None }; LIBRARIES.len()]);

/// The C callback of a library. It gets no word of who calls it, so each library has its own.
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

/// The C callback for an argument, and what to remember once the library has taken it.
pub(super) fn target_of(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
) -> PyResult<(u64, Option<LogTarget>)> {
    // SAFETY: `argument` is a live object.
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

/// Remembers where a library's messages go.
pub(super) fn set_target(py: Python<'_>, library: &str, target: LogTarget) {
    let Some(index) = LIBRARIES.iter().position(|name| *name == library) else { return };
    // A message may arrive on another thread, which holds the lock and waits for nothing.
    let mut targets = TARGETS.lock().unwrap_or_else(PoisonError::into_inner);
    let old = targets.get_mut(index).map(|slot| std::mem::replace(slot, target));
    drop(targets);
    // Dropped without the lock: that may run Python code.
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

/// Gives one message to the library's target. An exception goes to `sys.unraisablehook`.
fn dispatch(index: usize, origin: Option<(c_int, *const c_char)>, message: *const c_char) {
    with_gil_in_callback(|py| {
        let targets = TARGETS.lock().unwrap_or_else(PoisonError::into_inner);
        let target = targets.get(index).and_then(|slot| slot.as_ref().map(|t| t.clone_ref(py)));
        drop(targets);
        let Some(target) = target else { return };
        let target = target.bind(py);
        if let Err(error) = deliver(target, origin, message) {
            error.write_unraisable(py, Some(target));
        }
    });
}

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

/// Levels of `logging` for off, error, trace, hint, info and API trace.
const PYTHON_LEVELS: [c_int; 6] = [10, 40, 10, 20, 20, 10];

fn text(address: *const c_char) -> String {
    if address.is_null() {
        return String::new();
    }
    // SAFETY: the libraries pass NUL-terminated strings that live for the time of the callback.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().trim_end().to_owned()
}
