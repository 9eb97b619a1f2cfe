//! Reads NumPy arrays through the buffer protocol.

use std::ffi::CStr;

use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::prelude::*;

use super::buffer::{dtype_from_format, layout};
use super::{Refusal, checked, dims, layout_from_bytes, unsupported_dtype};
use crate::once::intern;
use crate::py_buffer::NumpyBufferGuard;

/// Reads a NumPy array.
pub(super) fn view(array: &Bound<'_, PyAny>) -> Result<TensorView, Refusal> {
    let buffer = match NumpyBufferGuard::of(array) {
        Ok(buffer) => buffer,
        Err(error) => return view_without_buffer(array, error),
    };
    let raw = buffer.raw();
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
        // SAFETY: the guard has filled the buffer, with shape and strides.
        layout: unsafe { layout(raw, dtype) }?,
        device: MemoryLocation::Host,
        readonly: raw.readonly != 0,
    })
}

/// Reads an array through its attributes if NumPy has refused a buffer with `error`. It does so for
/// element types that other packages have added, such as bfloat16.
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
