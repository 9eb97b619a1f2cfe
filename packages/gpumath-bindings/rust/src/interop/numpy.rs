//! NumPy arrays, through the buffer protocol.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::{ffi, intern, prelude::*};

use super::buffer::{dtype_from_format, layout};
use super::{Refusal, checked, dims, layout_from_bytes, unsupported_dtype};

/// A buffer that is given back when it goes out of scope; the array is kept by other means. Unlike others, NumPy's do
/// not point into themselves, so they may move.
struct Buffer(ffi::Py_buffer);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `view` filled it by a successful PyObject_GetBuffer, and it is released once.
        unsafe { ffi::PyBuffer_Release(&raw mut self.0) }
    }
}

pub(super) fn view(array: &Bound<'_, PyAny>) -> Result<TensorView, Refusal> {
    let mut buffer = MaybeUninit::uninit();
    // SAFETY: the object is alive and the destination is a Py_buffer to be filled.
    let status = unsafe {
        ffi::PyObject_GetBuffer(array.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_RECORDS_RO)
    };
    if status != 0 {
        return view_without_buffer(array, PyErr::fetch(array.py()));
    }
    // SAFETY: PyObject_GetBuffer succeeded, so it is filled.
    let buffer = Buffer(unsafe { buffer.assume_init() });
    let raw = &buffer.0;
    let dtype = if raw.format.is_null() {
        None
    } else {
        // SAFETY: a non-null format is a NUL-terminated string that lives as long as the buffer.
        dtype_from_format(unsafe { CStr::from_ptr(raw.format) }.to_bytes(), raw.itemsize)
    };
    let Some(dtype) = dtype else {
        let py = array.py();
        return Err(unsupported_dtype(array.getattr(intern!(py, "dtype"))?.str()?.to_str()?));
    };
    checked(TensorView {
        ptr: raw.buf as usize,
        dtype,
        // SAFETY: filled, and PyBUF_STRIDES was asked for.
        layout: unsafe { layout(raw, dtype) }?,
        device: MemoryLocation::Host,
        readonly: raw.readonly != 0,
    })
}

/// Element types that others have added to NumPy (bfloat16 and so on) have no buffers.
fn view_without_buffer(array: &Bound<'_, PyAny>, error: PyErr) -> Result<TensorView, Refusal> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let name = dtype.getattr(intern!(py, "name"))?;
    let Some(dtype) = DType::from_name(name.extract()?) else {
        return Err(unsupported_dtype(dtype.str()?.to_str()?).caused_by(Some(error)));
    };
    let interface = array.getattr(intern!(py, "__array_interface__"))?;
    let (ptr, readonly): (usize, bool) = interface.get_item(intern!(py, "data"))?.extract()?;
    let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
    let strides = dims(&array.getattr(intern!(py, "strides"))?)?;
    let layout: Layout = layout_from_bytes(shape, &strides, dtype.size())?;
    checked(TensorView { ptr, dtype, layout, device: MemoryLocation::Host, readonly })
}
