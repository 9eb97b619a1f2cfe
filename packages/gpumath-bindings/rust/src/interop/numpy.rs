//! NumPy arrays, through the buffer protocol.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use gpumath_core::tensor::{DType, Device, Dims, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::{ffi, intern, prelude::*};

use super::{checked, layout_from_bytes, unsupported_dtype};

/// A buffer that is given back when it goes out of scope.
struct Buffer(ffi::Py_buffer);

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `view` filled it by a successful PyObject_GetBuffer, and it is released once.
        unsafe { ffi::PyBuffer_Release(&raw mut self.0) }
    }
}

pub(super) fn view(array: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = array.py();
    let mut buffer = MaybeUninit::uninit();
    // SAFETY: the object is alive and the destination is a Py_buffer to be filled.
    let status = unsafe {
        ffi::PyObject_GetBuffer(array.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_RECORDS_RO)
    };
    if status != 0 {
        let cause = PyErr::fetch(py);
        let dtype = array.getattr(intern!(py, "dtype"))?.str()?;
        let error = unsupported_dtype(dtype.to_str()?);
        error.set_cause(py, Some(cause));
        return Err(error);
    }
    // SAFETY: PyObject_GetBuffer succeeded, so it is filled.
    let buffer = Buffer(unsafe { buffer.assume_init() });
    let raw = &buffer.0;
    let dtype = if raw.format.is_null() {
        None
    } else {
        // SAFETY: a non-null format is a NUL-terminated string that lives as long as the buffer.
        dtype_from_format(unsafe { CStr::from_ptr(raw.format) }.to_bytes())
    };
    let Some(dtype) = dtype else {
        return Err(unsupported_dtype(array.getattr(intern!(py, "dtype"))?.str()?.to_str()?));
    };
    let ndim = usize::try_from(raw.ndim).map_err(|_| PyValueError::new_err("negative ndim"))?;
    let (shape, strides): (Dims, Dims) = if ndim == 0 {
        Default::default()
    } else {
        // SAFETY: PyBUF_STRIDES was asked for, so both arrays are there and have ndim elements.
        let (shape, strides) = unsafe {
            (
                std::slice::from_raw_parts(raw.shape, ndim),
                std::slice::from_raw_parts(raw.strides, ndim),
            )
        };
        (shape.iter().map(|&n| n as i64).collect(), strides.iter().map(|&n| n as i64).collect())
    };
    checked(TensorView {
        ptr: raw.buf as usize,
        dtype,
        layout: layout_from_bytes(shape, &strides, dtype.size())?,
        device: Device::Host,
        readonly: raw.readonly != 0,
    })
}

fn dtype_from_format(format: &[u8]) -> Option<DType> {
    let native: u8 = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let code = match format {
        [order, code @ ..] if matches!(*order, b'@' | b'=' | b'^') || *order == native => code,
        code => code,
    };
    match code {
        b"e" => Some(DType::Float16),
        b"f" => Some(DType::Float32),
        b"d" => Some(DType::Float64),
        b"Zf" => Some(DType::Complex64),
        b"Zd" => Some(DType::Complex128),
        _ => None,
    }
}
