//! Events.

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::may_call_cuda_in_drop;
use super::polling::is_ready;
use super::stream::StreamRef;
use crate::error::Result;
use crate::status::call;

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;

/// A point in the work of a stream. Dropping it destroys the CUDA event, without waiting.
#[derive(Debug)]
pub struct Event {
    handle: usize,
    device: i32,
}

impl Event {
    /// Creates an event of a device. Only one made with `timing` can measure time, and it costs
    /// more to record.
    pub fn new(device: i32, timing: bool) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut handle = 0_usize;
        let flags = if timing { 0 } else { DISABLE_TIMING };
        // SAFETY: the driver writes one event handle to `handle`, a live `usize`.
        unsafe { call!(driver::EVENT_CREATE, &raw mut handle as usize, flags) }?;
        Ok(Self { handle, device })
    }

    /// Returns the `cudaEvent_t`.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Returns the ordinal of the event's device.
    #[must_use]
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Records the work that is on `stream` now, a stream of the event's device.
    pub fn record(&self, stream: StreamRef) -> Result<()> {
        self.record_in(&ContextGuard::enter(self.device)?, stream)
    }

    /// Like [`Self::record`], in the context of the event's device.
    pub(crate) fn record_in(&self, _context: &ContextGuard, stream: StreamRef) -> Result<()> {
        // SAFETY: the event lives as long as `self`, and `StreamRef::new`'s caller guarantees that
        // the stream is valid.
        unsafe { call!(driver::EVENT_RECORD, self.handle, stream.handle()) }
    }

    /// Returns whether the recorded work is done.
    pub fn query(&self) -> Result<bool> {
        self.query_in(&ContextGuard::enter(self.device)?)
    }

    /// Like [`Self::query`], in the context of the event's device.
    pub(crate) fn query_in(&self, _context: &ContextGuard) -> Result<bool> {
        // SAFETY: the event lives as long as `self`.
        is_ready(unsafe { call!(driver::EVENT_QUERY, self.handle) })
    }

    /// Returns the milliseconds from the work that this event recorded to the work that `end`
    /// recorded.
    pub fn elapsed_ms(&self, end: &Self) -> Result<f32> {
        let _context = ContextGuard::enter(self.device)?;
        let mut time = 0_f32;
        // SAFETY: both events are borrowed, so they live; the driver writes one number to `time`, a
        // live `f32`.
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
            // SAFETY: `self` owns the event, which is not used after this.
            let _ = unsafe { call!(driver::EVENT_DESTROY, self.handle) };
        }
    }
}
