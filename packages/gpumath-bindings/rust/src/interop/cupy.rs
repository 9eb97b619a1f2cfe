//! CuPy arrays, through their attributes: half the cost of `__cuda_array_interface__`.

use gpumath_core::tensor::{DType, Device, TensorView};
use pyo3::{intern, prelude::*};

use super::{checked, dims, layout_from_bytes, unsupported_dtype};

pub(super) fn view(array: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = known_dtype(&dtype)? else {
        return Err(unsupported_dtype(dtype.str()?.to_str()?));
    };
    let data = array.getattr(intern!(py, "data"))?;
    let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
    let strides = dims(&array.getattr(intern!(py, "strides"))?)?;
    checked(TensorView {
        ptr: data.getattr(intern!(py, "ptr"))?.extract()?,
        dtype,
        layout: layout_from_bytes(shape, &strides, dtype.size())?,
        device: Device::Cuda(data.getattr(intern!(py, "device_id"))?.extract()?),
        readonly: false,
    })
}

/// By NumPy's number of the type; by name if somebody else has added it to NumPy.
fn known_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let py = dtype.py();
    let number: i32 = dtype.getattr(intern!(py, "num"))?.extract()?;
    Ok(match number {
        14 => Some(DType::Complex64),
        15 => Some(DType::Complex128),
        11 => Some(DType::Float32),
        12 => Some(DType::Float64),
        23 => Some(DType::Float16),
        _ => DType::from_name(dtype.getattr(intern!(py, "name"))?.extract()?),
    })
}
