//! The class `MemoryPointer`, allocation and copies.

use std::sync::{Mutex, PoisonError};

use gpumath_core::device::StreamRef;
use gpumath_core::memory::{self, BaseCUDAMemoryManager, StreamOrderedPool};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{deferred_release, stream_handle};

/// A block of device memory and what frees it: deleting the object does, or `free`.
///
/// Parameters
/// ----------
/// device_ptr : int
///     Device address.
/// size : int
///     Number of bytes.
/// finalizer : callable, optional
///     Called once, without arguments, to free the block.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> block = core.MemoryPointer(0x7F0000000000, 1024, lambda: print("freed"))
/// >>> block.size
/// 1024
/// >>> block.free()
/// freed
#[pyclass(frozen, name = "MemoryPointer", module = "gpumath.bindings.core")]
pub(crate) struct PyMemoryPointer {
    device_ptr: usize,
    size: usize,
    /// `None` after the block was freed.
    deallocator: Mutex<Option<Deallocator>>,
}

/// The owner that frees a block.
enum Deallocator {
    /// gpumath's own pool.
    Pool {
        block: memory::MemoryPointer,
        /// The object of the stream in whose order the block is freed, which must outlive the
        /// block.
        stream: Option<Py<PyAny>>,
    },
    /// A callable.
    Python(Py<PyAny>),
    /// The block belongs to something else, which frees it.
    Nobody,
}

#[pymethods]
impl PyMemoryPointer {
    #[new]
    #[pyo3(signature = (device_ptr, size, finalizer=None))]
    fn new(device_ptr: usize, size: usize, finalizer: Option<Py<PyAny>>) -> Self {
        let deallocator = finalizer.map_or(Deallocator::Nobody, Deallocator::Python);
        Self { device_ptr, size, deallocator: Mutex::new(Some(deallocator)) }
    }

    /// Device address of the block.
    #[getter]
    fn device_ptr(&self) -> usize {
        self.device_ptr
    }

    /// Number of bytes.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    /// Free the block now. A second call raises RuntimeError, but does nothing for a block without
    /// a finalizer.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        match self.take() {
            Some(Deallocator::Pool { block, stream }) => {
                deferred_release::free_or_defer(block, stream);
                Ok(())
            }
            Some(Deallocator::Python(finalizer)) => finalizer.call0(py).map(drop),
            Some(Deallocator::Nobody) => Ok(()),
            None => Err(PyRuntimeError::new_err("the memory was freed already")),
        }
    }

    fn __repr__(&self) -> String {
        format!("MemoryPointer(device_ptr={:#x}, size={})", self.device_ptr, self.size)
    }
}

impl PyMemoryPointer {
    /// Takes the deallocator, so that the block is freed only once. A block that belongs to
    /// something else is never freed.
    fn take(&self) -> Option<Deallocator> {
        let mut held = self.deallocator.lock().unwrap_or_else(PoisonError::into_inner);
        match *held {
            Some(Deallocator::Nobody) => Some(Deallocator::Nobody),
            _ => held.take(),
        }
    }
}

impl Drop for PyMemoryPointer {
    fn drop(&mut self) {
        match self.take() {
            Some(Deallocator::Python(finalizer)) => Python::attach(|py| {
                if let Err(error) = finalizer.call0(py) {
                    error.write_unraisable(py, None);
                }
            }),
            Some(Deallocator::Pool { block, stream }) => {
                deferred_release::free_or_defer(block, stream);
            }
            Some(Deallocator::Nobody) | None => {}
        }
    }
}

/// Allocate device memory from gpumath's own pool, in the order of a stream.
///
/// Parameters
/// ----------
/// size : int
///     Number of bytes.
/// device_id : int, default: 0
///     CUDA device.
/// stream : int or stream object, optional
///     The memory may be used, and is freed, in the order of this stream. A stream object is kept
///     until then; a stream given as an int has to live that long.
///
/// Returns
/// -------
/// MemoryPointer
///     Its address is aligned to 256 bytes.
///
/// Raises
/// ------
/// OutOfMemoryError
///     The device has not that much memory left.
/// NoDeviceError
///     There is no such device.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> if core.Device.count():
/// ...     block = core.allocate(1024)
/// ...     block.free()
#[pyfunction]
#[pyo3(signature = (size, *, device_id=0, stream=None))]
pub(crate) fn allocate(
    py: Python<'_>,
    size: usize,
    device_id: i32,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyMemoryPointer> {
    let handle = stream.map_or(Ok(0), stream_handle)?;
    deferred_release::release_finished();
    let block = release_gil(py, || {
        let pool = StreamOrderedPool::of(device_id)?;
        // SAFETY: the deallocator keeps the stream's object. For a bare handle the user guarantees
        // that the stream outlives the memory, as the documentation says.
        pool.memalloc(size, unsafe { StreamRef::new(device_id, handle) })
    });
    let block = block.or_raise(py)?;
    let device_ptr = block.address();
    Ok(PyMemoryPointer {
        device_ptr,
        size,
        deallocator: Mutex::new(Some(Deallocator::Pool {
            block,
            stream: stream.map(|stream| stream.clone().unbind()),
        })),
    })
}

/// Enqueue a copy between two addresses, host or device in any combination.
///
/// Parameters
/// ----------
/// destination, source : int
///     Addresses; both ranges have to stay valid until the copy is done.
/// size : int
///     Number of bytes.
/// device_id : int, default: 0
///     CUDA device of the stream.
/// stream : int or stream object, optional
///     Stream that the copy is enqueued on; by default the default stream.
///
/// Examples
/// --------
/// >>> import array
/// >>> from gpumath.bindings import core
/// >>> numbers, back = array.array("d", [1, 2, 3]), array.array("d", [0, 0, 0])
/// >>> if core.Device.count():
/// ...     block = core.allocate(24)
/// ...     core.copy(block.device_ptr, numbers.buffer_info()[0], 24)
/// ...     core.copy(back.buffer_info()[0], block.device_ptr, 24)
/// ...     core.synchronize_stream(0)
/// ...     assert back == numbers
#[pyfunction]
#[pyo3(signature = (destination, source, size, *, device_id=0, stream=None))]
pub(crate) fn copy(
    py: Python<'_>,
    destination: usize,
    source: usize,
    size: usize,
    device_id: i32,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let stream = stream.map_or(Ok(0), stream_handle)?;
    // SAFETY: the user vouches for the addresses and the stream, as the documentation says.
    release_gil(py, || unsafe {
        memory::copy_async(destination, source, size, StreamRef::new(device_id, stream))
    })
    .or_raise(py)
}
