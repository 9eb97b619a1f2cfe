//! The class `Array`.

mod construct;
mod dlpack_export;
mod storage;

use std::ffi::c_int;
use std::sync::Arc;

use gpumath_core::device::StreamRef;
use gpumath_core::memory::{self, Advice, MemoryKind};
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::types::{PyDict, PyTuple};
use pyo3::{ffi, prelude::*};

use self::storage::{ArrayMemory, ArrayStorage};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::buffer::format_of;
use crate::interop::cuda_array_interface::typestr;
use crate::interop::{KeepAlive, Operand, dlpack_abi, stream_handle};
use crate::structs::buffer::BufferExport;

/// An N-D array in memory that gpumath owns, or borrows from another library.
///
/// Parameters
/// ----------
/// shape : int or sequence of int
///     Extent of each dimension.
/// dtype : str or dtype
///     Element type: 'bool', 'int8' to 'int64', 'uint8' to 'uint64', 'float8_e4m3fn',
///     'float8_e5m2', 'float8_e8m0fnu', 'float4_e2m1fn_x2', 'bfloat16', 'float16' to 'float64',
///     'complex32' to 'complex128', or an object of that name.
/// kind : {'device', 'pinned', 'managed', 'host'}, default: 'device'
///     Memory of the device, page-locked host memory, unified memory, or ordinary host memory.
/// device_id : int, default: 0
///     CUDA device; without effect for ordinary host memory.
/// stream : int or stream object, optional
///     The elements are used, and the memory is freed, in the order of this stream. A stream object
///     is kept until then; a stream given as an int has to live that long. By default the default
///     stream.
/// strides : sequence of int, optional
///     Distance between neighbours along each dimension, in elements and not negative; by default
///     those of C order.
///
/// Raises
/// ------
/// ValueError
///     Shape, element type, kind or strides cannot be.
/// OutOfMemoryError
///     There is not that much memory left.
/// NoDeviceError
///     There is no such device.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> array = core.Array((2, 3), "float32", kind="host")
/// >>> np.asarray(array)[:] = 1  # the same memory
/// >>> memoryview(array).tolist()
/// [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
#[pyclass(frozen, weakref, name = "Array", module = "gpumath.bindings.core")]
pub(crate) struct PyArray {
    storage: Arc<ArrayStorage>,
    view: TensorView,
    space: MemoryKind,
    /// Ordinal of the memory's device; 0 for ordinary host memory.
    device_id: i32,
    /// Handle of the stream in whose order the elements are used.
    stream: usize,
    /// The shape, as the buffer protocol needs it.
    shape: Vec<isize>,
    /// Distance between neighbours along each dimension, in bytes.
    byte_strides: Vec<isize>,
}

#[pymethods]
impl PyArray {
    #[new]
    #[pyo3(signature = (shape, dtype, *, kind="device", device_id=0, stream=None, strides=None))]
    fn new(
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
        kind: &str,
        device_id: i32,
        stream: Option<&Bound<'_, PyAny>>,
        strides: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        construct::allocate(py, shape, dtype, kind, device_id, stream, strides)
    }

    /// Borrow the memory of another library's array, which is kept alive.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Any operand of `TensorView`.
    /// stream : int or stream object, optional
    ///     Stream on which the elements will be used. It waits for the work that writes them.
    #[staticmethod]
    #[pyo3(signature = (operand, /, *, stream=None))]
    fn borrow(operand: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        construct::borrow(operand, stream)
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

    /// Number of bytes of all elements together.
    #[getter]
    fn nbytes(&self) -> usize {
        self.view.layout.len() as usize * self.view.dtype.size()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> i64 {
        self.view.layout.len()
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.view.layout.ndim()
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

    /// "device", "pinned", "managed" or "host".
    #[getter]
    fn kind(&self) -> &'static str {
        construct::KINDS.iter().find(|entry| entry.1 == self.space).map_or("", |entry| entry.0)
    }

    /// Place where computations on the array run by default: "cuda" for device and managed memory,
    /// else "cpu".
    #[getter]
    fn device(&self) -> &'static str {
        if self.view.device == MemoryLocation::Host { "cpu" } else { "cuda" }
    }

    /// Ordinal of the CUDA device; None for host memory.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        match self.view.device {
            MemoryLocation::Host => None,
            MemoryLocation::Device(ordinal) => Some(ordinal),
        }
    }

    /// Handle of the stream in whose order the elements are used.
    #[getter]
    fn stream(&self) -> usize {
        self.stream
    }

    /// Whether the library that it was borrowed from forbids writing to it.
    #[getter]
    fn readonly(&self) -> bool {
        self.view.readonly
    }

    /// Move managed memory to where it will be used, in the order of a stream.
    ///
    /// Parameters
    /// ----------
    /// device : int or 'cpu'
    ///     Ordinal of the device, or host memory.
    /// stream : int or stream object, optional
    ///     By default the array's own stream.
    #[pyo3(signature = (device, *, stream=None))]
    fn prefetch(
        &self,
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.check_managed()?;
        let place = construct::location(device)?;
        let stream = stream.map_or(Ok(self.stream), stream_handle)?;
        let (low, size) = self.view.span();
        // SAFETY: the range is managed memory of this array. The user vouches for the stream, as
        // the documentation says.
        release_gil(py, || unsafe {
            memory::prefetch(low, size, place, StreamRef::new(self.device_id, stream))
        })
        .or_raise(py)
    }

    /// Tell the driver how managed memory is used.
    ///
    /// Parameters
    /// ----------
    /// advice : {'read_mostly', 'preferred_location', 'accessed_by'}
    ///     The memory is read much more often than written; its pages should be at `device`;
    ///     `device` uses it, so keep it mapped there.
    /// device : int or 'cpu', optional
    ///     By default the array's own device. Without effect for 'read_mostly'.
    /// on : bool, default: True
    ///     True to give the advice, False to revoke it.
    #[pyo3(signature = (advice, device=None, *, on=true))]
    fn advise(
        &self,
        py: Python<'_>,
        advice: &str,
        device: Option<&Bound<'_, PyAny>>,
        on: bool,
    ) -> PyResult<()> {
        self.check_managed()?;
        let advice = match advice {
            "read_mostly" => Advice::ReadMostly,
            "preferred_location" => Advice::PreferredLocation,
            "accessed_by" => Advice::AccessedBy,
            other => {
                return Err(PyValueError::new_err(format!(
                    "advice is {other:?}; allowed are read_mostly, preferred_location, accessed_by"
                )));
            }
        };
        let place =
            device.map_or(Ok(MemoryLocation::Device(self.device_id)), construct::location)?;
        let (low, size) = self.view.span();
        // SAFETY: the range is managed memory of this array.
        release_gil(py, || unsafe { memory::advise(low, size, advice, on, place, self.device_id) })
            .or_raise(py)
    }

    /// Lend the memory to another library, as a DLPack capsule.
    ///
    /// Parameters
    /// ----------
    /// stream : int, optional
    ///     Stream of the consumer, which waits for the array's own stream: 1 (the default) for the
    ///     legacy default stream, 2 for the per-thread one, a `cudaStream_t`, or -1 for no order.
    ///     None or -1 for host memory.
    /// max_version : (int, int), optional
    ///     Newest DLPack version that the consumer accepts; without it, or before 1.0, the capsule
    ///     is unversioned.
    /// dl_device : (int, int), optional
    ///     DLPack device that the consumer wants. Pinned and managed memory can be lent as the
    ///     CPU's, too.
    /// copy : bool, optional
    ///     True is refused.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     The request cannot be met without a copy.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<i64>,
        max_version: Option<(i64, i64)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        dlpack_export::capsule(slf, stream, max_version, dl_device, copy)
    }

    /// Return DLPack's numbers for the kind of memory and the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.space {
            // PyTorch and JAX refuse DLPack's number for pinned memory.
            MemoryKind::Host | MemoryKind::Pinned => (dlpack_abi::CPU, 0),
            MemoryKind::Managed => (dlpack_abi::CUDA_MANAGED, self.device_id),
            MemoryKind::Device => (dlpack_abi::CUDA, self.device_id),
        }
    }

    /// The array in version 3 of the protocol, for device and managed memory.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.view.device == MemoryLocation::Host {
            return Err(PyAttributeError::new_err(
                "this array is in host memory, for which there is no __cuda_array_interface__",
            ));
        }
        let Some(typestr) = typestr(self.view.dtype) else {
            return Err(PyAttributeError::new_err(format!(
                "__cuda_array_interface__ has no name for the element type {}",
                self.view.dtype
            )));
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", typestr)?;
        interface.set_item("data", (self.view.ptr, self.view.readonly))?;
        interface.set_item("strides", PyTuple::new(py, &self.byte_strides)?)?;
        // The protocol does not allow 0; its number for the legacy default stream is 1.
        interface.set_item("stream", self.stream.max(1))?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    /// Raise TypeError.
    ///
    /// NumPy calls this after the buffer protocol was refused, and would otherwise make an array of
    /// one object.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(
        &self,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = (dtype, copy);
        Err(PyTypeError::new_err(self.no_buffer()))
    }

    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let format =
            if this.space == MemoryKind::Device { None } else { format_of(this.view.dtype) };
        let Some(format) = format else {
            if !view.is_null() {
                // SAFETY: `view` is not NULL, so it is CPython's. The protocol wants NULL in `obj`
                // on failure.
                unsafe { (*view).obj = std::ptr::null_mut() };
            }
            return Err(PyBufferError::new_err(this.no_buffer()));
        };
        let exported = BufferExport {
            noun: "elements",
            address: this.view.ptr,
            readonly: this.view.readonly,
            format,
            item_size: this.view.dtype.size(),
            shape: &this.shape,
            strides: &this.byte_strides,
        };
        // SAFETY: `view` is CPython's. All that is exported belongs to `slf`, to which the buffer
        // gets a reference, and never changes.
        unsafe { exported.fill(slf.clone().into_any(), view, flags) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The collector does not see the references of capsules. So if a capsule shares the
        // storage, the collector must not take the array for the only owner.
        if Arc::strong_count(&self.storage) == 1 { self.storage.traverse(&visit) } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        format!(
            "Array(shape={:?}, dtype={:?}, kind={:?}, device_id={})",
            self.view.layout.shape.as_slice(),
            self.view.dtype.name(),
            self.kind(),
            self.device_id().map_or_else(|| String::from("None"), |id| id.to_string())
        )
    }
}

impl PyArray {
    /// Allocates an array in gpumath's own memory, whose elements are undefined.
    pub(crate) fn empty(
        py: Python<'_>,
        layout: Layout,
        dtype: DType,
        space: MemoryKind,
        device_id: i32,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        construct::empty(py, layout, dtype, space, device_id, stream)
    }

    /// Address of the element at index (0, …, 0).
    pub(crate) fn address(&self) -> usize {
        self.view.ptr
    }

    fn from_parts(
        memory: ArrayMemory,
        view: TensorView,
        space: MemoryKind,
        device_id: i32,
        stream: usize,
    ) -> Self {
        let size = view.dtype.size() as isize;
        Self {
            storage: Arc::new(ArrayStorage::new(memory, space)),
            shape: view.layout.shape.iter().map(|&extent| extent as isize).collect(),
            byte_strides: view.layout.strides.iter().map(|&step| step as isize * size).collect(),
            view,
            space,
            device_id,
            stream,
        }
    }

    /// Returns the array as an operand of work on `stream`, which is made to wait for the array's
    /// own stream.
    pub(crate) fn operand(slf: &Bound<'_, Self>, stream: Option<usize>) -> PyResult<Operand> {
        let (py, this) = (slf.py(), slf.get());
        let mut keep_alive = None;
        if let Some(stream) = stream
            && let MemoryLocation::Device(device) = this.view.device
            && stream != this.stream
        {
            // SAFETY: the array keeps its stream alive, and the user vouches for `stream`.
            release_gil(py, || unsafe {
                StreamRef::new(device, stream).order_after(StreamRef::new(device, this.stream))
            })
            .or_raise(py)?;
            // The array's memory is freed in the order of the array's stream, which does not wait
            // for `stream`. So the array is kept until the work on `stream` is done.
            keep_alive = Some(KeepAlive::Object(slf.clone().into_any().unbind()));
        }
        Ok(Operand { view: this.view.clone(), space: this.space, keep_alive })
    }

    /// Refuses memory that is not managed.
    fn check_managed(&self) -> PyResult<()> {
        if self.space == MemoryKind::Managed {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "this array is of the kind {:?}; only managed memory moves, made with kind=\"managed\"",
            self.kind()
        )))
    }

    /// Says why the array has no buffer.
    fn no_buffer(&self) -> String {
        if self.space == MemoryKind::Device {
            String::from(
                "the elements are in device memory, where the CPU cannot read them; copy them to \
                 an array of the kind \"host\" or \"pinned\", or use a managed array",
            )
        } else {
            format!("the buffer protocol has no name for the element type {}", self.view.dtype)
        }
    }
}
