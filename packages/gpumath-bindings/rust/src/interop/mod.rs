//! Operands and streams of other libraries, as addresses and layouts.

mod cupy;
mod dlpack;
mod numpy;
mod stream;
mod torch;

use std::sync::RwLock;

use gpumath_core::tensor::{DType, Device, Dims, Layout, TensorView};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

pub(crate) use stream::stream_handle;

/// How to look into objects of one class.
#[derive(Clone, Copy)]
enum Reader {
    Numpy,
    Cupy,
    /// PyTorch 2.10 and later.
    Exchange(dlpack::Exchange),
    /// Older PyTorch.
    Torch,
}

/// The classes met so far. They are kept alive, so that their addresses stay theirs.
static READERS: RwLock<Vec<(usize, Reader)>> = RwLock::new(Vec::new());

/// What `operand` is; nothing is copied and no stream is waited for.
pub(crate) fn view(operand: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let class = operand.get_type();
    let address = class.as_ptr() as usize;
    let known = READERS
        .read()
        .ok()
        .and_then(|known| known.iter().find(|entry| entry.0 == address).map(|entry| entry.1));
    let reader = match known {
        Some(reader) => reader,
        None => remember(&class)?,
    };
    match reader {
        Reader::Numpy => numpy::view(operand),
        Reader::Cupy => cupy::view(operand),
        Reader::Exchange(exchange) => torch::exchanged_view(operand, exchange),
        Reader::Torch => torch::view(operand),
    }
}

fn remember(class: &Bound<'_, PyType>) -> PyResult<Reader> {
    let reader = classify(class)?;
    if let Ok(mut known) = READERS.write() {
        known.push((class.as_ptr() as usize, reader));
        std::mem::forget(class.clone());
    }
    Ok(reader)
}

fn classify(class: &Bound<'_, PyType>) -> PyResult<Reader> {
    for base in class.mro() {
        let base = base.cast_into::<PyType>()?;
        let module = base.module()?;
        let module = module.to_str()?;
        let name = base.name()?;
        match (module.split('.').next().unwrap_or_default(), name.to_str()?) {
            ("numpy", "MaskedArray") => break,
            ("numpy", "ndarray") => return Ok(Reader::Numpy),
            ("cupy", "ndarray") => return Ok(Reader::Cupy),
            ("torch", "Tensor") => {
                return Ok(dlpack::Exchange::of(class)?.map_or(Reader::Torch, Reader::Exchange));
            }
            _ => {}
        }
    }
    Err(PyTypeError::new_err(format!(
        "the operand is a {}; a NumPy or CuPy array or a PyTorch tensor is needed (masked arrays and sparse \
         ones have to be converted first)",
        class.fully_qualified_name()?
    )))
}

/// The element type for one of NumPy's type numbers.
fn dtype_from_number(number: i32) -> Option<DType> {
    match number {
        23 => Some(DType::Float16),
        11 => Some(DType::Float32),
        12 => Some(DType::Float64),
        14 => Some(DType::Complex64),
        15 => Some(DType::Complex128),
        _ => None,
    }
}

fn unsupported_dtype(dtype: &str) -> PyErr {
    PyValueError::new_err(format!(
        "the operand's element type {dtype} is not supported; float16, float32, float64, complex32, complex64 and \
         complex128 in the machine's byte order are: convert it first"
    ))
}

/// A layout from strides in bytes.
fn layout_from_bytes(shape: Dims, byte_strides: &[i64], itemsize: usize) -> PyResult<Layout> {
    let size = itemsize as i64;
    if let Some(stride) = byte_strides
        .iter()
        .zip(&shape)
        .find_map(|(&stride, &extent)| (extent > 1 && stride % size != 0).then_some(stride))
    {
        return Err(PyValueError::new_err(format!(
            "the operand has a stride of {stride} bytes, which is not a multiple of its element size, {size}; copy it \
             first"
        )));
    }
    Ok(Layout { shape, strides: byte_strides.iter().map(|stride| stride / size).collect() })
}

/// A view, after the checks that hold for every library.
fn checked(view: TensorView) -> PyResult<TensorView> {
    // Both parts of a complex number are aligned when its real part is, for the CPU; cuFFT's own, stricter rule is
    // checked where a plan runs on CUDA.
    let size = view.dtype.size();
    let alignment = if view.dtype.is_complex() { size / 2 } else { size };
    if !view.layout.is_empty() && !view.ptr.is_multiple_of(alignment) {
        return Err(PyValueError::new_err(format!(
            "the operand's address {:#x} is not aligned to {alignment} bytes, as {} needs; copy it first",
            view.ptr, view.dtype
        )));
    }
    Ok(view)
}

/// A tuple of integers.
fn dims(tuple: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let tuple = tuple.cast::<PyTuple>()?;
    tuple.iter_borrowed().map(pyo3::Borrowed::extract).collect()
}

/// The device of a DLPack device number and ordinal.
fn dlpack_device(kind: i32, ordinal: i32) -> PyResult<Device> {
    match kind {
        // Plain and page-locked host memory.
        1 | 3 => Ok(Device::Host),
        // Device and managed memory.
        2 | 13 => Ok(Device::Cuda(ordinal)),
        _ => Err(PyValueError::new_err(format!(
            "the operand is on a device of DLPack type {kind}; CPU and CUDA memory are supported"
        ))),
    }
}
