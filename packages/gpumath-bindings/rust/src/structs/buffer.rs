//! Exports memory by Python's buffer protocol.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The memory that an object exports. Everything here belongs to that object.
pub(crate) struct BufferExport<'a> {
    /// What is exported, for messages: a plural.
    pub(crate) noun: &'a str,
    /// Address of the item at index 0.
    pub(crate) address: usize,
    pub(crate) readonly: bool,
    /// Format of an item, as the module `struct` has it.
    pub(crate) format: &'a CStr,
    /// Bytes of an item.
    pub(crate) item_size: usize,
    pub(crate) shape: &'a [isize],
    /// In bytes.
    pub(crate) strides: &'a [isize],
}

impl BufferExport<'_> {
    /// Returns whether the items are contiguous, with the last or with the first dimension as the
    /// fastest.
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

    /// Fills `view` as `flags` ask for it, with a new reference to `exporter`.
    ///
    /// # Safety
    ///
    /// - `view` is the one that `CPython` has passed to `__getbuffer__`.
    /// - The memory, `format`, `shape` and `strides` stay valid and unchanged as long as
    ///   `exporter`.
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
            // The protocol demands NULL in `obj` on failure.
            // SAFETY: the caller guarantees CPython's view, and it is not NULL.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(PyBufferError::new_err(text));
        }
        let items: isize = self.shape.iter().product();
        let null = std::ptr::null_mut();
        // SAFETY: the caller guarantees CPython's view, and it is not NULL. What the view points to
        // lives as long as `exporter`, to which it gets a reference. The protocol forbids consumers
        // to write to `shape`, `strides` and `format`.
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
