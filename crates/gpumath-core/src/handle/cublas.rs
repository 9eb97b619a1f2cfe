//! What cuBLAS's handles are set to before a call: a stream and a workspace.

use gpumath_sys::generated::cublas;

use super::{CUBLAS, with_in};
use crate::device::{ContextGuard, Device, StreamRef};
use crate::error::Result;
use crate::status::call;

/// Bytes that NVIDIA recommends as cuBLAS's workspace: from compute capability 9.0 on, and before.
const WORKSPACE: usize = 32 << 20;
const OLDER_WORKSPACE: usize = 4 << 20;

/// Returns how many bytes of workspace NVIDIA recommends for cuBLAS on a device.
pub(crate) fn cublas_workspace(device: i32) -> Result<usize> {
    let is_new = Device::new(device)?.compute_capability()? >= (9, 0);
    Ok(if is_new { WORKSPACE } else { OLDER_WORKSPACE })
}

/// Calls `work` with this thread's handle of cuBLAS, whose work goes to `stream` and may use
/// `workspace`, an address and a number of bytes.
///
/// # Safety
/// The stream is valid, and so is the workspace until the work is done.
pub(crate) unsafe fn with_cublas<T>(
    context: &ContextGuard,
    stream: StreamRef,
    (workspace, size): (usize, usize),
    work: impl FnOnce(usize) -> Result<T>,
) -> Result<T> {
    with_in(context, &CUBLAS, |handle| {
        // SAFETY: the handle is this thread's own; the caller guarantees the rest. Setting the
        // stream comes first, because it resets the workspace.
        unsafe {
            call!(cublas::SET_STREAM, handle, stream.handle())?;
            call!(cublas::SET_WORKSPACE, handle, workspace, size as u64)?;
        }
        work(handle)
    })
}
