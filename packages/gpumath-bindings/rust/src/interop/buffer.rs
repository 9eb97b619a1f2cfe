//! Reads objects in host memory through the buffer protocol.

use std::ffi::CStr;

use gpumath_core::memory::MemoryKind;
use gpumath_core::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};
use pyo3::{ffi, prelude::*};

use super::{
    KeepAlive, Operand, Refusal, checked, layout_from_bytes, plausible, unsupported_dtype,
};
use crate::py_buffer::PyBufferGuard;

/// Reads an object that has the buffer protocol.
pub(super) fn view(object: &Bound<'_, PyAny>) -> Result<Operand, Refusal> {
    let buffer = PyBufferGuard::of(object)?;
    let raw = buffer.raw();
    // SAFETY: a non-null format is a NUL-terminated string that lives as long as the buffer.
    let format = if raw.format.is_null() { c"B" } else { unsafe { CStr::from_ptr(raw.format) } };
    let Some(dtype) = dtype_from_format(format.to_bytes(), raw.itemsize) else {
        return Err(unsupported_dtype(&format!("{:?}", format.to_string_lossy())));
    };
    // SAFETY: the guard has filled the buffer, with shape and strides.
    let layout = unsafe { layout(raw, dtype) }?;
    let view = plausible(TensorView {
        ptr: raw.buf as usize,
        dtype,
        layout,
        device: MemoryLocation::Host,
        readonly: raw.readonly != 0,
    })?;
    Ok(Operand {
        view: checked(view)?,
        space: MemoryKind::Host,
        keep_alive: Some(KeepAlive::Buffer(buffer)),
    })
}

/// Returns the shape and strides of a buffer.
///
/// # Safety
/// `PyObject_GetBuffer` has filled `raw`, with flags that ask for shape and strides.
pub(super) unsafe fn layout(raw: &ffi::Py_buffer, dtype: DType) -> Result<Layout, Refusal> {
    let ndim = usize::try_from(raw.ndim)
        .map_err(|_| Refusal::value("'s buffer has a negative number of dimensions"))?;
    if ndim == 0 {
        return Ok(Layout { shape: Dims::new(), strides: Dims::new() });
    }
    if raw.shape.is_null() {
        return Err(Refusal::value("'s buffer has no shape"));
    }
    // SAFETY: `shape` is not NULL, so the protocol says that it has `ndim` elements.
    let shape = unsafe { std::slice::from_raw_parts(raw.shape, ndim) };
    let shape: Dims = shape.iter().map(|&n| n as i64).collect();
    if raw.strides.is_null() {
        // ctypes gives no strides, even if it is asked for them.
        return Ok(Layout::contiguous(&shape));
    }
    // SAFETY: `strides` is not NULL, so the protocol says that it has `ndim` elements.
    let strides = unsafe { std::slice::from_raw_parts(raw.strides, ndim) };
    let strides: Dims = strides.iter().map(|&n| n as i64).collect();
    layout_from_bytes(shape, &strides, dtype.size())
}

/// Returns the element type of a format with one element. The size of an element decides as well,
/// because each letter of an integer stands for two sizes.
pub(super) fn dtype_from_format(format: &[u8], itemsize: isize) -> Option<DType> {
    let native: u8 = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let code = match format {
        [order, code @ ..] if matches!(*order, b'@' | b'=' | b'^') || *order == native => code,
        [b'>' | b'!' | b'<', code @ ..] if itemsize == 1 => code,
        code => code,
    };
    let dtype = match code {
        b"d" => DType::Float64,
        b"f" => DType::Float32,
        b"Zd" | b"D" => DType::Complex128,
        b"Zf" | b"F" => DType::Complex64,
        b"e" => DType::Float16,
        b"?" => DType::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" | b"n" => match itemsize {
            1 => DType::Int8,
            2 => DType::Int16,
            4 => DType::Int32,
            8 => DType::Int64,
            _ => return None,
        },
        b"B" | b"H" | b"I" | b"L" | b"Q" | b"N" => match itemsize {
            1 => DType::UInt8,
            2 => DType::UInt16,
            4 => DType::UInt32,
            8 => DType::UInt64,
            _ => return None,
        },
        _ => return None,
    };
    (dtype.size() as isize == itemsize).then_some(dtype)
}

/// Returns the format of an element type, as NumPy reads it; `None` if the type has no letter.
pub(crate) fn format_of(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::Int8 => c"b",
        DType::Int16 => c"h",
        DType::Int32 => c"i",
        DType::Int64 => c"q",
        DType::UInt8 => c"B",
        DType::UInt16 => c"H",
        DType::UInt32 => c"I",
        DType::UInt64 => c"Q",
        DType::Float16 => c"e",
        DType::Float32 => c"f",
        DType::Float64 => c"d",
        DType::Complex64 => c"Zf",
        DType::Complex128 => c"Zd",
        DType::Float8E4M3Fn
        | DType::Float8E5M2
        | DType::Float8E8M0Fnu
        | DType::Float4E2M1FnX2
        | DType::BFloat16
        | DType::Complex32 => return None,
    })
}
