//! Capture into CUDA graphs, and what lives as long as a graph.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::call;
use super::stream::is_default;
use crate::error::{Error, Result};

const NOT_CAPTURED: i32 = 0;
const ACTIVE: i32 = 1;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`
const CAPTURE_IMPLICIT: i32 = 906;
const MODE_RELAXED: i32 = 2;
const NO_DESTRUCTOR_SYNC: u32 = 1;
const MOVE: u32 = 1;

/// Whether the work that is put on a stream is being captured into a graph; for the legacy default stream, whether a
/// stream is that it would wait for.
///
/// # Safety
/// `stream` is a valid stream handle of the device.
pub unsafe fn is_capturing(stream: usize, device: i32) -> Result<bool> {
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the stream.
    match unsafe { capture_status(stream) } {
        Ok(status) => Ok(status != NOT_CAPTURED),
        Err(Error::Status(status)) if status.code == CAPTURE_IMPLICIT => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether a stream is captured and nothing has broken that yet.
///
/// # Safety
/// `stream` is a valid handle in the current context.
pub(super) unsafe fn is_captured_intact(stream: usize) -> Result<bool> {
    // SAFETY: as the caller vouches.
    Ok(unsafe { capture_status(stream) }? == ACTIVE)
}

/// What `cuStreamIsCapturing` says.
///
/// # Safety
/// `stream` is a valid handle in the current context.
unsafe fn capture_status(stream: usize) -> Result<i32> {
    let mut status = NOT_CAPTURED;
    // SAFETY: the address is that of a live i32; the caller vouches for the stream.
    unsafe { call!(driver::STREAM_IS_CAPTURING, stream, &raw mut status as usize) }?;
    Ok(status)
}

/// While it lives, the calling thread may allocate, and look at events, although a stream is captured: none of that
/// becomes a part of the graph.
#[derive(Debug)]
pub struct RelaxedCapture {
    mode: i32,
}

impl RelaxedCapture {
    /// Begins.
    pub fn enter() -> Result<Self> {
        let mut mode = MODE_RELAXED;
        // SAFETY: the address is that of a live i32.
        unsafe { call!(driver::THREAD_EXCHANGE_STREAM_CAPTURE_MODE, &raw mut mode as usize) }?;
        Ok(Self { mode })
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // SAFETY: the address is that of a live i32. A failure leaves nothing that could be mended here.
        let _ = unsafe {
            call!(driver::THREAD_EXCHANGE_STREAM_CAPTURE_MODE, &raw mut self.mode as usize)
        };
    }
}

type Kept = Box<dyn Any + Send>;

/// What graphs that are gone have kept. The driver tells on a thread that must not call CUDA.
static RELEASED: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// If `stream` is captured, keeps `object()` for as long as the graph lives, or one that is made from it.
///
/// # Safety
/// `stream` is a valid stream handle of the device.
pub unsafe fn keep_with_graph(
    stream: usize,
    device: i32,
    object: impl FnOnce() -> Kept,
) -> Result<()> {
    if is_default(stream) {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the stream.
    if !unsafe { is_captured_intact(stream) }? {
        return Ok(());
    }
    drop_released();
    let (mut status, mut id, mut graph) = (NOT_CAPTURED, 0_u64, 0_usize);
    // SAFETY: the addresses are those of live values of the declared types; NULL where nothing is wanted.
    unsafe {
        call!(
            driver::STREAM_GET_CAPTURE_INFO_V2,
            stream,
            &raw mut status as usize,
            &raw mut id as usize,
            &raw mut graph as usize,
            0,
            0
        )
    }?;
    let address = Box::into_raw(Box::new(object()));
    let mut handle = 0_usize;
    // SAFETY: the address is that of a live usize; `release` takes what `address` points to, once.
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
        // SAFETY: made above, and nobody else knows it.
        drop(unsafe { Box::from_raw(address) });
        return created;
    }
    // SAFETY: both handles are alive, and the graph takes the only reference.
    let kept = unsafe { call!(driver::GRAPH_RETAIN_USER_OBJECT, graph, handle, 1, MOVE) };
    if kept.is_err() {
        // SAFETY: the reference is still ours.
        let _ = unsafe { call!(driver::USER_OBJECT_RELEASE, handle, 1) };
    }
    kept
}

/// Drops what graphs have kept that are gone.
pub fn drop_released() {
    let released = std::mem::take(&mut *RELEASED.lock().unwrap_or_else(PoisonError::into_inner));
    drop(released);
}

extern "C" fn release(address: *mut Kept) {
    // SAFETY: made by `keep_with_graph`, and the driver calls this once.
    let kept = unsafe { Box::from_raw(address) };
    RELEASED.lock().unwrap_or_else(PoisonError::into_inner).push(*kept);
}
