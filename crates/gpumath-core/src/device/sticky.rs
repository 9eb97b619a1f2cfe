//! Errors after which CUDA cannot be used any more ("sticky" ones), and the first of them.
//!
//! The state is one for the process. NVIDIA's documentation of these statuses says that they leave the *process* in an
//! inconsistent state, which ends only with it; a status does not tell its device either: it may come from a call on
//! any thread, long after the kernel that caused it, which may have used the memory of another device.

use std::sync::OnceLock;

use crate::error::{Error, Result, Status};

const CONTEXT_IS_DESTROYED: i32 = 709;

/// `CUresult`s, which are the same numbers as the runtime's `cudaError_t`s.
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

/// The first of them. Looking costs one atomic load.
static FIRST: OnceLock<Status> = OnceLock::new();

/// The error for a status of the driver from a call of the core's own.
pub(super) fn error(status: Status) -> Error {
    // The core works in primary contexts only, which it never releases: where one is destroyed, all of its streams,
    // plans and memory are.
    if status.code != CONTEXT_IS_DESTROYED && !STICKY.contains(&status.code) {
        return Error::Status(Box::new(status));
    }
    keep(status.clone()).err().unwrap_or_else(|| Error::Status(Box::new(status)))
}

/// Notes a status that a caller of the driver or of the runtime got from it by ways of its own. Not that a context is
/// destroyed, which may be one of the caller's.
pub fn note(status: &Status) {
    if STICKY.contains(&status.code) {
        // Not the first one: nothing to be noted.
        let _ = keep(status.clone());
    }
}

/// Keeps `status` if it is the first; otherwise says which was.
fn keep(status: Status) -> Result<()> {
    let mut is_first = false;
    FIRST.get_or_init(|| {
        is_first = true;
        status
    });
    if is_first { Ok(()) } else { check() }
}

/// `Error::Sticky` after the first sticky error.
#[inline]
pub(crate) fn check() -> Result<()> {
    match FIRST.get() {
        None => Ok(()),
        Some(first) => Err(Error::Sticky(Box::new(first.clone()))),
    }
}

/// Whether there was one.
pub(super) fn is_set() -> bool {
    FIRST.get().is_some()
}
