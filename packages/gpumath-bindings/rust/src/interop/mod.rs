//! Operands and streams of other libraries, as addresses and layouts.
//!
//! [`OperandProtocol`] decides once for each class how its objects are read. One file reads each
//! protocol; a reader copies nothing. [`ArrayLibrary`] knows the rest about a library: its current
//! stream, its memory pool, and how it makes results.

mod array_library;
pub(crate) mod buffer;
pub(crate) mod cuda_array_interface;
mod cupy;
pub(crate) mod deferred_release;
pub(crate) mod dlpack_abi;
pub(crate) mod dlpack_import;
mod library_pool;
mod numpy;
mod numpy_c_api;
mod refusal;
mod stream;
mod torch;

use std::ops::Deref;

use gpumath_core::memory::MemoryKind;
use gpumath_core::process::SetOnce;
use gpumath_core::tensor::{Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::types::{PyTuple, PyType};
use pyo3::{ffi, prelude::*};

use crate::api::array::PyArray;
use crate::once::intern;
use crate::py_buffer::PyBufferGuard;

pub(crate) use array_library::ArrayLibrary;
pub(crate) use numpy_c_api::{NumpyArray, NumpyCApi};
pub(crate) use refusal::{Named, Refusal};
pub(crate) use stream::stream_handle;

/// What was read from an operand. The object itself and `keep_alive` must outlive every use of the
/// address.
pub(crate) struct Operand {
    pub(crate) view: TensorView,
    pub(crate) space: MemoryKind,
    /// `None` if keeping the object itself is enough.
    pub(crate) keep_alive: Option<KeepAlive>,
}

/// Something besides the operand that keeps its memory alive.
pub(crate) enum KeepAlive {
    Tensor(#[expect(dead_code, reason = "held for its memory")] dlpack_import::ImportedTensor),
    Buffer(PyBufferGuard),
    Object(Py<PyAny>),
}

impl KeepAlive {
    /// Visits what this refers to, for the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            // Only the producer knows what its tensor refers to.
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

/// How to read objects of one class.
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

/// The classes met so far, by their addresses; empty places come last. The classes are never freed,
/// so no other class can get one of these addresses.
static PROTOCOL_BY_CLASS: [SetOnce<(usize, OperandProtocol)>; MAX_REMEMBERED] =
    [const { SetOnce::new() }; MAX_REMEMBERED];

/// JAX's and DLPack's number for the legacy default stream.
const LEGACY_STREAM: usize = 1;

/// Limit on the classes that are remembered, because a program may make classes without end.
const MAX_REMEMBERED: usize = 256;

/// Reads `operand`, which errors call `name`, and returns its library as well; nothing is copied.
///
/// If the operand's protocol has streams, work enqueued on `stream` from now on waits for the work
/// that writes the elements. Pass `None` if the elements will not be used.
pub(crate) fn view(
    name: &str,
    operand: &Bound<'_, PyAny>,
    stream: Option<usize>,
) -> PyResult<(Operand, ArrayLibrary)> {
    let py = operand.py();
    let protocol = OperandProtocol::of(operand).named(py, name)?;
    let view = protocol.view(operand, stream).named(py, name)?;
    Ok((view, protocol.library()))
}

/// Like [`view`], but refuses a tensor that requires a gradient, because a result without one would
/// be a silent loss.
pub(crate) fn view_without_gradient(
    name: &str,
    operand: &Bound<'_, PyAny>,
    stream: Option<usize>,
) -> PyResult<(Operand, ArrayLibrary)> {
    let py = operand.py();
    let protocol = OperandProtocol::of(operand).named(py, name)?;
    let view = protocol.view(operand, stream).named(py, name)?;
    protocol.check_gradient(operand).named(py, name)?;
    Ok((view, protocol.library()))
}

/// Like [`view`], but reads `out`, the array for the result of an operation on `operand`. It must
/// be of the operand's library and require no gradient. A refusal is a `ValueError`, even where
/// that of an operand is a `TypeError`.
pub(crate) fn out_view(
    operand: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    stream: Option<usize>,
) -> PyResult<Operand> {
    let library = OperandProtocol::of(operand).named(operand.py(), "the operand")?.library();
    Ok(view_beside("out", out, stream, Some(("the operand", library)))?.0)
}

/// Like [`view`], but reads an argument of an operation. It must require no gradient, and be of the
/// library of the `first` operand, which comes with its name; `None` for that operand itself. A
/// refusal is a `ValueError`.
pub(crate) fn view_beside(
    name: &str,
    object: &Bound<'_, PyAny>,
    stream: Option<usize>,
    first: Option<(&str, ArrayLibrary)>,
) -> PyResult<(Operand, ArrayLibrary)> {
    let py = object.py();
    let protocol = OperandProtocol::of(object).map_err(Refusal::into_value).named(py, name)?;
    if let Some((first, library)) = first
        && library.name() != protocol.library().name()
    {
        return Err(PyValueError::new_err(format!(
            "{name} is of the library {}, but {first} is of {}; give an array of {first}'s library",
            protocol.library().name(),
            library.name()
        )));
    }
    let view = protocol
        .check_gradient(object)
        .and_then(|()| protocol.view(object, stream))
        .map_err(Refusal::into_value)
        .named(py, name)?;
    Ok((view, protocol.library()))
}

impl OperandProtocol {
    /// Returns the protocol for the class of `operand`.
    pub(crate) fn of(operand: &Bound<'_, PyAny>) -> Result<Self, Refusal> {
        let class = operand.get_type_ptr() as usize;
        for place in &PROTOCOL_BY_CLASS {
            match place.get() {
                Some(&(known, protocol)) if known == class => return Ok(protocol),
                Some(_) => {}
                None => break,
            }
        }
        remember(operand, &operand.get_type())
    }

    /// Returns the library of the class.
    pub(crate) fn library(self) -> ArrayLibrary {
        match self {
            Self::Numpy => ArrayLibrary::Numpy,
            Self::Cupy => ArrayLibrary::Cupy,
            Self::TorchExchange(exchange) => ArrayLibrary::Torch(Some(exchange)),
            Self::Torch => ArrayLibrary::Torch(None),
            _ => ArrayLibrary::Other,
        }
    }

    /// Like the function [`view`], for an operand whose class has this protocol.
    pub(crate) fn view(
        self,
        operand: &Bound<'_, PyAny>,
        stream: Option<usize>,
    ) -> Result<Operand, Refusal> {
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
            Self::Own => {
                return Ok(PyArray::operand(
                    operand.cast::<PyArray>().map_err(PyErr::from)?,
                    stream,
                )?);
            }
            Self::Exchange(exchange) => {
                return dlpack_import::exchanged_view(operand, exchange, stream);
            }
            Self::Capsule => return dlpack_import::view(operand, stream),
            Self::Jax => {
                // JAX takes -1, which asks for no order, for the handle of a stream, and for None
                // the host would wait.
                let mut found =
                    dlpack_import::view(operand, Some(stream.unwrap_or(LEGACY_STREAM)))?;
                // JAX arrays are immutable, but their capsules do not say so.
                found.view.readonly = true;
                return Ok(found);
            }
            Self::CudaInterface => return cuda_array_interface::view(operand, stream),
            Self::Buffer => return buffer::view(operand),
        };
        Ok(Operand { view, space, keep_alive: None })
    }

    /// Like [`Self::view`], for an object that was read before as `known`. It only asks for what
    /// can have changed since.
    pub(crate) fn view_again(
        self,
        operand: &Bound<'_, PyAny>,
        known: &TensorView,
        stream: Option<usize>,
    ) -> Result<Operand, Refusal> {
        let (view, space) = match self {
            Self::TorchExchange(exchange) => torch::exchanged_view_again(operand, exchange)?,
            Self::Cupy => (cupy::view_again(operand, known)?, MemoryKind::Device),
            _ => return self.view(operand, stream),
        };
        Ok(Operand { view, space, keep_alive: None })
    }

    /// Refuses a PyTorch tensor that requires a gradient, which an operation would silently lose.
    pub(crate) fn check_gradient(self, operand: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        match self {
            Self::TorchExchange(_) | Self::Torch => torch::check_gradient(operand),
            _ => Ok(()),
        }
    }
}

/// Finds the protocol of a class, and remembers it if there is a place left.
fn remember(
    operand: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
) -> Result<OperandProtocol, Refusal> {
    let protocol = classify(operand, class)?;
    let entry = (class.as_ptr() as usize, protocol);
    if PROTOCOL_BY_CLASS.iter().any(|place| place.set(entry)) {
        // The entry is valid as long as no other class can have this address.
        std::mem::forget(class.clone());
    }
    Ok(protocol)
}

/// Finds the protocol of a class, whose object `operand` is.
fn classify(
    operand: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
) -> Result<OperandProtocol, Refusal> {
    let py = class.py();
    if operand.is_exact_instance_of::<PyArray>() {
        return Ok(OperandProtocol::Own);
    }
    let mut protocol = OperandProtocol::Capsule;
    for base in class.mro() {
        let base = base.cast_into::<PyType>().map_err(PyErr::from)?;
        let module = base.module()?;
        let module = module.to_str()?;
        let name = base.name()?;
        match (module.split('.').next().unwrap_or_default(), name.to_str()?) {
            ("numpy", "MaskedArray" | "generic") => return Err(no_protocol(class)),
            ("numpy", "ndarray") => return Ok(OperandProtocol::Numpy),
            ("cupy", "ndarray") => return Ok(OperandProtocol::Cupy),
            ("torch", "Tensor") => {
                let name = intern!(py, "__dlpack_c_exchange_api__");
                if !class
                    .getattr_opt(name)?
                    .is_none_or(|own| base.getattr(name).is_ok_and(|inherited| inherited.is(&own)))
                {
                    // The subclass has another exchange API than `Tensor`, as PyTorch's read-only
                    // wrapper does. Only its `__dlpack__` says that its tensors are read-only.
                    return Ok(OperandProtocol::Capsule);
                }
                let exchange =
                    dlpack_abi::Exchange::of(class)?.filter(dlpack_abi::Exchange::has_tensor);
                return Ok(exchange.map_or(OperandProtocol::Torch, OperandProtocol::TorchExchange));
            }
            ("jax" | "jaxlib", _) => protocol = OperandProtocol::Jax,
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
        return Ok(protocol);
    }
    if class.hasattr(intern!(py, "__cuda_array_interface__"))? {
        return Ok(OperandProtocol::CudaInterface);
    }
    // SAFETY: `operand` is a live object.
    if unsafe { ffi::PyObject_CheckBuffer(operand.as_ptr()) } != 0 {
        return Ok(OperandProtocol::Buffer);
    }
    Err(no_protocol(class))
}

fn no_protocol(class: &Bound<'_, PyType>) -> Refusal {
    let name = class.fully_qualified_name().map_or_else(|_| String::new(), |name| name.to_string());
    Refusal::of_type(format!(
        " is a {name}; a NumPy or CuPy array, a PyTorch tensor, or an object with __dlpack__, \
         __cuda_array_interface__ or the buffer protocol is needed: convert it first (masked \
         arrays with filled())"
    ))
}

fn unsupported_dtype(dtype: &str) -> Refusal {
    Refusal::value(format!(
        "'s element type {dtype} is not supported; float16, float32, float64, complex32, complex64 \
         and complex128 in the machine's byte order are: convert it first"
    ))
}

/// Returns the layout for strides in bytes.
fn layout_from_bytes(
    shape: Dims,
    byte_strides: &[i64],
    itemsize: usize,
) -> Result<Layout, Refusal> {
    let size = itemsize as i64;
    if let Some(stride) = byte_strides
        .iter()
        .zip(&shape)
        .find_map(|(&stride, &extent)| (extent > 1 && stride % size != 0).then_some(stride))
    {
        return Err(Refusal::value(format!(
            " has a stride of {stride} bytes, which is not a multiple of its element size, {size}; \
             copy it first"
        )));
    }
    Ok(Layout { shape, strides: byte_strides.iter().map(|stride| stride / size).collect() })
}

/// Returns the view if its address is aligned for its element type.
fn checked(view: TensorView) -> Result<TensorView, Refusal> {
    // cuFFT has a stricter rule, which is checked where a plan runs on CUDA.
    let alignment = view.dtype.alignment();
    if !view.layout.is_empty() && !view.ptr.is_multiple_of(alignment) {
        return Err(Refusal::value(format!(
            "'s address {:#x} is not aligned to {alignment} bytes, as {} needs; copy it first",
            view.ptr, view.dtype
        )));
    }
    Ok(view)
}

/// Returns the view if such memory can exist. NumPy, CuPy and PyTorch check this themselves.
fn plausible(view: TensorView) -> Result<TensorView, Refusal> {
    if view.span_in_memory().is_some() {
        return Ok(view);
    }
    Err(Refusal::value(format!(
        " cannot be: it has {} at address {:#x}; check its shape, strides and address",
        view.describe(),
        view.ptr
    )))
}

/// Reads a tuple of integers.
fn dims(tuple: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let tuple = tuple.cast::<PyTuple>()?;
    tuple.iter_borrowed().map(pyo3::Borrowed::extract).collect()
}
