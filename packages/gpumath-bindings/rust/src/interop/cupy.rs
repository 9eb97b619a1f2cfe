//! CuPy arrays, through their attributes: half the cost of `__cuda_array_interface__`.

use gpumath_core::tensor::{Device, TensorView};
use pyo3::{intern, prelude::*};

use super::{checked, dims, dtype_from_number, layout_from_bytes, unsupported_dtype};

pub(super) fn view(array: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = dtype_from_number(dtype.getattr(intern!(py, "num"))?.extract()?) else {
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
