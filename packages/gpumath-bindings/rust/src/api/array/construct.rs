//! Makes arrays, by allocating or by borrowing memory.

use gpumath_core::device::StreamRef;
use gpumath_core::memory::{ALIGNMENT, MemoryKind};
use gpumath_core::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::PyArray;
use super::storage::ArrayMemory;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{self, deferred_release, stream_handle};
use crate::once::intern;

/// The kinds of memory by the names that users give them.
pub(super) const KINDS: [(&str, MemoryKind); 4] = [
    ("device", MemoryKind::Device),
    ("pinned", MemoryKind::Pinned),
    ("managed", MemoryKind::Managed),
    ("host", MemoryKind::Host),
];

/// Limit on the dimensions, which no library reaches.
const MAX_DIMENSIONS: usize = 64;

/// Reads the arguments of `Array`, and allocates.
pub(super) fn allocate(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    kind: &str,
    device_id: i32,
    stream: Option<&Bound<'_, PyAny>>,
    strides: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let Some(space) = KINDS.iter().find(|entry| entry.0 == kind).map(|entry| entry.1) else {
        return Err(PyValueError::new_err(format!(
            "kind is {kind:?}; allowed are device, pinned, managed, host"
        )));
    };
    let dtype = parse_dtype(dtype)?;
    let shape = parse_dims("shape", shape)?;
    let layout = match strides {
        None => Layout::contiguous(&shape),
        Some(strides) => Layout { strides: parse_dims("strides", strides)?, shape },
    };
    empty(py, layout, dtype, space, device_id, stream)
}

/// Allocates an array, whose elements are undefined.
pub(super) fn empty(
    py: Python<'_>,
    layout: Layout,
    dtype: DType,
    space: MemoryKind,
    device_id: i32,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let device = match space {
        MemoryKind::Host | MemoryKind::Pinned => MemoryLocation::Host,
        MemoryKind::Managed | MemoryKind::Device => MemoryLocation::Device(device_id),
    };
    // The address of the memory is only known below.
    let mut view = TensorView { ptr: ALIGNMENT, dtype, layout, device, readonly: false };
    if view.layout.strides.len() != view.layout.shape.len() {
        return Err(PyValueError::new_err(format!(
            "strides is {:?}; a shape of {:?} needs as many",
            view.layout.strides.as_slice(),
            view.layout.shape.as_slice()
        )));
    }
    let Some((_, size)) = view.span_in_memory() else {
        return Err(PyValueError::new_err(format!(
            "shape is {:?}; so many elements exceed the address space",
            view.layout.shape.as_slice()
        )));
    };
    let handle = stream.map_or(Ok(0), stream_handle)?;
    // SAFETY: the array keeps the stream's object. For a bare handle the user guarantees that the
    // stream outlives the array, as the documentation says.
    let order = unsafe { StreamRef::new(device_id, handle) };
    let allocate = || space.allocate(size, order);
    let memory = if space == MemoryKind::Host {
        allocate()
    } else {
        deferred_release::release_finished();
        release_gil(py, allocate)
    };
    let memory = memory.or_raise(py)?;
    view.ptr = memory.address();
    let stream = stream.map(|stream| stream.clone().unbind());
    let memory = ArrayMemory::Own { memory, stream };
    let device_id = if space == MemoryKind::Host { 0 } else { device_id };
    Ok(PyArray::from_parts(memory, view, space, device_id, handle))
}

/// Borrows the memory of `operand`, whose elements will be used on `stream`.
pub(super) fn borrow(
    operand: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let handle = stream.map_or(Ok(0), stream_handle)?;
    let (found, _) = interop::view_without_gradient("the operand", operand, Some(handle))?;
    let device_id = match found.view.device {
        MemoryLocation::Host => 0,
        MemoryLocation::Device(ordinal) => ordinal,
    };
    let memory =
        ArrayMemory::Borrowed { keep_alive: found.keep_alive, operand: operand.clone().unbind() };
    Ok(PyArray::from_parts(memory, found.view, found.space, device_id, handle))
}

/// Reads an integer or a sequence of integers, none of them negative.
fn parse_dims(name: &str, dims: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let wrong = || {
        PyTypeError::new_err(format!(
            "{name} is {dims}; an integer or a sequence of integers is needed"
        ))
    };
    let number = |item: &Bound<'_, PyAny>| {
        item.extract::<i64>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(item.py()) {
                PyValueError::new_err(format!("{name} is {dims}; that exceeds the address space"))
            } else {
                wrong()
            }
        })
    };
    let parsed: Vec<i64> = if dims.is_instance_of::<PyString>() {
        return Err(wrong());
    } else if let Ok(items) = dims.try_iter() {
        items.map(|item| number(&item?)).collect::<PyResult<_>>()?
    } else {
        vec![number(dims)?]
    };
    if parsed.len() > MAX_DIMENSIONS {
        return Err(PyValueError::new_err(format!(
            "{name} has {} numbers; at most {MAX_DIMENSIONS} dimensions are possible",
            parsed.len()
        )));
    }
    if parsed.iter().any(|&number| number < 0) {
        return Err(PyValueError::new_err(format!(
            "{name} is {parsed:?}; negative numbers are not possible"
        )));
    }
    Ok(Dims::from_vec(parsed))
}

/// Reads the name of an element type, or a type of NumPy, `ml_dtypes` or PyTorch.
fn parse_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    let py = dtype.py();
    if !dtype.is_instance_of::<PyString>()
        && let Some(is_native) = dtype.getattr_opt(intern!(py, "isnative"))?
        && !is_native.is_truthy()?
    {
        return Err(PyValueError::new_err(format!(
            "dtype is {}, whose bytes are in the other order; give dtype.newbyteorder('=')",
            dtype.repr()?
        )));
    }
    let mut name =
        if let Ok(name) = dtype.cast::<PyString>() { Some(name.to_string()) } else { None };
    for attribute in [intern!(py, "name"), intern!(py, "__name__")] {
        if name.is_none()
            && let Some(value) = dtype.getattr_opt(attribute)?
            && let Ok(value) = value.extract::<String>()
        {
            name = Some(value);
        }
    }
    let name = match name {
        Some(name) => name,
        // A type of PyTorch is written as "torch.float32".
        None => dtype.str()?.to_string(),
    };
    let bare = name.rsplit('.').next().unwrap_or_default();
    DType::from_name(bare).ok_or_else(|| {
        let names: Vec<_> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        PyValueError::new_err(format!("dtype is {name:?}; allowed are {}", names.join(", ")))
    })
}

/// Reads the ordinal of a device, or "cpu".
pub(super) fn location(device: &Bound<'_, PyAny>) -> PyResult<MemoryLocation> {
    if let Ok(name) = device.cast::<PyString>() {
        if name.to_str()? == "cpu" {
            return Ok(MemoryLocation::Host);
        }
    } else if let Ok(ordinal) = device.extract::<i32>()
        && ordinal >= 0
    {
        return Ok(MemoryLocation::Device(ordinal));
    }
    Err(PyValueError::new_err(format!(
        "device is {device}; the ordinal of a CUDA device or \"cpu\" is needed"
    )))
}
