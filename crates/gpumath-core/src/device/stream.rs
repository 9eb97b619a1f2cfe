//! Streams.

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::{call, may_call_cuda_in_drop};
use super::event::Event;
use super::polling::is_ready;
use crate::error::Result;

/// Do not synchronize implicitly with the legacy default stream.
const NON_BLOCKING: u32 = 1;

/// Whether a handle means the legacy default stream, which cannot be captured.
#[must_use]
pub const fn is_default(stream: usize) -> bool {
    stream <= 1
}

/// A stream that this object owns.
#[derive(Debug)]
pub struct Stream {
    handle: usize,
    device: i32,
}

impl Stream {
    /// A new stream of a device, which does not wait for the legacy default stream.
    pub fn new(device: i32) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut handle = 0_usize;
        // SAFETY: the address is that of a live usize.
        unsafe { call!(driver::STREAM_CREATE, &raw mut handle as usize, NON_BLOCKING) }?;
        Ok(Self { handle, device })
    }

    /// Its `cudaStream_t`.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Ordinal of its device.
    #[must_use]
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Whether its work is done.
    pub fn query(&self) -> Result<bool> {
        // SAFETY: the stream lives as long as self.
        unsafe { query(self.handle, self.device) }
    }

    /// Work enqueued from now on starts after the work that `event` recorded.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: both objects are alive; 0 is the only flag there is for plain waiting.
        unsafe { call!(driver::STREAM_WAIT_EVENT, self.handle, event.handle(), 0) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // SAFETY: the stream is owned and not used again; the driver finishes its work first.
            let _ = unsafe { call!(driver::STREAM_DESTROY, self.handle) };
        }
    }
}

/// Whether the work of any stream of a device is done.
///
/// # Safety
/// `stream` is a valid stream handle of the device.
pub unsafe fn query(stream: usize, device: i32) -> Result<bool> {
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the handle.
    is_ready(unsafe { call!(driver::STREAM_QUERY, stream) })
}

/// Waits until the work of any stream of a device is done.
///
/// # Safety
/// `stream` is a valid stream handle of the device.
pub unsafe fn synchronize(stream: usize, device: i32) -> Result<()> {
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the handle.
    unsafe { call!(driver::STREAM_SYNCHRONIZE, stream) }
}
