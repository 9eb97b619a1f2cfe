//! Streams: one that gpumath owns ([`Stream`]), and one of any library that is only used
//! ([`StreamRef`]).

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::may_call_cuda_in_drop;
use super::event::Event;
use super::polling::is_ready;
use crate::error::Result;
use crate::status::call;

/// `CU_STREAM_NON_BLOCKING`: the stream does not synchronize implicitly with the legacy default
/// stream.
const NON_BLOCKING: u32 = 1;

/// A stream of a device, which this value neither owns nor keeps alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRef {
    device: i32,
    handle: usize,
}

impl StreamRef {
    /// Names a stream by its device and its `cudaStream_t`: a handle that the driver or the runtime
    /// gave, or 0, 1 or 2 for a default stream.
    ///
    /// # Safety
    /// - `handle` is a valid stream handle of `device`.
    /// - It stays valid as long as the result or a copy of it is used, and until the memory that
    ///   was allocated with it has been dropped.
    #[must_use]
    pub const unsafe fn new(device: i32, handle: usize) -> Self {
        Self { device, handle }
    }

    /// Names the legacy default stream of a device, which always exists.
    #[must_use]
    pub const fn legacy_default(device: i32) -> Self {
        Self { device, handle: 0 }
    }

    /// Returns the `cudaStream_t`.
    #[must_use]
    pub const fn handle(self) -> usize {
        self.handle
    }

    /// Returns the ordinal of the stream's device.
    #[must_use]
    pub const fn device(self) -> i32 {
        self.device
    }

    /// Returns whether this is the legacy default stream, which cannot be captured. The per-thread
    /// default stream, whose handle is 2, is another one.
    #[must_use]
    pub const fn is_legacy_default(self) -> bool {
        self.handle <= 1
    }

    /// Returns whether the stream's work is done.
    pub fn query(self) -> Result<bool> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: `Self::new`'s caller guarantees that the handle is valid.
        is_ready(unsafe { call!(driver::STREAM_QUERY, self.handle) })
    }

    /// Blocks until the stream's work is done.
    pub fn synchronize(self) -> Result<()> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: `Self::new`'s caller guarantees that the handle is valid.
        unsafe { call!(driver::STREAM_SYNCHRONIZE, self.handle) }
    }
}

/// A stream that this object owns. Dropping it destroys the CUDA stream, whose work the driver
/// still finishes.
#[derive(Debug)]
pub struct Stream {
    handle: usize,
    device: i32,
}

impl Stream {
    /// Creates a stream of a device, which does not wait for the legacy default stream.
    pub fn new(device: i32) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut handle = 0_usize;
        // SAFETY: the driver writes one stream handle to `handle`, a live `usize`.
        unsafe { call!(driver::STREAM_CREATE, &raw mut handle as usize, NON_BLOCKING) }?;
        Ok(Self { handle, device })
    }

    /// Returns the `cudaStream_t`.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Returns the ordinal of the stream's device.
    #[must_use]
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Names the stream, for functions that take a stream of any library.
    ///
    /// # Safety
    /// `self` outlives every use of the result and of its copies, and the memory that is allocated
    /// with it.
    #[must_use]
    pub const unsafe fn stream_ref(&self) -> StreamRef {
        StreamRef { device: self.device, handle: self.handle }
    }

    /// Returns whether the stream's work is done.
    pub fn query(&self) -> Result<bool> {
        // SAFETY: the reference is used for this call only.
        unsafe { self.stream_ref() }.query()
    }

    /// Blocks until the stream's work is done.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the reference is used for this call only.
        unsafe { self.stream_ref() }.synchronize()
    }

    /// Blocks until the work on every stream is done, also after an error of one of them.
    pub(crate) fn synchronize_all(streams: &[Self]) -> Result<()> {
        let mut answer = Ok(());
        for stream in streams {
            answer = answer.and(stream.synchronize());
        }
        answer
    }

    /// Makes work that is enqueued from now on start after the work that `event` recorded.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _context = ContextGuard::enter(self.device)?;
        // SAFETY: stream and event are borrowed, so they live; 0 is the only flag for plain
        // waiting.
        unsafe { call!(driver::STREAM_WAIT_EVENT, self.handle, event.handle(), 0) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // SAFETY: `self` owns the stream, which is not used after this.
            let _ = unsafe { call!(driver::STREAM_DESTROY, self.handle) };
        }
    }
}
