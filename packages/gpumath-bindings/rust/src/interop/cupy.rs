//! CuPy arrays, through their attributes: half the cost of `__cuda_array_interface__`.

use gpumath_core::tensor::{DType, Device, Layout, TensorView};
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBool;
use pyo3::{intern, prelude::*};

use super::library::numpy_dtype;
use super::{checked, dims, layout_from_bytes, unsupported_dtype};

pub(super) fn view(array: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = known_dtype(&dtype)? else {
        return Err(unsupported_dtype(dtype.str()?.to_str()?));
    };
    let data = array.getattr(intern!(py, "data"))?;
    let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
    // A flag costs less than the strides.
    let layout = match array.getattr_opt(intern!(py, "_c_contiguous"))? {
        Some(flag) if flag.is(PyBool::new(py, true)) => Layout::contiguous(&shape),
        _ => {
            layout_from_bytes(shape, &dims(&array.getattr(intern!(py, "strides"))?)?, dtype.size())?
        }
    };
    checked(TensorView {
        ptr: data.getattr(intern!(py, "ptr"))?.extract()?,
        dtype,
        layout,
        device: Device::Cuda(data.getattr(intern!(py, "device_id"))?.extract()?),
        readonly: false,
    })
}

/// The same for an array that gave `known`. Of what a view tells, only the layout of an array can change.
pub(super) fn view_again(array: &Bound<'_, PyAny>, known: &TensorView) -> PyResult<TensorView> {
    let py = array.py();
    let is_contiguous = array
        .getattr_opt(intern!(py, "_c_contiguous"))?
        .is_some_and(|flag| flag.is(PyBool::new(py, true)));
    if is_contiguous {
        let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
        let layout = Layout::contiguous(&shape);
        if layout == known.layout {
            return Ok(known.clone());
        }
    }
    view(array)
}

/// NumPy has one object for each of its own types, with few exceptions; others are known by name.
fn known_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    const FREQUENT: [DType; 4] =
        [DType::Complex64, DType::Float32, DType::Complex128, DType::Float64];
    static OBJECTS: PyOnceLock<[usize; 4]> = PyOnceLock::new();
    let py = dtype.py();
    let objects = OBJECTS.get_or_try_init(py, || {
        let mut objects = [0; 4];
        for (object, dtype) in objects.iter_mut().zip(FREQUENT) {
            *object = numpy_dtype(py, dtype)?.as_ptr() as usize;
        }
        Ok::<_, PyErr>(objects)
    })?;
    let own = dtype.as_ptr() as usize;
    if let Some(position) = objects.iter().position(|&object| object == own) {
        return Ok(Some(FREQUENT[position]));
    }
    if !dtype.getattr(intern!(py, "isnative"))?.is_truthy()? {
        return Ok(None);
    }
    Ok(DType::from_name(dtype.getattr(intern!(py, "name"))?.extract()?))
}
