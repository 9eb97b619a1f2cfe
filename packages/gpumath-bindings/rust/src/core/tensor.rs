//! `TensorView`

use gpumath_core::tensor::{Device, TensorView as View};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::interop;

/// An operand as an address, an element type, a layout and a device; keeps the operand alive.
///
/// Parameters
/// ----------
/// operand : array
///     NumPy array, CuPy array or PyTorch tensor, with elements of type float16, float32, float64,
///     complex32, complex64 or complex128 in the machine's byte order. Nothing is copied.
///
/// Raises
/// ------
/// TypeError
///     The operand is of another class, is masked, or has no memory of its own.
/// ValueError
///     Its element type is another, it is not aligned, its strides are no multiples of its element
///     size, or it is a lazy conjugate or negative.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> view = core.TensorView(np.zeros((4, 6), np.complex64)[::2])
/// >>> view.shape, view.strides, view.dtype, view.device
/// ((2, 6), (12, 1), 'complex64', 'cpu')
#[pyclass(frozen, module = "gpumath.bindings.core")]
pub(crate) struct TensorView {
    view: View,
    /// Held for its memory.
    _operand: Py<PyAny>,
}

#[pymethods]
impl TensorView {
    #[new]
    fn new(operand: Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { view: interop::view(&operand)?, _operand: operand.unbind() })
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
            Device::Host => "cpu",
            Device::Cuda(_) => "cuda",
        }
    }

    /// Ordinal of the CUDA device; None on the CPU.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        match self.view.device {
            Device::Host => None,
            Device::Cuda(id) => Some(id),
        }
    }

    /// Whether its library forbids writing to it.
    #[getter]
    fn readonly(&self) -> bool {
        self.view.readonly
    }

    /// Lowest address and number of bytes of the memory range that the elements lie in.
    #[getter]
    fn span(&self) -> (usize, usize) {
        self.view.span()
    }

    fn __repr__(&self) -> String {
        format!(
            "TensorView(ptr={:#x}, dtype={:?}, shape={:?}, strides={:?}, device={:?})",
            self.view.ptr,
            self.view.dtype.name(),
            self.view.layout.shape.as_slice(),
            self.view.layout.strides.as_slice(),
            self.view.device
        )
    }
}
