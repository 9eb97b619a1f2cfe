//! The C ABI: a table of C functions behind `gpumath.bindings.core._C_API`.
//!
//! Its other half is `include/gpumath.h`, which documents it. Callers need not have the GIL. A
//! search for a library acquires it for a moment, with no lock of this crate held.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Mutex;

use gpumath_core::process::PerProcess;
use gpumath_core::{Error, Result, loader};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Version of the table, which changes with the meaning of an entry. A new entry at the end changes
/// `size` alone.
const ABI_VERSION: u32 = 1;
const NAME: &CStr = c"gpumath.bindings.core._C_API";

/// `gpumath_api` in the header.
#[repr(C)]
struct Table {
    abi_version: u32,
    size: u32,
    function: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
    has: unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int,
    library_path: unsafe extern "C" fn(*const c_char, *mut *const c_char) -> c_int,
    library_version: unsafe extern "C" fn(*const c_char, *mut [c_int; 3]) -> c_int,
    last_error: extern "C" fn() -> *const c_char,
}

static TABLE: Table = Table {
    abi_version: ABI_VERSION,
    size: size_of::<Table>() as u32,
    function,
    has,
    library_path,
    library_version,
    last_error,
};

/// The statuses of the header's `gpumath_status`.
const OK: c_int = 0;
const INVALID_ARGUMENT: c_int = 1;
const LIBRARY_NOT_FOUND: c_int = 2;
const FUNCTION_NOT_FOUND: c_int = 3;
const FAILED: c_int = 4;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Paths of libraries that C code has got. They are never freed, as libraries are never closed.
static PATHS: PerProcess<Mutex<BTreeMap<&'static str, &'static CStr>>> = PerProcess::new();

/// Returns the capsule with the table.
pub(crate) fn capsule(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let table = NonNull::from(&TABLE).cast();
    // SAFETY: the table is static and never written to.
    unsafe { PyCapsule::new_with_pointer(py, table, NAME) }
}

unsafe extern "C" fn function(name: *const c_char, address: *mut *mut c_void) -> c_int {
    // SAFETY: the caller of each function of the table vouches for its pointers, or passes NULL.
    let (name, address) = unsafe { (text(name), place(address, std::ptr::null_mut())) };
    answer(|| {
        let address = address?;
        *address = loader::address_of(name?)? as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn has(name: *const c_char, found: *mut c_int) -> c_int {
    // SAFETY: the caller of each function of the table vouches for its pointers, or passes NULL.
    let (name, found) = unsafe { (text(name), place(found, 0)) };
    answer(|| {
        let found = found?;
        *found = c_int::from(loader::has(name?)?);
        Ok(())
    })
}

unsafe extern "C" fn library_path(name: *const c_char, path: *mut *const c_char) -> c_int {
    // SAFETY: the caller of each function of the table vouches for its pointers, or passes NULL.
    let (name, path) = unsafe { (text(name), place(path, std::ptr::null())) };
    answer(|| {
        let path = path?;
        let library = loader::library(name?)?;
        let mut paths = PATHS.lock();
        let kept = paths.entry(library.name).or_insert_with(|| {
            Box::leak(c_string(library.path.into_os_string().into_encoded_bytes()).into())
        });
        *path = kept.as_ptr();
        Ok(())
    })
}

unsafe extern "C" fn library_version(name: *const c_char, version: *mut [c_int; 3]) -> c_int {
    // SAFETY: the caller of each function of the table vouches for its pointers, or passes NULL.
    let (name, version) = unsafe { (text(name), place(version, [-1; 3])) };
    answer(|| {
        let version = version?;
        if let Some(found) = loader::library(name?)?.version {
            let patch = found.patch.map_or(-1, |patch| patch as c_int);
            *version = [found.major as c_int, found.minor as c_int, patch];
        }
        Ok(())
    })
}

extern "C" fn last_error() -> *const c_char {
    // The text lives until this thread's next failure; a thread that is ending has none.
    LAST_ERROR.try_with(|text| text.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Runs the body of a function of the table, and returns its status. Nothing unwinds into C.
fn answer(body: impl FnOnce() -> Result<()>) -> c_int {
    let (status, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(error)) => (status_of(&error), error.to_string()),
        Err(_) => (FAILED, String::from("gpumath itself failed; please report this")),
    };
    let text = c_string(text.into_bytes());
    // A thread that is ending keeps no text.
    let _ = LAST_ERROR.try_with(|last| last.replace(text));
    status
}

fn status_of(error: &Error) -> c_int {
    match error {
        Error::InvalidValue(_) => INVALID_ARGUMENT,
        Error::LibraryNotFound(_) => LIBRARY_NOT_FOUND,
        Error::FunctionNotFound(_) => FUNCTION_NOT_FOUND,
        _ => FAILED,
    }
}

/// Returns the bytes up to the first zero, of which texts and paths have none.
fn c_string(mut bytes: Vec<u8>) -> CString {
    bytes.push(0);
    CStr::from_bytes_until_nul(&bytes).map(CStr::to_owned).unwrap_or_default()
}

/// Reads a name from C.
///
/// # Safety
/// `name` must be NULL or a text that ends in a zero and stays as it is.
unsafe fn text<'a>(name: *const c_char) -> Result<&'a str> {
    if name.is_null() {
        return Err(Error::InvalidValue(String::from("the name is NULL")));
    }
    // SAFETY: `name` is not NULL, so the caller guarantees that it is a text that ends in a zero.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| Error::InvalidValue(format!("the name {name:?} is not UTF-8")))
}

/// Returns the place for a result in C, after writing `default`, which it holds if the call fails.
///
/// # Safety
/// `place` must be NULL or hold a value that nothing else uses meanwhile.
unsafe fn place<'a, T>(place: *mut T, default: T) -> Result<&'a mut T> {
    let Some(place) = NonNull::new(place) else {
        return Err(Error::InvalidValue(String::from("the address for the result is NULL")));
    };
    // SAFETY: `place` is not NULL, so the caller guarantees that it can be written to. It is
    // written before it is read, because C need not have initialized it.
    unsafe {
        place.write(default);
        Ok(&mut *place.as_ptr())
    }
}
