//! Reads arrays on a GPU through `__cuda_array_interface__`.
//!
//! The protocol: <https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html>.

use gpumath_core::device::StreamRef;
use gpumath_core::memory::{MemoryKind, device_of};
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::{
    KeepAlive, Operand, Refusal, checked, dims, layout_from_bytes, plausible, unsupported_dtype,
};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::once::intern;

/// Reads an operand through its `__cuda_array_interface__`, with `stream` as for [`super::view`].
pub(super) fn view(operand: &Bound<'_, PyAny>, stream: Option<usize>) -> Result<Operand, Refusal> {
    let py = operand.py();
    let interface = operand.getattr(intern!(py, "__cuda_array_interface__"))?;
    let interface = interface.cast_into::<PyDict>().map_err(|error| {
        Refusal::of_type(format!(
            "'s __cuda_array_interface__ is {}; it has to be a dictionary",
            error.into_inner()
        ))
    })?;
    if optional(&interface, intern!(py, "mask"))?.is_some() {
        return Err(Refusal::value(
            " has a mask, which would be ignored; fill in or drop the masked elements first",
        ));
    }
    let typestr = needed(&interface, intern!(py, "typestr"))?;
    let typestr = typestr.extract::<&str>()?;
    let Some(dtype) = dtype_from_typestr(typestr) else { return Err(unsupported_dtype(typestr)) };
    let shape = dims(&needed(&interface, intern!(py, "shape"))?)?;
    let layout = match optional(&interface, intern!(py, "strides"))? {
        None => Layout::contiguous(&shape),
        Some(strides) => layout_from_bytes(shape, &dims(&strides)?, dtype.size())?,
    };
    let data = needed(&interface, intern!(py, "data"))?;
    let (ptr, readonly): (Option<usize>, bool) = data.extract()?;
    let mut view = TensorView {
        ptr: ptr.unwrap_or(0),
        dtype,
        layout,
        device: MemoryLocation::Device(0),
        readonly,
    };
    view = plausible(view)?;
    if !view.layout.is_empty() {
        let ordinal = release_gil(py, || device_of(view.ptr)).or_raise(py)?;
        view.device = MemoryLocation::Device(ordinal);
    }
    let view = checked(view)?;
    let own = optional(&interface, intern!(py, "stream"))?;
    let own = own.map(|stream| stream.extract::<usize>()).transpose()?;
    if own == Some(0) {
        return Err(Refusal::value(
            "'s __cuda_array_interface__ has the stream 0, which is ambiguous; 1 is the legacy \
             default stream and 2 the per-thread one",
        ));
    }
    if let (Some(own), Some(stream), MemoryLocation::Device(device)) = (own, stream, view.device)
        && !view.layout.is_empty()
    {
        // SAFETY: `own` is the library's handle of a live stream, and the user vouches for
        // `stream`.
        release_gil(py, || unsafe {
            StreamRef::new(device, stream).order_after(StreamRef::new(device, own))
        })
        .or_raise(py)?;
    }
    Ok(Operand {
        view,
        space: MemoryKind::Device,
        keep_alive: Some(KeepAlive::Object(interface.into_any().unbind())),
    })
}

/// Returns an entry; `None` if it is absent or None.
fn optional<'py>(
    interface: &Bound<'py, PyDict>,
    key: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(interface.get_item(key)?.filter(|value| !value.is_none()))
}

/// Returns an entry, or refuses the operand if it is absent or None.
fn needed<'py>(
    interface: &Bound<'py, PyDict>,
    key: &Bound<'py, PyString>,
) -> Result<Bound<'py, PyAny>, Refusal> {
    optional(interface, key)?
        .ok_or_else(|| Refusal::value(format!("'s __cuda_array_interface__ has no {key:?}")))
}

/// Returns the element type of a typestr; `None` if it is not supported.
fn dtype_from_typestr(typestr: &str) -> Option<DType> {
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let mut rest = typestr.chars();
    let order = rest.next()?;
    let name = match rest.as_str() {
        "b1" => "bool",
        "i1" => "int8",
        "u1" => "uint8",
        _ if order != native && order != '=' => return None,
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        "c8" => "complex64",
        "c16" => "complex128",
        _ => return None,
    };
    DType::from_name(name)
}

/// Returns the typestr of an element type; `None` if NumPy has no letter for it.
pub(crate) fn typestr(dtype: DType) -> Option<String> {
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let order = if dtype.size() == 1 { '|' } else { native };
    let letter = match dtype {
        DType::Bool => 'b',
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => 'i',
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => 'u',
        DType::Float16 | DType::Float32 | DType::Float64 => 'f',
        DType::Complex64 | DType::Complex128 => 'c',
        DType::Float8E4M3Fn
        | DType::Float8E5M2
        | DType::Float8E8M0Fnu
        | DType::Float4E2M1FnX2
        | DType::BFloat16
        | DType::Complex32 => return None,
    };
    Some(format!("{order}{letter}{}", dtype.size()))
}
