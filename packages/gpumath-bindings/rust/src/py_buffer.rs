//! Guards of a `Py_buffer`: each has locked the buffer of an object, and releases it when dropped.
//!
//! They differ in whether the `Py_buffer` may move after it was filled. An exporter may point
//! `shape` and `strides` into the `Py_buffer` itself, as `PyBuffer_FillInfo` does.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use pyo3::{ffi, prelude::*};

use crate::gil::acquire_gil;

/// The buffer of any object, with all its fields. Any thread may drop the guard.
///
/// The `Py_buffer` must not move, because its shape and strides are read. So it is boxed.
pub(crate) struct PyBufferGuard(Box<MaybeUninit<ffi::Py_buffer>>);

// SAFETY: the `Py_buffer` does not change after `of`, and `drop` acquires the GIL before it
// releases the buffer.
unsafe impl Send for PyBufferGuard {}
// SAFETY: shared references only read the `Py_buffer`, which does not change after `of`.
unsafe impl Sync for PyBufferGuard {}

impl PyBufferGuard {
    /// Locks the object's buffer, for reading, with format and strides.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut buffer = Box::new(MaybeUninit::uninit());
        // SAFETY: `object` is alive, and `buffer` can be written to.
        let status = unsafe {
            ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_RECORDS_RO)
        };
        if status == 0 { Ok(Self(buffer)) } else { Err(PyErr::fetch(object.py())) }
    }

    /// The `Py_buffer`, which `PyBUF_RECORDS_RO` has filled.
    pub(crate) fn raw(&self) -> &ffi::Py_buffer {
        // SAFETY: `PyObject_GetBuffer` succeeded in `of`, so it has filled the `Py_buffer`.
        unsafe { self.0.assume_init_ref() }
    }

    /// The object whose memory it is.
    pub(crate) fn exporter(&self) -> Option<&Py<PyAny>> {
        let object = &raw const self.raw().obj;
        // SAFETY: a `Py` is a pointer that is not NULL to an object, and the buffer has a reference
        // to this one.
        unsafe { (!(*object).is_null()).then(|| &*object.cast::<Py<PyAny>>()) }
    }
}

impl Drop for PyBufferGuard {
    fn drop(&mut self) {
        // Once the interpreter shuts down, the memory is left to the end of the process.
        acquire_gil(|_| {
            // SAFETY: `of` has filled the `Py_buffer`, which is released only here, with the GIL.
            unsafe { ffi::PyBuffer_Release(self.0.as_mut_ptr()) }
        });
    }
}

/// The buffer of a NumPy array. It is dropped where it was locked, with the GIL.
///
/// The `Py_buffer` may move although its shape and strides are read, because NumPy keeps these in
/// memory of its own.
pub(crate) struct NumpyBufferGuard<'py> {
    buffer: ffi::Py_buffer,
    _py: Python<'py>,
}

impl<'py> NumpyBufferGuard<'py> {
    /// Locks the array's buffer, for reading, with format and strides.
    #[inline]
    pub(crate) fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut buffer = MaybeUninit::uninit();
        // SAFETY: `array` is alive, and `buffer` can be written to.
        let status = unsafe {
            ffi::PyObject_GetBuffer(array.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_RECORDS_RO)
        };
        if status != 0 {
            return Err(PyErr::fetch(array.py()));
        }
        // SAFETY: `PyObject_GetBuffer` succeeded, so it has filled the `Py_buffer`.
        Ok(Self { buffer: unsafe { buffer.assume_init() }, _py: array.py() })
    }

    /// The `Py_buffer`, which `PyBUF_RECORDS_RO` has filled.
    #[inline]
    pub(crate) fn raw(&self) -> &ffi::Py_buffer {
        &self.buffer
    }
}

impl Drop for NumpyBufferGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `of` has filled the `Py_buffer`, which is released only here. `_py` proves that
        // this thread has the GIL.
        unsafe { ffi::PyBuffer_Release(&raw mut self.buffer) }
    }
}

/// The buffer of an argument of a C function. Dropping the guard needs the GIL.
///
/// The `Py_buffer` may move, because only its scalar fields are read.
pub(crate) struct ArgumentBufferGuard(pub(crate) ffi::Py_buffer);

impl ArgumentBufferGuard {
    /// Locks the object's buffer as `flags` ask for it.
    pub(crate) fn of(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        // SAFETY: zeros are valid for integers and raw pointers, which is all that a Py_buffer has.
        let mut view: ffi::Py_buffer = unsafe { std::mem::zeroed() };
        // SAFETY: `object` is alive, and `view` can be written to.
        let outcome = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut view, flags) };
        if outcome == 0 { Ok(Self(view)) } else { Err(PyErr::fetch(object.py())) }
    }
}

impl Drop for ArgumentBufferGuard {
    fn drop(&mut self) {
        // SAFETY: `PyObject_GetBuffer` has filled the view. Guards are local to conversions and
        // calls, which drop them with the GIL.
        unsafe { ffi::PyBuffer_Release(&raw mut self.0) }
    }
}
