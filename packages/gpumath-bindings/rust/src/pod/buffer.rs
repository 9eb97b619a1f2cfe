//! Exporting memory by Python's buffer protocol.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// What an exporter has to say; it lives as long as the exporter.
pub(super) struct Exported<'a> {
    pub(super) address: usize,
    pub(super) readonly: bool,
    pub(super) format: &'a CStr,
    pub(super) item_size: usize,
    pub(super) shape: &'a [isize],
    pub(super) strides: &'a [isize],
}

impl Exported<'_> {
    fn contiguous(&self) -> bool {
        let mut expected = self.item_size as isize;
        for (&extent, &stride) in self.shape.iter().zip(self.strides).rev() {
            if extent != 1 && stride != expected {
                return false;
            }
            expected *= extent;
        }
        true
    }

    /// Answers a request for the buffer of `exporter`.
    ///
    /// # Safety
    ///
    /// `view` is what `CPython` passed to `__getbuffer__`, and all of `self` is owned by `exporter`, unchanged.
    pub(super) unsafe fn fill(
        &self,
        exporter: Bound<'_, PyAny>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let asked = |flag: c_int| flags & flag == flag;
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let refusal = if asked(ffi::PyBUF_WRITABLE) && self.readonly {
            Some("the structs are read-only")
        } else if self.contiguous() && (self.shape.len() == 1 || !asked(ffi::PyBUF_F_CONTIGUOUS)) {
            None
        } else if !asked(ffi::PyBUF_STRIDES)
            || asked(ffi::PyBUF_C_CONTIGUOUS)
            || asked(ffi::PyBUF_F_CONTIGUOUS)
            || asked(ffi::PyBUF_ANY_CONTIGUOUS)
        {
            Some("the structs do not lie one behind another; copy them first")
        } else {
            None
        };
        if let Some(text) = refusal {
            // SAFETY: not NULL; the protocol wants NULL in `obj` on failure.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(PyBufferError::new_err(text));
        }
        let items: isize = self.shape.iter().product();
        let null = std::ptr::null_mut();
        // SAFETY: not NULL, and ours to fill; `shape`, `strides` and `format` live as long as `exporter`, of which the
        // view gets a reference. Consumers do not write to them.
        unsafe {
            (*view).buf = self.address as *mut c_void;
            (*view).len = items * self.item_size as isize;
            (*view).readonly = c_int::from(self.readonly);
            (*view).itemsize = self.item_size as isize;
            (*view).format =
                if asked(ffi::PyBUF_FORMAT) { self.format.as_ptr().cast_mut() } else { null };
            (*view).ndim = self.shape.len() as c_int;
            (*view).shape = if asked(ffi::PyBUF_ND) {
                self.shape.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).strides = if asked(ffi::PyBUF_STRIDES) {
                self.strides.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = exporter.into_ptr();
        }
        Ok(())
    }
}
