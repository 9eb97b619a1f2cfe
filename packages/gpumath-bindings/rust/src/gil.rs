//! The one door through which this crate releases the GIL, and acquires it where it may be
//! released. So what has to be true of code that runs without the GIL is said in one place, and all
//! such code can be found.
//!
//! Other Python threads run while a thread is without the GIL. So such code
//!
//! - touches no Python object, not even its reference count;
//! - uses only memory that Python threads neither free nor move: it is owned by Rust, or belongs to
//!   an object to which the caller holds a reference, or to a locked buffer;
//! - begins and ends without a lock that another thread may wait for while that has the GIL. This
//!   thread waits for the GIL at the end, so each of the two would wait for the other. A lock that
//!   is acquired and released in between is fine.

use pyo3::ffi;
use pyo3::prelude::*;

/// Runs `work` without the GIL and returns its result.
///
/// The compiler refuses `Python`, `Bound` and the guards of standard mutexes in `work` and in its
/// result, as they are not `Send`. The caller sees to the rest of [the rules](self). Blocks until
/// `work` is done and this thread has the GIL again.
#[expect(clippy::disallowed_methods, reason = "the one door")]
pub(crate) fn release_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Like [`release_gil`], but for one call of a C function, and without PyO3's bookkeeping, because
/// short calls would notice its cost.
///
/// # Safety
/// - This thread has the GIL.
/// - `call` follows [the rules](self).
/// - `call` does not unwind, because the GIL would not be acquired again.
/// - A callback of this crate that runs during `call` acquires the GIL by [`acquire_gil`].
#[inline]
#[expect(clippy::disallowed_methods, reason = "the one door")]
pub(crate) unsafe fn release_gil_for_c_call<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the caller guarantees that this thread has the GIL, and `saved` is the state that
    // released it.
    unsafe {
        let saved = ffi::PyEval_SaveThread();
        let returned = call();
        ffi::PyEval_RestoreThread(saved);
        returned
    }
}

/// Runs `work` with the GIL and returns its result. It does not matter which thread this is, and
/// whether it has the GIL: C may call back on any thread, and any library may drop what it
/// borrowed. Returns `None`, and does not run `work`, if there is no interpreter or it shuts down.
///
/// `Python::try_attach` alone is not enough. PyO3 counts per thread how often it has acquired the
/// GIL, but neither [`release_gil_for_c_call`] nor other extension modules tell it when they
/// release the GIL. So where Python code that was called through PyO3 has called such a function,
/// PyO3 takes this thread for one that has the GIL.
///
/// Blocks until this thread has the GIL.
#[expect(clippy::disallowed_methods, reason = "the one door")]
pub(crate) fn acquire_gil<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // SAFETY: this can be asked at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return None;
    }
    // SAFETY: there is an interpreter. A thread may call this whether or not it has the GIL.
    let state = unsafe { ffi::PyGILState_Ensure() };
    let result = Python::try_attach(work);
    // SAFETY: `state` is from the call above, on the same thread, and everything acquired since is
    // released.
    unsafe { ffi::PyGILState_Release(state) };
    result
}
