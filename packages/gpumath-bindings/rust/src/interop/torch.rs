//! PyTorch tensors.

use gpumath_core::tensor::{DType, Device, Dims, Layout, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::{intern, prelude::*};

use super::dlpack::{self, Exchange};
use super::{checked, dims, dlpack_device, unsupported_dtype};

/// Through the DLPack C exchange API.
pub(super) fn exchanged_view(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> PyResult<TensorView> {
    refuse_lazy_bits(operand)?;
    let tensor = exchange.tensor(operand)?;
    let Some(dtype) = dlpack::dtype(tensor.type_code, tensor.type_bits, tensor.type_lanes) else {
        return Err(unsupported_dtype(
            operand.getattr(intern!(operand.py(), "dtype"))?.str()?.to_str()?,
        ));
    };
    let ndim = usize::try_from(tensor.ndim).unwrap_or_default();
    let layout = if ndim == 0 {
        Layout { shape: Dims::new(), strides: Dims::new() }
    } else {
        // SAFETY: shape has ndim elements and lives as long as the operand, which the caller holds.
        let shape = unsafe { std::slice::from_raw_parts(tensor.shape, ndim) };
        if tensor.strides.is_null() {
            Layout::contiguous(shape)
        } else {
            // SAFETY: as for shape.
            let strides = unsafe { std::slice::from_raw_parts(tensor.strides, ndim) };
            Layout { shape: shape.into(), strides: strides.into() }
        }
    };
    checked(TensorView {
        ptr: tensor.data + tensor.byte_offset as usize,
        dtype,
        layout,
        device: dlpack_device(tensor.device_type, tensor.device_id)?,
        readonly: false,
    })
}

/// Through attributes.
pub(super) fn view(operand: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = operand.py();
    refuse_lazy_bits(operand)?;
    let name = operand.getattr(intern!(py, "dtype"))?.str()?;
    let name = name.to_str()?;
    let bare = name.rsplit('.').next().unwrap_or_default();
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == bare);
    let dtype = dtype.ok_or_else(|| unsupported_dtype(name))?;
    let device = operand.getattr(intern!(py, "device"))?;
    let device_type = device.getattr(intern!(py, "type"))?;
    let device = match device_type.extract::<&str>()? {
        "cpu" => Device::Host,
        "cuda" => Device::Cuda(device.getattr(intern!(py, "index"))?.extract()?),
        other => {
            return Err(PyValueError::new_err(format!(
                "the operand is on a {other:?} device; CPU and CUDA memory are supported"
            )));
        }
    };
    checked(TensorView {
        ptr: operand.call_method0(intern!(py, "data_ptr"))?.extract()?,
        dtype,
        layout: Layout {
            shape: dims(&operand.getattr(intern!(py, "shape"))?)?,
            strides: dims(&operand.call_method0(intern!(py, "stride"))?)?,
        },
        device,
        readonly: false,
    })
}

/// A conjugated or negated tensor may share its memory with the original and carry only a mark.
fn refuse_lazy_bits(operand: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = operand.py();
    for (test, cure) in [
        (intern!(py, "is_conj"), "conjugation: call its resolve_conj()"),
        (intern!(py, "is_neg"), "negation: call its resolve_neg()"),
    ] {
        if operand.call_method0(test)?.is_truthy()? {
            return Err(PyValueError::new_err(format!("the operand is a lazy {cure} first")));
        }
    }
    Ok(())
}
