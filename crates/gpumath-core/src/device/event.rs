//! Events.

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::{call, may_call_cuda_in_drop};
use super::polling::is_ready;
use crate::error::Result;

const DISABLE_TIMING: u32 = 2;

/// A point in the work of a stream.
#[derive(Debug)]
pub struct Event {
    handle: usize,
    device: i32,
}

impl Event {
    /// A new event of a device. Only one made with `timing` can measure time, and it costs more to record.
    pub fn new(device: i32, timing: bool) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut handle = 0_usize;
        let flags = if timing { 0 } else { DISABLE_TIMING };
        // SAFETY: the address is that of a live usize.
        unsafe { call!(driver::EVENT_CREATE, &raw mut handle as usize, flags) }?;
        Ok(Self { handle, device })
    }

    /// Its `cudaEvent_t`.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Ordinal of its device.
    #[must_use]
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Records the work that is on `stream` now.
    ///
    /// # Safety
    /// `stream` is a valid stream handle of the device.
    pub unsafe fn record(&self, stream: usize) -> Result<()> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: the event is alive, and the caller vouches for the stream.
        unsafe { call!(driver::EVENT_RECORD, self.handle, stream) }
    }

    /// Whether the recorded work is done.
    pub fn query(&self) -> Result<bool> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: the event is alive.
        is_ready(unsafe { call!(driver::EVENT_QUERY, self.handle) })
    }

    /// Milliseconds from the work that this event recorded to that of `end`.
    pub fn elapsed_ms(&self, end: &Self) -> Result<f32> {
        let _context = ContextGuard::enter(self.device)?;
        let mut time = 0_f32;
        // SAFETY: both events are alive, and the address is that of a live f32.
        unsafe {
            call!(driver::EVENT_ELAPSED_TIME, &raw mut time as usize, self.handle, end.handle)
        }?;
        Ok(time)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // SAFETY: the event is owned and not used again.
            let _ = unsafe { call!(driver::EVENT_DESTROY, self.handle) };
        }
    }
}
