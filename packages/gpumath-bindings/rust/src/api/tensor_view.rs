//! The class `TensorView`.

use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::interop::{self, KeepAlive};

/// An operand as an address, an element type, a layout and a device; keeps the operand alive.
///
/// Parameters
/// ----------
/// operand : array
///     NumPy array, CuPy array, PyTorch tensor, or an object with the DLPack C exchange API,
///     ``__dlpack__``, ``__cuda_array_interface__`` (without mask) or the buffer protocol, in this
///     order. Elements are in the machine's byte order, of one of the types of `Array`. Nothing is
///     copied.
/// stream : int or stream object, optional
///     Stream on which the elements will be used. It waits for the work that writes them, if the
///     operand's protocol tells its stream. CuPy and PyTorch do not; use `order_streams` for them.
///     By default nothing is ordered.
///
/// Raises
/// ------
/// TypeError
///     The operand is of another class, or has no memory of its own.
/// ValueError
///     The operand has another element type, is not aligned, has strides that are no multiples of
///     its element size, is masked, or is a lazy conjugate or negative.
/// BufferError
///     The operand's library does not lend its memory.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> view = core.TensorView(np.zeros((4, 6), np.complex64)[::2])
/// >>> view.shape, view.strides, view.dtype, view.device
/// ((2, 6), (12, 1), 'complex64', 'cpu')
#[pyclass(frozen, name = "TensorView", module = "gpumath.bindings.core")]
pub(crate) struct PyTensorView {
    view: TensorView,
    /// Keeps the memory alive, together with the operand.
    keep_alive: Option<KeepAlive>,
    operand: Py<PyAny>,
}

#[pymethods]
impl PyTensorView {
    #[new]
    #[pyo3(signature = (operand, *, stream=None))]
    fn new(operand: Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let stream = stream.map(interop::stream_handle).transpose()?;
        let (found, _) = interop::view("the operand", &operand, stream)?;
        Ok(Self { view: found.view, keep_alive: found.keep_alive, operand: operand.unbind() })
    }

    /// Address of the element at index (0, …, 0).
    #[getter]
    fn ptr(&self) -> usize {
        self.view.ptr
    }

    /// NumPy's name of the element type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.view.dtype.name()
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.view.dtype.size()
    }

    /// Extent of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.view.layout.shape)
    }

    /// Distance between neighbours along each dimension, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.view.layout.strides)
    }

    /// "cpu" or "cuda".
    #[getter]
    fn device(&self) -> &'static str {
        match self.view.device {
            MemoryLocation::Host => "cpu",
            MemoryLocation::Device(_) => "cuda",
        }
    }

    /// Ordinal of the CUDA device; None on the CPU.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        match self.view.device {
            MemoryLocation::Host => None,
            MemoryLocation::Device(id) => Some(id),
        }
    }

    /// Whether the operand's library forbids writing to it.
    #[getter]
    fn readonly(&self) -> bool {
        self.view.readonly
    }

    /// Lowest address and number of bytes of the memory range that the elements lie in.
    #[getter]
    fn span(&self) -> (usize, usize) {
        self.view.span()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.operand)?;
        self.keep_alive.as_ref().map_or(Ok(()), |keep_alive| keep_alive.traverse(&visit))
    }

    fn __repr__(&self) -> String {
        format!(
            "TensorView(ptr={:#x}, dtype={:?}, shape={:?}, strides={:?}, device_id={})",
            self.view.ptr,
            self.view.dtype.name(),
            self.view.layout.shape.as_slice(),
            self.view.layout.strides.as_slice(),
            self.device_id().map_or_else(|| String::from("None"), |id| id.to_string())
        )
    }
}
