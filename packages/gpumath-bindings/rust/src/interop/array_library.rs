//! Asks an operand's library for its current stream, and for new arrays that take results.

use gpumath_core::device;
use gpumath_core::memory::MemoryKind;
use gpumath_core::process::SetOnce;
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::types::{PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, prelude::*};

use super::dlpack_abi::Exchange;
use super::{Named, cupy, numpy, torch};
use crate::api::array::PyArray;
use crate::error::OrRaise;
use crate::once::intern;

/// The library of a class of operands.
#[derive(Clone, Copy)]
pub(crate) enum ArrayLibrary {
    Numpy,
    Cupy,
    /// PyTorch, from 2.10 on with its C exchange API.
    Torch(Option<Exchange>),
    /// Any other library. Results are gpumath's own arrays.
    Other,
}

/// A new array, whose elements are undefined.
pub(crate) struct NewArray<'py> {
    pub(crate) array: Bound<'py, PyAny>,
    /// Address of the element at index (0, …, 0).
    pub(crate) ptr: usize,
}

impl ArrayLibrary {
    /// Name of the library in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Numpy => "numpy",
            Self::Cupy => "cupy",
            Self::Torch(_) => "torch",
            Self::Other => "any other array class",
        }
    }

    /// Returns the handle of the library's current stream. A library without streams works on the
    /// default stream.
    pub(crate) fn current_stream(self, py: Python<'_>, device: i32) -> PyResult<usize> {
        static CUPY: LazyAttribute = LazyAttribute::new("cupy.cuda", "get_current_stream");
        static TORCH: LazyAttribute = LazyAttribute::new("torch.cuda", "current_stream");
        // Takes a tenth of the time of the public function. Builds for CPUs only do not have it.
        static TORCH_RAW: LazyAttribute =
            LazyAttribute::new("torch._C", "_cuda_getCurrentRawStream");
        let stream = match self {
            Self::Numpy | Self::Other => return Ok(0),
            Self::Cupy => {
                if let Some(stream) = cupy::current_stream(py, device)? {
                    return Ok(stream);
                }
                CUPY.get(py)?.call1((device,))?.getattr(intern!(py, "ptr"))?
            }
            Self::Torch(exchange) => {
                if let Some(exchange) = exchange
                    && let Some(stream) = exchange.current_stream(py, device)?
                {
                    return Ok(stream);
                }
                match TORCH_RAW.get(py) {
                    Ok(function) => function.call1((device,))?,
                    Err(_) => {
                        TORCH.get(py)?.call1((device,))?.getattr(intern!(py, "cuda_stream"))?
                    }
                }
            }
        };
        stream.extract()
    }

    /// Makes an array with undefined elements in the library of `operand`, whose view is `view`. A
    /// library with a current stream allocates on that stream; gpumath allocates on `stream`.
    pub(crate) fn empty<'py>(
        self,
        operand: &Bound<'py, PyAny>,
        view: &TensorView,
        layout: &Layout,
        dtype: DType,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<NewArray<'py>> {
        let py = operand.py();
        match self {
            Self::Numpy => numpy_array(py, layout, dtype),
            Self::Cupy => cupy_array(py, layout, dtype, view.device),
            Self::Torch(exchange) => torch_tensor(operand, view, layout, dtype, exchange),
            Self::Other => {
                let (space, ordinal) = match view.device {
                    MemoryLocation::Host => (MemoryKind::Host, 0),
                    MemoryLocation::Device(ordinal) => (MemoryKind::Device, ordinal),
                };
                let array = PyArray::empty(py, layout.clone(), dtype, space, ordinal, stream)?;
                let ptr = array.address();
                Ok(NewArray { array: array.into_bound_py_any(py)?, ptr })
            }
        }
    }
}

/// An attribute of a module, which is imported at the first use. By then an operand of the module's
/// library has shown that the library is installed.
pub(super) struct LazyAttribute {
    module: &'static str,
    name: &'static str,
    value: SetOnce<Py<PyAny>>,
}

impl LazyAttribute {
    pub(super) const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, value: SetOnce::new() }
    }

    pub(super) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let value = self
            .value
            .get_or_try_init(|| py.import(self.module)?.getattr(self.name).map(Bound::unbind));
        value.map(|value| value.bind(py))
    }
}

/// The dtype objects of a library for our element types, in the order of [`DType::ALL`].
struct DTypeObjects([SetOnce<Py<PyAny>>; DType::ALL.len()]);

impl DTypeObjects {
    const fn new() -> Self {
        Self([const { SetOnce::new() }; DType::ALL.len()])
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        find: impl FnOnce(&'static str) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let found =
            self.0[dtype as usize].get_or_try_init(|| find(dtype.name()).map(Bound::unbind));
        found.map(|dtype| dtype.bind(py))
    }
}

/// Returns NumPy's object for an element type.
pub(super) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyAny>> {
    static DTYPES: DTypeObjects = DTypeObjects::new();
    static DTYPE: LazyAttribute = LazyAttribute::new("numpy", "dtype");
    DTYPES.get(py, dtype, |name| {
        DTYPE.get(py)?.call1((name,)).map_err(|error| {
            let refusal = PyValueError::new_err(format!(
                "NumPy and CuPy have no element type for a {name} result; convert the operand to \
                 single or double precision, or use a PyTorch tensor on a GPU"
            ));
            refusal.set_cause(py, Some(error));
            refusal
        })
    })
}

fn byte_strides<'py>(
    py: Python<'py>,
    layout: &Layout,
    dtype: DType,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, layout.strides.iter().map(|stride| stride * dtype.size() as i64))
}

/// Bytes of the smallest new NumPy array that starts at a cache line.
const LARGE_ARRAY: usize = 1 << 16;
const CACHE_LINE: usize = 64;

/// NumPy's own arrays start at any multiple of 16 bytes. A vector of 64 bytes then takes two cache
/// lines, and transforms of large arrays up to 1.3 times as long on an Intel Xeon.
fn numpy_array<'py>(py: Python<'py>, layout: &Layout, dtype: DType) -> PyResult<NewArray<'py>> {
    static NDARRAY: LazyAttribute = LazyAttribute::new("numpy", "ndarray");
    let size = layout.len() as usize * dtype.size();
    let (block, offset) = if size >= LARGE_ARRAY {
        let bytes = Layout::contiguous(&[(size + CACHE_LINE) as i64]);
        let block = empty_numpy_array(py, &bytes, DType::UInt8)?;
        (Some(block.array), block.ptr.wrapping_neg() % CACHE_LINE)
    } else if layout.is_contiguous() {
        return empty_numpy_array(py, layout, dtype);
    } else {
        (None, 0)
    };
    let (shape, strides) = (PyTuple::new(py, &layout.shape)?, byte_strides(py, layout, dtype)?);
    let array = NDARRAY.get(py)?.call1((shape, numpy_dtype(py, dtype)?, block, offset, strides))?;
    checked_numpy_array(array, layout, dtype)
}

/// Makes a contiguous array by NumPy's own function.
fn empty_numpy_array<'py>(
    py: Python<'py>,
    layout: &Layout,
    dtype: DType,
) -> PyResult<NewArray<'py>> {
    static EMPTY: LazyAttribute = LazyAttribute::new("numpy", "empty");
    let shape = PyTuple::new(py, &layout.shape)?;
    checked_numpy_array(EMPTY.get(py)?.call1((shape, numpy_dtype(py, dtype)?))?, layout, dtype)
}

fn checked_numpy_array<'py>(
    array: Bound<'py, PyAny>,
    layout: &Layout,
    dtype: DType,
) -> PyResult<NewArray<'py>> {
    let view = numpy::view(&array).named(array.py(), "the new array")?;
    checked_new(array, &view, (layout, dtype, MemoryLocation::Host), "NumPy")
}

/// Returns a new array, unless it is not what was asked for: a function of its library may have
/// been replaced, and what is written to it must not go beyond its memory.
fn checked_new<'py>(
    array: Bound<'py, PyAny>,
    view: &TensorView,
    (layout, dtype, device): (&Layout, DType, MemoryLocation),
    library: &str,
) -> PyResult<NewArray<'py>> {
    let is_there = view.device == device && !view.readonly;
    if view.dtype == dtype && view.layout.is_equivalent(layout) && is_there {
        return Ok(NewArray { array, ptr: view.ptr });
    }
    let wanted = TensorView { dtype, layout: layout.clone(), device, ..view.clone() };
    Err(PyRuntimeError::new_err(format!(
        "{library} was asked for a new array of {}, and returned one of {}; has one of its \
         functions been replaced?",
        wanted.describe(),
        view.describe()
    )))
}

/// Whether the elements follow each other in memory, the first index the fastest.
fn is_in_fortran_order(layout: &Layout) -> bool {
    let mut step = 1;
    layout.shape.iter().zip(&layout.strides).all(|(&extent, &stride)| {
        let expected = step;
        step = i64::wrapping_mul(step, extent.max(1));
        stride == expected
    })
}

fn cupy_array<'py>(
    py: Python<'py>,
    layout: &Layout,
    dtype: DType,
    device: MemoryLocation,
) -> PyResult<NewArray<'py>> {
    static ALLOC: LazyAttribute = LazyAttribute::new("cupy.cuda", "alloc");
    static DEVICE: LazyAttribute = LazyAttribute::new("cupy.cuda", "Device");
    static CODES: DTypeObjects = DTypeObjects::new();
    let code = CODES.get(py, dtype, |_| {
        let dtype = numpy_dtype(py, dtype)?;
        // CuPy looks up NumPy's own types faster by their characters.
        let is_own = dtype.getattr(intern!(py, "isbuiltin"))?.eq(1)?;
        if is_own { dtype.getattr(intern!(py, "char")) } else { Ok(dtype.clone()) }
    })?;
    let size = layout.len() as usize * dtype.size();
    let MemoryLocation::Device(ordinal) = device else {
        return Err(PyValueError::new_err("CuPy has no arrays in host memory"));
    };
    // CuPy always allocates on the current device.
    let memory = if device::is_current(ordinal).or_raise(py)? {
        ALLOC.get(py)?.call1((size,))?
    } else {
        let other = DEVICE.get(py)?.call1((ordinal,))?;
        other.call_method0(intern!(py, "__enter__"))?;
        let memory = ALLOC.get(py).and_then(|alloc| alloc.call1((size,)));
        other.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
        memory?
    };
    let ptr: usize = memory.getattr(intern!(py, "ptr"))?.extract()?;
    // The allocator may be the user's own.
    let owner = memory.getattr(intern!(py, "mem"))?;
    let start: usize = owner.getattr(intern!(py, "ptr"))?.extract()?;
    let room: usize = owner.getattr(intern!(py, "size"))?.extract()?;
    if size > 0 && (ptr < start || size > room.saturating_sub(ptr - start)) {
        return Err(PyRuntimeError::new_err(format!(
            "CuPy was asked for {size} bytes, and its allocator returned {room}; has it been \
             replaced?"
        )));
    }
    let shape = PyTuple::new(py, &layout.shape)?;
    // CuPy takes less time for an order than for strides.
    let (strides, order) = if layout.is_contiguous() {
        (None, intern!(py, "C"))
    } else if is_in_fortran_order(layout) {
        (None, intern!(py, "F"))
    } else {
        (Some(byte_strides(py, layout, dtype)?), intern!(py, "C"))
    };
    let array = cupy::ndarray(py, (&shape, code, &memory, strides.as_ref(), order))?;
    Ok(NewArray { array, ptr })
}

fn torch_tensor<'py>(
    operand: &Bound<'py, PyAny>,
    like: &TensorView,
    layout: &Layout,
    dtype: DType,
    exchange: Option<Exchange>,
) -> PyResult<NewArray<'py>> {
    static EMPTY: LazyAttribute = LazyAttribute::new("torch", "empty_strided");
    static DTYPES: DTypeObjects = DTypeObjects::new();
    let py = operand.py();
    let dtype_object = DTYPES.get(py, dtype, |name| py.import("torch")?.getattr(name))?;
    let (shape, strides) = (PyTuple::new(py, &layout.shape)?, PyTuple::new(py, &layout.strides)?);
    let array = match (like.device, torch::empty_on_current_device(py)) {
        (MemoryLocation::Device(ordinal), Some(empty))
            if device::is_current(ordinal).or_raise(py)? =>
        {
            empty.call1((shape, strides, dtype_object))?
        }
        _ => {
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "dtype"), dtype_object)?;
            keywords.set_item(intern!(py, "device"), operand.getattr(intern!(py, "device"))?)?;
            EMPTY.get(py)?.call((shape, strides), Some(&keywords))?
        }
    };
    let view = match exchange {
        Some(exchange) => torch::exchanged_view_again(&array, exchange).map(|(view, _)| view),
        None => torch::view(&array),
    };
    let view = view.named(py, "the new tensor")?;
    checked_new(array, &view, (layout, dtype, like.device), "PyTorch")
}
