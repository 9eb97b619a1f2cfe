//! PyTorch tensors.

use gpumath_core::memory::MemoryKind;
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::sync::PyOnceLock;
use pyo3::{ffi, intern, prelude::*};

use super::dlpack_abi::Exchange;
use super::{Refusal, checked, dims, unsupported_dtype};

/// Through the DLPack C exchange API.
pub(super) fn exchanged_view(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> Result<(TensorView, MemoryKind), Refusal> {
    let (view, space) = exchanged_view_again(operand, exchange)?;
    refuse_lazy_bits(operand, view.dtype)?;
    Ok((view, space))
}

/// The same for a tensor that was found not to be lazy: it stays so.
pub(super) fn exchanged_view_again(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> Result<(TensorView, MemoryKind), Refusal> {
    let found = exchange
        .tensor(operand)
        // SAFETY: the class's own function filled it, and `operand` is held by the caller.
        .and_then(|tensor| unsafe { tensor.view() });
    let (view, space) = found.map_err(|refusal| explained(operand, refusal))?;
    Ok((checked(view)?, space))
}

/// Why a tensor cannot be looked into, in PyTorch's terms; `error` where there is nothing to add.
fn explained(operand: &Bound<'_, PyAny>, refusal: Refusal) -> Refusal {
    let py = operand.py();
    let text =
        |name| operand.getattr(name).and_then(|value| value.str()).map(|text| text.to_string());
    match (text(intern!(py, "layout")), text(intern!(py, "device"))) {
        (Ok(layout), _) if layout != "torch.strided" => Refusal::value(format!(
            " is a PyTorch tensor of layout {layout}; only dense tensors are accepted: call its \
             to_dense() first"
        )),
        (_, Ok(device)) if !device.starts_with("cpu") && !device.starts_with("cuda") => {
            Refusal::value(format!(" is on the device {device}; CPU and CUDA tensors are accepted"))
        }
        _ => refusal,
    }
}

/// Through attributes.
pub(super) fn view(operand: &Bound<'_, PyAny>) -> Result<TensorView, Refusal> {
    let py = operand.py();
    if !operand.getattr(intern!(py, "layout"))?.str()?.to_str()?.ends_with("strided") {
        return Err(explained(operand, Refusal::of_type(" has no strides")));
    }
    let name = operand.getattr(intern!(py, "dtype"))?.str()?;
    let name = name.to_str()?;
    let bare = name.rsplit('.').next().unwrap_or_default();
    let dtype = DType::from_name(bare).ok_or_else(|| unsupported_dtype(name))?;
    refuse_lazy_bits(operand, dtype)?;
    let device = operand.getattr(intern!(py, "device"))?;
    let device_type = device.getattr(intern!(py, "type"))?;
    let device = match device_type.extract::<&str>()? {
        "cpu" => MemoryLocation::Host,
        "cuda" => MemoryLocation::Device(device.getattr(intern!(py, "index"))?.extract()?),
        _ => return Err(explained(operand, Refusal::of_type(" is on no device"))),
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
fn refuse_lazy_bits(operand: &Bound<'_, PyAny>, dtype: DType) -> Result<(), Refusal> {
    static IS_CONJUGATED: TensorPredicate =
        TensorPredicate { name: "is_conj", function: PyOnceLock::new() };
    static IS_NEGATED: TensorPredicate =
        TensorPredicate { name: "is_neg", function: PyOnceLock::new() };
    // Each test costs half as much as the rest of a view, and real numbers have no conjugate.
    for (test, possible, cure) in [
        (&IS_CONJUGATED, dtype.is_complex(), "conjugation: call its resolve_conj()"),
        (&IS_NEGATED, true, "negation: call its resolve_neg()"),
    ] {
        if possible && test.of(operand)? {
            return Err(Refusal::value(format!(" is a lazy {cure} first")));
        }
    }
    Ok(())
}

/// A method of tensors that takes no arguments and says yes or no.
struct TensorPredicate {
    name: &'static str,
    /// The class of the first operand, and the C function behind its method: calling that takes half the time of a
    /// look-up and a call.
    function: PyOnceLock<Option<(usize, ffi::PyCFunction)>>,
}

impl TensorPredicate {
    fn of(&self, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = operand.py();
        let class = operand.get_type_ptr() as usize;
        let known = self.function.get_or_try_init(py, || {
            let method = operand.getattr(self.name)?;
            let object = method.as_ptr();
            // SAFETY: the two functions take what the first line has checked.
            let function = unsafe {
                if ffi::PyCFunction_Check(object) != 0
                    && ffi::PyCFunction_GetFlags(object) == ffi::METH_NOARGS
                {
                    ffi::PyCFunction_GetFunction(object)
                } else {
                    None
                }
            };
            Ok::<_, PyErr>(function.map(|function| (class, function)))
        })?;
        let answer = match *known {
            // SAFETY: a C function without arguments, called on an object of the class that it belongs to.
            Some((owner, function)) if owner == class => unsafe {
                Bound::from_owned_ptr_or_err(py, function(operand.as_ptr(), std::ptr::null_mut()))
            },
            _ => operand.call_method0(self.name),
        };
        answer?.is_truthy()
    }
}

/// A result without gradient would be a silent loss; where gradients are off, there is none.
pub(super) fn check_gradient(operand: &Bound<'_, PyAny>) -> Result<(), Refusal> {
    let py = operand.py();
    if operand.getattr(intern!(py, "requires_grad"))?.is_truthy()?
        && py.import("torch")?.call_method0("is_grad_enabled")?.is_truthy()?
    {
        return Err(Refusal::value(
            " requires a gradient, but gpumath does not differentiate; call its detach() first, or \
             work under torch.no_grad()",
        ));
    }
    Ok(())
}
