//! PyTorch tensors.

use gpumath_core::memory::Space;
use gpumath_core::tensor::{DType, Device, Layout, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::{intern, prelude::*};

use super::dlpack::Exchange;
use super::{checked, dims, unsupported_dtype};

/// Through the DLPack C exchange API.
pub(super) fn exchanged_view(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> PyResult<(TensorView, Space)> {
    let tensor = exchange.tensor(operand)?;
    // SAFETY: the class's own function filled it, and `operand` is held by the caller.
    let (view, space) = unsafe { tensor.view() }?;
    refuse_lazy_bits(operand, view.dtype)?;
    Ok((checked(view)?, space))
}

/// Through attributes.
pub(super) fn view(operand: &Bound<'_, PyAny>) -> PyResult<TensorView> {
    let py = operand.py();
    let name = operand.getattr(intern!(py, "dtype"))?.str()?;
    let name = name.to_str()?;
    let bare = name.rsplit('.').next().unwrap_or_default();
    let dtype = DType::from_name(bare).ok_or_else(|| unsupported_dtype(name))?;
    refuse_lazy_bits(operand, dtype)?;
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
fn refuse_lazy_bits(operand: &Bound<'_, PyAny>, dtype: DType) -> PyResult<()> {
    let py = operand.py();
    // Each test costs as much as the rest of a view, and real numbers have no conjugate.
    for (test, possible, cure) in [
        (intern!(py, "is_conj"), dtype.is_complex(), "conjugation: call its resolve_conj()"),
        (intern!(py, "is_neg"), true, "negation: call its resolve_neg()"),
    ] {
        if possible && operand.call_method0(test)?.is_truthy()? {
            return Err(PyValueError::new_err(format!("the operand is a lazy {cure} first")));
        }
    }
    Ok(())
}
