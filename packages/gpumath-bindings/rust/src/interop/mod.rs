//! Operands and streams of other libraries, as addresses and layouts.

mod array_library;
pub(crate) mod buffer;
pub(crate) mod cuda_array_interface;
mod cupy;
pub(crate) mod deferred_release;
pub(crate) mod dlpack_abi;
pub(crate) mod dlpack_import;
mod library_pool;
mod numpy;
mod stream;
mod torch;

use std::ops::Deref;
use std::sync::OnceLock;

use gpumath_core::memory::MemoryKind;
use gpumath_core::tensor::{Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::types::{PyTuple, PyType};
use pyo3::{ffi, intern, prelude::*};

use crate::api::array::Array;

pub(crate) use array_library::ArrayLibrary;
pub(crate) use stream::stream_handle;

/// An operand, and what has to live as long as its address is used: the object itself and `owner`.
pub(crate) struct Operand {
    pub(crate) view: TensorView,
    pub(crate) space: MemoryKind,
    /// `None` where the object itself is enough.
    pub(crate) owner: Option<Owner>,
}

/// What was borrowed from an object.
pub(crate) enum Owner {
    Tensor(#[expect(dead_code, reason = "held for its memory")] dlpack_import::Managed),
    Buffer(buffer::Buffer),
    Object(Py<PyAny>),
}

impl Owner {
    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            // What a producer refers to is its own affair.
            Self::Tensor(_) => Ok(()),
            Self::Buffer(buffer) => visit.call(buffer.exporter()),
            Self::Object(object) => visit.call(object),
        }
    }
}

impl Deref for Operand {
    type Target = TensorView;

    fn deref(&self) -> &TensorView {
        &self.view
    }
}

/// How to look into objects of one class.
#[derive(Clone, Copy)]
pub(crate) enum OperandProtocol {
    Own,
    Numpy,
    Cupy,
    /// PyTorch 2.10 and later.
    TorchExchange(dlpack_abi::Exchange),
    /// Older PyTorch.
    Torch,
    /// Any other class with the DLPack C exchange API.
    Exchange(dlpack_abi::Exchange),
    /// `__dlpack__`
    Capsule,
    Jax,
    /// `__cuda_array_interface__`
    CudaInterface,
    Buffer,
}

/// The classes met so far, the empty places last. They are kept alive, so that their addresses stay theirs.
static PROTOCOL_BY_CLASS: [OnceLock<(usize, OperandProtocol)>; MAX_REMEMBERED] =
    [const { OnceLock::new() }; MAX_REMEMBERED];

const LEGACY_STREAM: usize = 1;

/// Classes remembered at most: programs that make classes all the time must not fill the memory with them.
const MAX_REMEMBERED: usize = 256;

/// What `operand` is; nothing is copied. Where its library can be told, work put on `stream` from now on waits for what
/// makes the elements; `None` promises that nobody looks at them.
pub(crate) fn view(operand: &Bound<'_, PyAny>, stream: Option<usize>) -> PyResult<Operand> {
    OperandProtocol::of(operand)?.view(operand, stream)
}

/// Looks like [`view`] into what the result of an operation on `operand` is written to. Errors speak of `out`.
pub(crate) fn out_view(
    operand: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    stream: Option<usize>,
) -> PyResult<Operand> {
    named_view("out", out, stream, || {
        Ok(Some(("the operand", OperandProtocol::of(operand)?.library())))
    })
}

/// Looks like [`view`] into the argument `name` of an operation, which errors then name. It has to be of the library of
/// the `first` operand, whose name comes with it; `None` for that operand itself.
pub(crate) fn named_view(
    name: &str,
    object: &Bound<'_, PyAny>,
    stream: Option<usize>,
    first: impl FnOnce() -> PyResult<Option<(&'static str, ArrayLibrary)>>,
) -> PyResult<Operand> {
    let renamed = |error: PyErr| {
        let py = object.py();
        if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyValueError>(py) {
            return error;
        }
        let text = error.value(py).to_string();
        let text = text.replace("the operand's", &format!("{name}'s")).replace("the operand", name);
        let renamed = PyValueError::new_err(text.replace("the tensor", name));
        renamed.set_cause(py, Some(error));
        renamed
    };
    let reader = OperandProtocol::of(object).map_err(renamed)?;
    if let Some((first, own)) = first()?
        && own.name() != reader.library().name()
    {
        return Err(PyValueError::new_err(format!(
            "{name} is of the library {}, and {first} of {}; give an array of {first}'s library",
            reader.library().name(),
            own.name()
        )));
    }
    reader.check_gradient(object).map_err(renamed)?;
    reader.view(object, stream).map_err(renamed)
}

impl OperandProtocol {
    /// For the class of `operand`.
    pub(crate) fn of(operand: &Bound<'_, PyAny>) -> PyResult<Self> {
        let class = operand.get_type_ptr() as usize;
        for place in &PROTOCOL_BY_CLASS {
            match place.get() {
                Some(&(known, reader)) if known == class => return Ok(reader),
                Some(_) => {}
                None => break,
            }
        }
        remember(operand, &operand.get_type())
    }

    /// The library of the class.
    pub(crate) fn library(self) -> ArrayLibrary {
        match self {
            Self::Numpy => ArrayLibrary::Numpy,
            Self::Cupy => ArrayLibrary::Cupy,
            Self::TorchExchange(exchange) => ArrayLibrary::Torch(Some(exchange)),
            Self::Torch => ArrayLibrary::Torch(None),
            _ => ArrayLibrary::Other,
        }
    }

    /// As the function of this name, for an operand of the reader's class.
    pub(crate) fn view(
        self,
        operand: &Bound<'_, PyAny>,
        stream: Option<usize>,
    ) -> PyResult<Operand> {
        let (view, space) = match self {
            Self::Numpy => (numpy::view(operand)?, MemoryKind::Host),
            Self::Cupy => (cupy::view(operand)?, MemoryKind::Device),
            Self::TorchExchange(exchange) => torch::exchanged_view(operand, exchange)?,
            Self::Torch => {
                let view = torch::view(operand)?;
                let space = if view.device == MemoryLocation::Host {
                    MemoryKind::Host
                } else {
                    MemoryKind::Device
                };
                (view, space)
            }
            Self::Own => return Array::operand(operand.cast::<Array>()?, stream),
            Self::Exchange(exchange) => {
                return dlpack_import::exchanged_view(operand, exchange, stream);
            }
            Self::Capsule => return dlpack_import::view(operand, stream),
            Self::Jax => {
                // JAX takes -1 (no order) for the handle of a stream, and None means that the host waits.
                let mut found =
                    dlpack_import::view(operand, Some(stream.unwrap_or(LEGACY_STREAM)))?;
                // Its capsules do not say that nobody may write.
                found.view.readonly = true;
                return Ok(found);
            }
            Self::CudaInterface => return cuda_array_interface::view(operand, stream),
            Self::Buffer => return buffer::view(operand),
        };
        Ok(Operand { view, space, owner: None })
    }

    /// As [`Self::view`], for an object that gave `known` before: asks nothing that cannot have changed since.
    pub(crate) fn view_again(
        self,
        operand: &Bound<'_, PyAny>,
        known: &TensorView,
        stream: Option<usize>,
    ) -> PyResult<Operand> {
        let (view, space) = match self {
            Self::TorchExchange(exchange) => torch::exchanged_view_again(operand, exchange)?,
            Self::Cupy => (cupy::view_again(operand, known)?, MemoryKind::Device),
            _ => return self.view(operand, stream),
        };
        Ok(Operand { view, space, owner: None })
    }

    /// Refuses what an operation would silently lose: a gradient that PyTorch is to compute.
    pub(crate) fn check_gradient(self, operand: &Bound<'_, PyAny>) -> PyResult<()> {
        match self {
            Self::TorchExchange(_) | Self::Torch => torch::check_gradient(operand),
            _ => Ok(()),
        }
    }
}

fn remember(operand: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<OperandProtocol> {
    let reader = classify(operand, class)?;
    let entry = (class.as_ptr() as usize, reader);
    if PROTOCOL_BY_CLASS.iter().any(|place| place.set(entry).is_ok()) {
        std::mem::forget(class.clone());
    }
    Ok(reader)
}

fn classify(operand: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<OperandProtocol> {
    let py = class.py();
    if operand.is_exact_instance_of::<Array>() {
        return Ok(OperandProtocol::Own);
    }
    let mut reader = OperandProtocol::Capsule;
    for base in class.mro() {
        let base = base.cast_into::<PyType>()?;
        let module = base.module()?;
        let module = module.to_str()?;
        let name = base.name()?;
        match (module.split('.').next().unwrap_or_default(), name.to_str()?) {
            ("numpy", "MaskedArray" | "generic") => return Err(refusal(class)),
            ("numpy", "ndarray") => return Ok(OperandProtocol::Numpy),
            ("cupy", "ndarray") => return Ok(OperandProtocol::Cupy),
            ("torch", "Tensor") => {
                let name = intern!(py, "__dlpack_c_exchange_api__");
                if !class
                    .getattr_opt(name)?
                    .is_none_or(|own| base.getattr(name).is_ok_and(|inherited| inherited.is(&own)))
                {
                    // PyTorch's read-only wrapper says in `__dlpack__` what its tensors are.
                    return Ok(OperandProtocol::Capsule);
                }
                let exchange =
                    dlpack_abi::Exchange::of(class)?.filter(dlpack_abi::Exchange::has_tensor);
                return Ok(exchange.map_or(OperandProtocol::Torch, OperandProtocol::TorchExchange));
            }
            ("jax" | "jaxlib", _) => reader = OperandProtocol::Jax,
            _ => {}
        }
    }
    if let Some(exchange) =
        dlpack_abi::Exchange::of(class)?.filter(dlpack_abi::Exchange::has_managed)
    {
        return Ok(OperandProtocol::Exchange(exchange));
    }
    if class.hasattr(intern!(py, "__dlpack__"))?
        && class.hasattr(intern!(py, "__dlpack_device__"))?
    {
        return Ok(reader);
    }
    if class.hasattr(intern!(py, "__cuda_array_interface__"))? {
        return Ok(OperandProtocol::CudaInterface);
    }
    // SAFETY: a live object.
    if unsafe { ffi::PyObject_CheckBuffer(operand.as_ptr()) } != 0 {
        return Ok(OperandProtocol::Buffer);
    }
    Err(refusal(class))
}

fn refusal(class: &Bound<'_, PyType>) -> PyErr {
    let name = class.fully_qualified_name().map_or_else(|_| String::new(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "the operand is a {name}; a NumPy or CuPy array, a PyTorch tensor, or an object with __dlpack__, \
         __cuda_array_interface__ or the buffer protocol is needed: convert it first (masked arrays with filled())"
    ))
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
    // cuFFT's own, stricter rule is checked where a plan runs on CUDA.
    let alignment = view.dtype.alignment();
    if !view.layout.is_empty() && !view.ptr.is_multiple_of(alignment) {
        return Err(PyValueError::new_err(format!(
            "the operand's address {:#x} is not aligned to {alignment} bytes, as {} needs; copy it first",
            view.ptr, view.dtype
        )));
    }
    Ok(view)
}

/// A view, after the checks that NumPy, CuPy and PyTorch have made of their own arrays.
fn plausible(view: TensorView) -> PyResult<TensorView> {
    if view.span_in_memory().is_some() {
        return Ok(view);
    }
    Err(PyValueError::new_err(format!(
        "the operand cannot be: it has {} at address {:#x}",
        view.describe(),
        view.ptr
    )))
}

/// A tuple of integers.
fn dims(tuple: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let tuple = tuple.cast::<PyTuple>()?;
    tuple.iter_borrowed().map(pyo3::Borrowed::extract).collect()
}
