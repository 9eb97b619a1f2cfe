//! The memory pool of an operand's library, and how the library is made to work on another stream.

use gpumath_core::device::{StreamRef, is_current};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use super::array_library::{ArrayLibrary, LazyAttribute};
use super::torch;
use crate::error::OrRaise;
use crate::once::intern;

impl ArrayLibrary {
    /// Whether [`Self::allocate`] knows a pool of device memory of the library.
    pub(crate) const fn has_pool(self) -> bool {
        matches!(self, Self::Cupy | Self::Torch(_))
    }

    /// Frees the unused memory in the library's pool.
    pub(crate) fn trim(self, py: Python<'_>) -> PyResult<()> {
        static CUPY: LazyAttribute = LazyAttribute::new("cupy", "get_default_memory_pool");
        static TORCH: LazyAttribute = LazyAttribute::new("torch", "cuda");
        match self {
            Self::Cupy => {
                CUPY.get(py)?.call0()?.call_method0(intern!(py, "free_all_blocks"))?;
            }
            Self::Torch(_) => {
                let cuda = TORCH.get(py)?;
                if cuda.call_method0(intern!(py, "is_initialized"))?.is_truthy()? {
                    cuda.call_method0(intern!(py, "empty_cache"))?;
                }
            }
            Self::Numpy | Self::Other => {}
        }
        Ok(())
    }

    /// Allocates from the library's pool for work on `stream`. Returns the address and the owner of
    /// the memory. The owner also keeps the library's stream object, because CUDA may use the
    /// handle of a destroyed stream again for another one.
    pub(crate) fn allocate(
        self,
        py: Python<'_>,
        size: usize,
        stream: StreamRef,
    ) -> PyResult<(usize, Py<PyAny>)> {
        static CUPY_ALLOC: LazyAttribute = LazyAttribute::new("cupy.cuda", "alloc");
        static CUPY_STREAM: LazyAttribute = LazyAttribute::new("cupy.cuda", "get_current_stream");
        let is_on_stream = is_current(stream.device()).or_raise(py)?
            && self.current_stream(py, stream.device())? == stream.handle();
        let allocate = || match self {
            Self::Cupy => {
                let block = CUPY_ALLOC.get(py)?.call1((size,))?;
                let address = block.getattr(intern!(py, "ptr"))?.extract()?;
                let owner = (block, CUPY_STREAM.get(py)?.call0()?);
                Ok((address, owner.into_pyobject(py)?.into_any().unbind()))
            }
            Self::Torch(_) => torch::bytes_on_current_device(py, size),
            Self::Numpy | Self::Other => Err(PyTypeError::new_err("the library has no pool")),
        };
        if is_on_stream { allocate() } else { self.on_stream(py, stream, allocate) }
    }

    /// Runs `work` while the library allocates and works on `stream` and its device.
    pub(crate) fn on_stream<T>(
        self,
        py: Python<'_>,
        stream: StreamRef,
        work: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let mut entered: SmallVec<[Bound<'_, PyAny>; 2]> = SmallVec::new();
        let mut done = Ok(());
        for context in self.contexts(py, stream)? {
            done = context.call_method0(intern!(py, "__enter__")).map(drop);
            if done.is_err() {
                break;
            }
            entered.push(context);
        }
        let result = done.and_then(|()| work());
        let mut left = Ok(());
        for context in entered.iter().rev() {
            let nothing = (py.None(), py.None(), py.None());
            left = left.and(context.call_method1(intern!(py, "__exit__"), nothing).map(drop));
        }
        let result = result?;
        left.map(|()| result)
    }

    /// The library's own context managers that make a device and a stream its current ones.
    fn contexts(
        self,
        py: Python<'_>,
        stream: StreamRef,
    ) -> PyResult<SmallVec<[Bound<'_, PyAny>; 2]>> {
        static CUPY: LazyAttribute = LazyAttribute::new("cupy", "cuda");
        static TORCH: LazyAttribute = LazyAttribute::new("torch", "cuda");
        let (device, handle) = (stream.device(), stream.handle());
        let mut contexts = SmallVec::new();
        match self {
            Self::Cupy => {
                let cuda = CUPY.get(py)?;
                contexts.push(cuda.getattr("Device")?.call1((device,))?);
                let class = cuda.getattr("Stream")?;
                contexts.push(if handle == 0 {
                    class.getattr("null")?
                } else if let Some(from_external) = class.getattr_opt("from_external")? {
                    let borrowed = py.import("gpumath.bindings.core")?.getattr("BorrowedStream")?;
                    from_external.call1((borrowed.call1((handle,))?,))?
                } else {
                    // Before CuPy 14.
                    cuda.getattr("ExternalStream")?.call1((handle, device))?
                });
            }
            Self::Torch(_) => {
                let cuda = TORCH.get(py)?;
                // PyTorch would make a new stream of the handle 0.
                let borrowed = if stream.is_legacy_default() {
                    cuda.call_method1("default_stream", (device,))?
                } else {
                    let keywords = PyDict::new(py);
                    keywords.set_item("device", device)?;
                    cuda.getattr("ExternalStream")?.call((handle,), Some(&keywords))?
                };
                contexts.push(cuda.call_method1("stream", (borrowed,))?);
            }
            Self::Numpy | Self::Other => {}
        }
        Ok(contexts)
    }
}
