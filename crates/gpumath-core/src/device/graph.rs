//! Capture into CUDA graphs, and objects that live as long as a graph.
//!
//! A graph uses what its captured work uses, such as the tables of a cuFFT plan, each time it is
//! launched. So the graph holds a reference to the plan, as a *user object* of the driver. The
//! driver drops that reference when the last graph made from the capture is destroyed, but on a
//! thread that must not call CUDA: the objects then wait in a list until the next planning, or a
//! cleared cache, drops them ([`drop_released`]).
//!
//! Memory that is allocated in the order of a captured stream becomes memory nodes of the graph,
//! which allocates and frees it at each launch. So a plan's workspace in a graph is the graph's
//! own.
//!
//! What would break a capture is refused before it is tried. What libraries do on the side while
//! they allocate is allowed by a relaxed capture mode of the calling thread ([`RelaxedCapture`]).

use std::any::Any;
use std::sync::Mutex;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::may_call_cuda_in_drop;
use super::stream::StreamRef;
use crate::error::{Error, Result};
use crate::process::PerProcess;
use crate::status::call;

/// `CUstreamCaptureStatus`: `NONE`, `ACTIVE`, and 2 for `INVALIDATED`.
const NOT_CAPTURED: i32 = 0;
const ACTIVE: i32 = 1;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`
const CAPTURE_IMPLICIT: i32 = 906;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`
const MODE_RELAXED: i32 = 2;
/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`
const MOVE: u32 = 1;

/// Whether the work that is enqueued on a stream runs, or is captured into a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// Work runs.
    NotCaptured,
    /// Work becomes part of a graph.
    Active,
    /// Work was to become part of a graph, but something has broken the capture.
    Invalidated,
    /// This is the legacy default stream, and a stream that it would wait for is being captured.
    Implicit,
}

impl CaptureStatus {
    /// Returns whether a capture is under way, broken or not.
    #[must_use]
    pub const fn is_capturing(self) -> bool {
        !matches!(self, Self::NotCaptured)
    }
}

impl StreamRef {
    /// Returns whether the work that is enqueued on the stream is captured into a graph.
    pub fn capture_status(self) -> Result<CaptureStatus> {
        self.capture_status_in(&ContextGuard::enter(self.device())?)
    }

    /// Returns whether a capture of the stream is under way; for the legacy default stream, whether
    /// a stream is being captured that it would wait for.
    pub fn is_capturing(self) -> Result<bool> {
        self.capture_status().map(CaptureStatus::is_capturing)
    }

    /// Like [`Self::capture_status`], in the context of the stream's device.
    pub(crate) fn capture_status_in(self, context: &ContextGuard) -> Result<CaptureStatus> {
        match self.raw_capture_status_in(context) {
            Ok(NOT_CAPTURED) => Ok(CaptureStatus::NotCaptured),
            Ok(ACTIVE) => Ok(CaptureStatus::Active),
            Ok(_) => Ok(CaptureStatus::Invalidated),
            Err(Error::Status(status)) if status.code == CAPTURE_IMPLICIT => {
                Ok(CaptureStatus::Implicit)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the stream is being captured and nothing has broken that yet. Fails for the
    /// legacy default stream while a stream is being captured that it would wait for.
    pub(super) fn is_captured_intact_in(self, context: &ContextGuard) -> Result<bool> {
        Ok(self.raw_capture_status_in(context)? == ACTIVE)
    }

    fn raw_capture_status_in(self, _context: &ContextGuard) -> Result<i32> {
        let mut status = NOT_CAPTURED;
        // SAFETY: `StreamRef::new`'s caller guarantees that the stream is valid; the driver writes
        // one number to `status`, a live `i32`.
        unsafe { call!(driver::STREAM_IS_CAPTURING, self.handle(), &raw mut status as usize) }?;
        Ok(status)
    }
}

/// Allows the calling thread to allocate, and to query events, while a stream is being captured;
/// none of that becomes part of the graph. Dropping it restores the thread's former mode.
#[derive(Debug)]
pub struct RelaxedCapture {
    /// The former mode.
    mode: i32,
}

impl RelaxedCapture {
    /// Puts the calling thread into the relaxed capture mode.
    pub fn enter() -> Result<Self> {
        let mut mode = MODE_RELAXED;
        // SAFETY: the driver reads and writes one number at `mode`, a live `i32`.
        unsafe { call!(driver::THREAD_EXCHANGE_STREAM_CAPTURE_MODE, &raw mut mode as usize) }?;
        Ok(Self { mode })
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // A destructor cannot report the error, so it is ignored.
        // SAFETY: the driver reads and writes one number at `mode`, a live `i32`.
        let _ = unsafe {
            call!(driver::THREAD_EXCHANGE_STREAM_CAPTURE_MODE, &raw mut self.mode as usize)
        };
    }
}

type Kept = Box<dyn Any + Send>;

/// Objects kept by graphs that have been destroyed. The driver calls `release` on a thread that
/// must not call CUDA, so they wait here for [`drop_released`].
static RELEASED: PerProcess<Mutex<Vec<Kept>>> = PerProcess::new();

/// If `stream` is being captured, keeps `object()` for as long as the graph lives, or a graph that
/// is made from it. `capture` is the stream's status if the caller knows it; otherwise the driver
/// is asked.
pub fn keep_with_graph(
    context: &ContextGuard,
    stream: StreamRef,
    capture: Option<CaptureStatus>,
    object: impl FnOnce() -> Kept,
) -> Result<()> {
    if stream.is_legacy_default() {
        return Ok(());
    }
    let capture = capture.map_or_else(|| stream.capture_status_in(context), Ok)?;
    if capture != CaptureStatus::Active {
        return Ok(());
    }
    drop_released();
    let (mut status, mut id, mut graph) = (NOT_CAPTURED, 0_u64, 0_usize);
    // SAFETY: `StreamRef::new`'s caller guarantees that the stream is valid. The driver writes to
    // live values of the declared types; 0 stands for an output that is not wanted.
    unsafe {
        call!(
            driver::STREAM_GET_CAPTURE_INFO_V2,
            stream.handle(),
            &raw mut status as usize,
            &raw mut id as usize,
            &raw mut graph as usize,
            0,
            0
        )
    }?;
    let address = Box::into_raw(Box::new(object()));
    let mut handle = 0_usize;
    // SAFETY: the driver writes one handle to `handle`, a live `usize`. It calls `release` once,
    // with `address`, which is what `release` takes.
    let created = unsafe {
        call!(
            driver::USER_OBJECT_CREATE,
            &raw mut handle as usize,
            address as usize,
            release as *const () as usize,
            1,
            NO_DESTRUCTOR_SYNC
        )
    };
    if created.is_err() {
        // SAFETY: `address` comes from `Box::into_raw`, and the driver did not take it.
        drop(unsafe { Box::from_raw(address) });
        return created;
    }
    // SAFETY: the capture keeps `graph` alive; `handle` was created above, and its one reference
    // moves to the graph.
    let kept = unsafe { call!(driver::GRAPH_RETAIN_USER_OBJECT, graph, handle, 1, MOVE) };
    if kept.is_err() {
        // SAFETY: the graph did not take the reference, so it is still ours to release.
        let _ = unsafe { call!(driver::USER_OBJECT_RELEASE, handle, 1) };
    }
    kept
}

/// Drops the objects that were kept by graphs that have been destroyed. Does nothing where
/// destructors must not call CUDA, as in a forked child.
pub fn drop_released() {
    if !may_call_cuda_in_drop() {
        return;
    }
    let released = std::mem::take(&mut *RELEASED.lock());
    drop(released);
}

extern "C" fn release(address: *mut Kept) {
    // SAFETY: `keep_with_graph` made the address by `Box::into_raw`, and the driver calls this
    // function once.
    let kept = unsafe { Box::from_raw(address) };
    RELEASED.lock().push(*kept);
}
