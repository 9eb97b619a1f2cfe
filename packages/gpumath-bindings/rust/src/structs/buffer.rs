//! Exporting memory by Python's buffer protocol.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// What an exporter has to say; it lives as long as the exporter.
pub(crate) struct BufferExport<'a> {
    /// What they are, for messages.
    pub(crate) noun: &'a str,
    pub(crate) address: usize,
    pub(crate) readonly: bool,
    pub(crate) format: &'a CStr,
    pub(crate) item_size: usize,
    pub(crate) shape: &'a [isize],
    pub(crate) strides: &'a [isize],
}

impl BufferExport<'_> {
    /// Whether there are no gaps, with the last or with the first dimension as the fastest one.
    fn contiguous(&self, last_is_fastest: bool) -> bool {
        let mut expected = self.item_size as isize;
        let mut fits = |(&extent, &stride): (&isize, &isize)| {
            let fits = extent == 1 || stride == expected;
            expected *= extent;
            fits
        };
        let mut dims = self.shape.iter().zip(self.strides);
        self.shape.contains(&0)
            || if last_is_fastest { dims.rev().all(&mut fits) } else { dims.all(&mut fits) }
    }

    /// Answers a request for the buffer of `exporter`.
    ///
    /// # Safety
    ///
    /// `view` is what `CPython` passed to `__getbuffer__`, and all of `self` is owned by `exporter`, unchanged.
    pub(crate) unsafe fn fill(
        &self,
        exporter: Bound<'_, PyAny>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let asked = |flag: c_int| flags & flag == flag;
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let (rows_fit, columns_fit) = (self.contiguous(true), self.contiguous(false));
        let wants_c = asked(ffi::PyBUF_C_CONTIGUOUS) || !asked(ffi::PyBUF_STRIDES);
        let wants_f = asked(ffi::PyBUF_F_CONTIGUOUS);
        let wants_any = asked(ffi::PyBUF_ANY_CONTIGUOUS);
        let noun = self.noun;
        let refusal = if asked(ffi::PyBUF_WRITABLE) && self.readonly {
            Some(format!("the {noun} are read-only"))
        } else if (wants_c && !rows_fit)
            || (wants_f && !columns_fit)
            || (wants_any && !rows_fit && !columns_fit)
        {
            Some(format!("the {noun} do not lie one behind another; copy them first"))
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
