//! Copies.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, call};
use crate::error::Result;

/// Enqueues a copy of `size` bytes on `stream`, in whichever direction the two addresses say. With ordinary (pageable)
/// host memory the call may return only when that memory has been read or written.
///
/// # Safety
/// Both ranges are valid until the copy is done, and do not overlap. `stream` is a valid stream handle of the device.
pub unsafe fn copy(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the ranges and the stream.
    unsafe { call!(driver::MEMCPY_ASYNC, destination, source, size as _, stream) }
}
