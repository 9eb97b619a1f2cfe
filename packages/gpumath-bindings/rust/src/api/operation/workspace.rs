//! Device memory for executions: from the pool of the operands' library, or from the user's
//! manager.

use std::sync::{Mutex, PoisonError};

use gpumath_core::device::StreamRef;
use gpumath_core::error::Foreign;
use gpumath_core::memory::{ALIGNMENT, BaseCUDAMemoryManager, MemoryPointer, StreamOrderedPool};
use gpumath_core::operation::{Operation, Workspace, allocate_in_graph};
use gpumath_core::tensor::MemoryLocation;
use gpumath_core::{Error, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::PyInt;

use super::Invocation;
use crate::error::OrRaise;
use crate::gil::acquire_gil;
use crate::interop::ArrayLibrary;
use crate::once::intern;

/// Attributes in which the pointers of different libraries have their address.
const ADDRESS_NAMES: [&str; 4] = ["device_ptr", "device_pointer", "ptr", "pointer"];

/// Device memory that executions work in, kept between executions on one stream.
///
/// Parameters
/// ----------
/// allocator : object, optional
///     A memory manager, with the method ``memalloc_async(size, stream)`` or ``memalloc(size)``. It
///     returns an owner of the memory, whose address is its attribute ``device_ptr``,
///     ``device_pointer``, ``ptr`` or ``pointer``; deleting the owner frees the memory. By default
///     the memory comes from the pool of the operands' library, and from gpumath's own pool for
///     operands in host memory.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> workspace = core.Workspace()
/// >>> core.FftPlan(np.ones(4, complex)).run(np.ones(4, complex), workspace=workspace)
/// array([4.+0.j, 0.+0.j, 0.+0.j, 0.+0.j])
/// >>> workspace.release()
#[pyclass(frozen, name = "Workspace", module = "gpumath.bindings.core")]
pub(crate) struct PyWorkspace {
    manager: Option<PythonManager>,
    kept: Mutex<Kept>,
}

/// The memory that is kept, and what its stream needs to stay alive.
#[derive(Default)]
struct Kept {
    workspace: Workspace,
    stream: Option<Py<PyAny>>,
}

#[pymethods]
impl PyWorkspace {
    #[new]
    #[pyo3(signature = (allocator=None))]
    fn new(py: Python<'_>, allocator: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let manager = allocator.map(|allocator| PythonManager::of(py, allocator)).transpose()?;
        Ok(Self { manager, kept: Mutex::default() })
    }

    /// Free the memory that is kept.
    ///
    /// A manager without ``memalloc_async`` may lend it again at once, so its memory is waited for.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.take().workspace.release().or_raise(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.manager.as_ref().map_or(Ok(()), |manager| visit.call(&manager.object))
    }
}

impl PyWorkspace {
    /// Takes what is kept, such that no lock is held while Python code runs.
    fn take(&self) -> Kept {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_back(&self, kept: Kept) {
        let old =
            std::mem::replace(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner), kept);
        drop(old);
    }
}

impl Drop for PyWorkspace {
    fn drop(&mut self) {
        // Memory that cannot be waited for is left to the end of the process.
        let _ = self.take().workspace.release();
    }
}

/// Returns the address of a workspace for an execution on `stream`, and the memory itself if the
/// workspace object does not keep it.
pub(super) fn reserve<O: Operation>(
    py: Python<'_>,
    invocation: &Invocation<'_, '_, O>,
    stream: StreamRef,
    location: MemoryLocation,
    is_captured: bool,
) -> PyResult<(usize, Option<MemoryPointer>)> {
    let size = invocation.plan.workspace_to_allocate();
    if size == 0 {
        return Ok((0, None));
    }
    let library = match location {
        MemoryLocation::Host => ArrayLibrary::Other,
        MemoryLocation::Device(_) => invocation.library,
    };
    let pool = LibraryPool(library);
    let own = invocation.workspace.and_then(|workspace| workspace.manager.as_ref());
    let stream_object = || invocation.stream.map(|stream| stream.object.clone().unbind());
    let own = own.map(|manager| UserManager { manager, stream_object: stream_object() });
    let own = own.as_ref().map(|manager| manager as &dyn BaseCUDAMemoryManager);
    if is_captured {
        let memory = allocate_in_graph(size, stream, own).or_raise(py)?;
        return Ok((memory.address(), Some(memory)));
    }
    let manager = own.unwrap_or(&pool);
    let Some(workspace) = invocation.workspace else {
        let memory = manager.memalloc(size, stream).or_raise(py)?;
        return Ok((memory.address(), Some(memory)));
    };
    let mut kept = workspace.take();
    let old = kept.workspace.address();
    let reserved = kept.workspace.reserve(size, stream, manager);
    if kept.workspace.address() != old {
        kept.stream = stream_object();
    }
    workspace.put_back(kept);
    Ok((reserved.or_raise(py)?, None))
}

/// The memory pool of an array library.
struct LibraryPool(ArrayLibrary);

impl BaseCUDAMemoryManager for LibraryPool {
    fn memalloc(&self, size: usize, stream: StreamRef) -> Result<MemoryPointer> {
        if !self.0.has_pool() {
            return StreamOrderedPool::of(stream.device())?.memalloc(size, stream);
        }
        let allocated = Python::attach(|py| self.0.allocate(py, size, stream));
        let (address, owner) = allocated.map_err(foreign)?;
        Ok(owned_by(owner, address, size))
    }
}

/// A memory manager that the user wrote, or took from another library.
struct PythonManager {
    object: Py<PyAny>,
    /// Whether it has `memalloc_async`.
    follows_streams: bool,
}

impl PythonManager {
    fn of(py: Python<'_>, allocator: Bound<'_, PyAny>) -> PyResult<Self> {
        let follows_streams = allocator.hasattr(intern!(py, "memalloc_async"))?;
        if !follows_streams && !allocator.hasattr(intern!(py, "memalloc"))? {
            return Err(PyTypeError::new_err(format!(
                "allocator is {}; an object with the method memalloc(size) or \
                 memalloc_async(size, stream) is needed",
                allocator.repr()?
            )));
        }
        Ok(Self { object: allocator.unbind(), follows_streams })
    }
}

/// The user's manager during one call.
struct UserManager<'a> {
    manager: &'a PythonManager,
    /// The object behind the stream, which has to outlive memory that is freed in the stream's
    /// order.
    stream_object: Option<Py<PyAny>>,
}

impl BaseCUDAMemoryManager for UserManager<'_> {
    fn memalloc(&self, size: usize, stream: StreamRef) -> Result<MemoryPointer> {
        let allocate = |py: Python<'_>| -> PyResult<(usize, Py<PyAny>)> {
            let manager = self.manager.object.bind(py);
            let owner = if self.manager.follows_streams {
                // An int that is a stream object, too: managers differ in what they take.
                let class = py.import("gpumath.bindings.core")?.getattr("BorrowedStream")?;
                let stream = class.call1((stream.handle(), self.stream_object.as_ref()))?;
                manager.call_method1(intern!(py, "memalloc_async"), (size, stream))?
            } else {
                manager.call_method1(intern!(py, "memalloc"), (size,))?
            };
            Ok((address_of(&owner, manager)?, owner.unbind()))
        };
        let (address, owner) = Python::attach(allocate).map_err(foreign)?;
        Ok(owned_by(owner, address, size))
    }

    fn follows_streams(&self) -> bool {
        self.manager.follows_streams
    }
}

/// Memory that is freed by dropping a Python object.
fn owned_by(owner: Py<PyAny>, address: usize, size: usize) -> MemoryPointer {
    let drop_owner = move || {
        let mut owner = Some(owner);
        acquire_gil(|_| drop(owner.take()));
        // Once the interpreter shuts down, the memory is left to the end of the process.
        std::mem::forget(owner);
    };
    MemoryPointer::new(address, size, Some(Box::new(drop_owner)))
}

/// An exception on its way through the core.
fn foreign(error: PyErr) -> Error {
    Error::Foreign(Foreign::new(error))
}

/// The address of what a memory manager returned.
fn address_of(owner: &Bound<'_, PyAny>, manager: &Bound<'_, PyAny>) -> PyResult<usize> {
    for name in ADDRESS_NAMES {
        let Some(value) = owner.getattr_opt(name)?.filter(|value| !value.is_none()) else {
            continue;
        };
        // Numba's pointers are ctypes objects.
        let value = value.getattr_opt("value")?.unwrap_or(value);
        let address: usize = PyInt::type_object(owner.py()).call1((value,))?.extract()?;
        if !address.is_multiple_of(ALIGNMENT) {
            return Err(PyValueError::new_err(format!(
                "the allocator {} gave the address {address:#x}, which is not aligned to \
                 {ALIGNMENT} bytes",
                manager.repr()?
            )));
        }
        return Ok(address);
    }
    Err(PyTypeError::new_err(format!(
        "the allocator {} returned a {} without any of the attributes {}",
        manager.repr()?,
        owner.get_type().name()?,
        ADDRESS_NAMES.join(", ")
    )))
}
