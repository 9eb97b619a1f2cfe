//! Reads PyTorch tensors.

use gpumath_core::memory::MemoryKind;
use gpumath_core::process::SetOnce;
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::types::PyDict;
use pyo3::{ffi, prelude::*};

use super::array_library::LazyAttribute;
use super::dlpack_abi::Exchange;
use super::{Refusal, checked, dims, unsupported_dtype};
use crate::once::intern;

/// Reads a tensor through the DLPack C exchange API.
pub(super) fn exchanged_view(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> Result<(TensorView, MemoryKind), Refusal> {
    let (view, space) = exchanged_view_again(operand, exchange)?;
    refuse_lazy_bits(operand, view.dtype)?;
    Ok((view, space))
}

/// Like [`exchanged_view`], for a tensor that was found not to be a lazy conjugation or negation,
/// because it stays so.
pub(super) fn exchanged_view_again(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
) -> Result<(TensorView, MemoryKind), Refusal> {
    let found = exchange
        .tensor(operand)
        // SAFETY: the class's own function has filled the tensor, and the caller holds `operand`,
        // on which its shape and strides depend.
        .and_then(|tensor| unsafe { tensor.view() });
    let (view, space) = found.map_err(|refusal| explained(operand, refusal))?;
    Ok((checked(view)?, space))
}

/// Returns why a tensor cannot be read in PyTorch's terms, or `refusal` if they add nothing.
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

/// Reads a tensor of an older PyTorch, through its attributes.
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

/// Refuses a tensor whose elements are still to be conjugated or negated. Such a tensor shares the
/// memory of the original, and only a mark tells the difference.
fn refuse_lazy_bits(operand: &Bound<'_, PyAny>, dtype: DType) -> Result<(), Refusal> {
    static IS_CONJUGATED: TensorPredicate =
        TensorPredicate { name: "is_conj", function: SetOnce::new() };
    static IS_NEGATED: TensorPredicate =
        TensorPredicate { name: "is_neg", function: SetOnce::new() };
    // Each test takes half the time of the rest of a view, so real numbers skip the first.
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

/// A method of tensors that takes no arguments and returns a bool.
struct TensorPredicate {
    name: &'static str,
    /// The class of the first operand, and the C function of its method; `None` if the method has
    /// no such function. Calling that function instead of the method saves 0.35 µs of each
    /// `fft.fft` (of 7.6 µs; docs/performance-calls.md).
    function: SetOnce<Option<(usize, ffi::PyCFunction)>>,
}

impl TensorPredicate {
    fn of(&self, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = operand.py();
        let class = operand.get_type_ptr() as usize;
        let known = self.function.get_or_try_init(|| {
            let method = operand.getattr(self.name)?;
            let object = method.as_ptr();
            // SAFETY: the two other functions need an object of the class that `PyCFunction_Check`
            // checks for.
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
            // SAFETY: the function takes no arguments, and `operand` is of the class that it
            // belongs to.
            Some((owner, function)) if owner == class => unsafe {
                Bound::from_owned_ptr_or_err(py, function(operand.as_ptr(), std::ptr::null_mut()))
            },
            _ => operand.call_method0(self.name),
        };
        answer?.is_truthy()
    }
}

/// Returns the function by which PyTorch's own compiled programs make results:
/// `(shape, strides, dtype)` gives a tensor on the current CUDA device. It takes half the time of
/// `torch.empty_strided` and saves 1.8 µs of each execution with a new result (of 16.9 µs for a
/// product; docs/performance-calls.md). `None` if this PyTorch has no such function.
pub(super) fn empty_on_current_device(py: Python<'_>) -> Option<&Bound<'_, PyAny>> {
    static FUNCTION: SetOnce<Option<Py<PyAny>>> = SetOnce::new();
    let find = || {
        let mut found = py.import("torch")?.into_any();
        for name in ["_C", "_dynamo", "guards", "_empty_strided_cuda"] {
            found = found.getattr(name)?;
        }
        PyResult::Ok(found.unbind())
    };
    FUNCTION.get_or_init(|| find().ok()).as_ref().map(|function| function.bind(py))
}

/// Allocates bytes on the current CUDA device and stream. Returns their address and the tensor that
/// owns them.
pub(super) fn bytes_on_current_device(py: Python<'_>, size: usize) -> PyResult<(usize, Py<PyAny>)> {
    static EMPTY: LazyAttribute = LazyAttribute::new("torch", "empty");
    static UINT8: LazyAttribute = LazyAttribute::new("torch", "uint8");
    let dtype = UINT8.get(py)?;
    let bytes = if let Some(empty) = empty_on_current_device(py) {
        empty.call1(((size,), (1,), dtype))?
    } else {
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "dtype"), dtype)?;
        keywords.set_item(intern!(py, "device"), intern!(py, "cuda"))?;
        EMPTY.get(py)?.call((size,), Some(&keywords))?
    };
    let address = bytes.call_method0(intern!(py, "data_ptr"))?.extract()?;
    Ok((address, bytes.unbind()))
}

/// Refuses a tensor that requires a gradient, unless the user has switched gradients off.
pub(super) fn check_gradient(operand: &Bound<'_, PyAny>) -> Result<(), Refusal> {
    let py = operand.py();
    if operand.getattr(intern!(py, "requires_grad"))?.is_truthy()?
        && py.import("torch")?.call_method0("is_grad_enabled")?.is_truthy()?
    {
        return Err(Refusal::value(
            " requires a gradient, which this function does not give; transforms and products of \
             gpumath.torch do. Or call its detach() first, or work under torch.no_grad()",
        ));
    }
    Ok(())
}
