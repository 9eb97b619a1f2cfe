//! Handles of the CUDA libraries that work through one: for each library, device and thread, one
//! handle.
//!
//! A handle is created when a thread first uses a library on a device, and destroyed when that
//! thread ends, unless destructors must not call CUDA then (`may_call_cuda_in_drop`). Threads do
//! not share handles, because most libraries allow only one thread at a time to use a handle, and
//! because settings such as the stream are state of the handle. A forked child has copies of its
//! parent's handles, but can neither use them, because it cannot enter a context, nor destroy them.

mod cublas;
mod descriptor;

use std::cell::RefCell;

use gpumath_sys::generated::{cublas as cublas_functions, cublaslt};
use gpumath_sys::table::Function;

use crate::device::{ContextGuard, RelaxedCapture, may_call_cuda_in_drop};
use crate::error::Result;
use crate::status::call;

pub(crate) use cublas::{cublas_workspace, with_cublas};
pub(crate) use descriptor::Descriptor;

/// A library whose functions take a handle.
#[derive(Debug)]
pub struct HandleLibrary {
    /// Writes a new handle to an address.
    create: &'static Function<unsafe extern "C" fn(usize) -> i32>,
    /// Destroys a handle.
    destroy: &'static Function<unsafe extern "C" fn(usize) -> i32>,
}

/// cuBLAS, with its `cublasHandle_t`.
pub static CUBLAS: HandleLibrary =
    HandleLibrary { create: &cublas_functions::CREATE, destroy: &cublas_functions::DESTROY };

/// cuBLASLt, with its `cublasLtHandle_t`.
pub static CUBLASLT: HandleLibrary =
    HandleLibrary { create: &cublaslt::CREATE, destroy: &cublaslt::DESTROY };

impl HandleLibrary {
    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.create.symbol(), other.create.symbol())
    }
}

/// A handle that this object owns. Dropping it destroys the handle; libraries may block until its
/// work is done.
#[derive(Debug)]
struct LibraryHandle {
    library: &'static HandleLibrary,
    device: i32,
    handle: usize,
}

impl LibraryHandle {
    /// Creates a handle in the current context.
    fn new(library: &'static HandleLibrary, context: &ContextGuard) -> Result<Self> {
        // A library may allocate for its handle, which a captured stream does not forbid in this
        // mode.
        let _relaxed = RelaxedCapture::enter()?;
        let mut handle = 0_usize;
        // SAFETY: the library writes one handle to `handle`, a live `usize`.
        unsafe { call!(*library.create, &raw mut handle as usize) }?;
        Ok(Self { library, device: context.device(), handle })
    }
}

impl Drop for LibraryHandle {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // A destructor cannot report the error, so it is ignored.
            // SAFETY: `self` owns the handle, which is not used after this.
            let _ = unsafe { call!(*self.library.destroy, self.handle) };
        }
    }
}

thread_local! {
    /// The handles of this thread. There are few, so they are searched from the start.
    static HANDLES: RefCell<Vec<LibraryHandle>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's handle of a library on a device, whose context is current during
/// the call. The first call creates the handle. `work` must neither destroy it nor pass it to
/// another thread.
pub fn with<T>(
    library: &'static HandleLibrary,
    device: i32,
    work: impl FnOnce(usize) -> Result<T>,
) -> Result<T> {
    // The context comes before the library, because without a GPU the error should not be about the
    // library.
    let context = ContextGuard::enter(device)?;
    with_in(&context, library, work)
}

/// Like [`with`], in the context of the device.
pub fn with_in<T>(
    context: &ContextGuard,
    library: &'static HandleLibrary,
    work: impl FnOnce(usize) -> Result<T>,
) -> Result<T> {
    let is_wanted =
        |known: &LibraryHandle| known.device == context.device() && known.library.is(library);
    let known = HANDLES.with_borrow(|handles| {
        handles.iter().find(|known| is_wanted(known)).map(|known| known.handle)
    });
    if let Some(handle) = known {
        return work(handle);
    }
    // Not while the list is borrowed: to find the library, Python code may run, which may come here
    // again.
    let created = LibraryHandle::new(library, context)?;
    let handle = created.handle;
    HANDLES.with_borrow_mut(|handles| handles.push(created));
    work(handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::count;
    use crate::error::Error;

    #[test]
    fn libraries_are_told_apart() {
        static OTHER: HandleLibrary =
            HandleLibrary { create: &cublaslt::DESTROY, destroy: &cublaslt::CREATE };
        assert!(CUBLASLT.is(&CUBLASLT));
        assert!(!CUBLASLT.is(&OTHER));
    }

    #[test]
    fn a_thread_keeps_its_handle() {
        let handle = || with(&CUBLAS, 0, Ok);
        match (count(), handle()) {
            (Ok(0), answer) => assert!(matches!(answer, Err(Error::NoDevice(_)))),
            (_, Ok(first)) => {
                assert_eq!(handle().ok(), Some(first));
                let other = std::thread::scope(|scope| scope.spawn(handle).join());
                assert!(matches!(other, Ok(Ok(other)) if other != first));
            }
            // There is a GPU, but no cuBLAS.
            (_, Err(error)) => assert!(matches!(error, Error::LibraryNotFound(_))),
        }
    }
}
