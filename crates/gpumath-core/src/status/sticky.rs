//! Errors after which CUDA cannot be used any more ("sticky" ones), and the first of them.
//!
//! The state is one for the process. NVIDIA's documentation of these statuses says that they leave
//! the *process* in an inconsistent state, which ends only with it; a status does not tell its
//! device either: it may come from a call on any thread, long after the kernel that caused it,
//! which may have used the memory of another device.
//!
//! `ContextGuard::enter` checks for one, so that every later use of CUDA names the first error.
//! Destructors then leave CUDA alone.

use crate::error::{Error, Result, Status};
use crate::process::SetOnce;

/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`
const CONTEXT_IS_DESTROYED: i32 = 709;

/// `CUresult`s after which CUDA cannot be used; the runtime's `cudaError_t`s are the same numbers.
const STICKY: [i32; 14] = [
    214, // ECC_UNCORRECTABLE
    220, // NVLINK_UNCORRECTABLE
    226, // CONTAINED
    700, // ILLEGAL_ADDRESS
    702, // LAUNCH_TIMEOUT
    710, // ASSERT
    714, // HARDWARE_STACK_ERROR
    715, // ILLEGAL_INSTRUCTION
    716, // MISALIGNED_ADDRESS
    717, // INVALID_ADDRESS_SPACE
    718, // INVALID_PC
    719, // LAUNCH_FAILED
    721, // TENSOR_MEMORY_LEAK
    911, // EXTERNAL_DEVICE
];

/// The first sticky error. Reading it costs one atomic load.
static FIRST: SetOnce<Status> = SetOnce::new();

/// Returns the error for a status that the core's own call of the driver or the runtime returned.
pub(super) fn error(status: Status) -> Error {
    // The core works in primary contexts only, and never releases them. If one is destroyed, all
    // streams, plans and memory in it are lost.
    if status.code != CONTEXT_IS_DESTROYED && !STICKY.contains(&status.code) {
        return Error::Status(Box::new(status));
    }
    keep(status.clone()).err().unwrap_or_else(|| Error::Status(Box::new(status)))
}

/// Notes a status that a caller of gpumath got from its own call of the driver or the runtime. The
/// status that says that a context is destroyed is not noted, because that context may be the
/// caller's own.
pub fn note(status: &Status) {
    if STICKY.contains(&status.code) {
        // An error means that an earlier status was noted already.
        let _ = keep(status.clone());
    }
}

/// Keeps `status` if it is the first sticky error; otherwise fails with the first one.
fn keep(status: Status) -> Result<()> {
    if FIRST.set(status) { Ok(()) } else { check() }
}

/// Fails with `Error::Sticky` after the first sticky error.
#[inline]
pub(crate) fn check() -> Result<()> {
    match FIRST.get() {
        None => Ok(()),
        Some(first) => Err(Error::Sticky(Box::new(first.clone()))),
    }
}

/// Returns whether there was a sticky error.
pub(crate) fn is_set() -> bool {
    FIRST.get().is_some()
}
