//! One stream after another.

use std::cell::RefCell;
use std::collections::BTreeMap;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::call;
use super::event::Event;
use crate::error::{Error, Result};

const ACTIVE: i32 = 1;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`
const CAPTURE_IMPLICIT: i32 = 906;
const NOT_CAPTURED: i32 = 0;
/// The legacy default stream, by its other name.
const LEGACY: usize = 1;

thread_local! {
    /// One event a device. A wait refers to what was recorded before it, so an event can be used again at once.
    static EVENTS: RefCell<BTreeMap<i32, Event>> = const { RefCell::new(BTreeMap::new()) };
}

/// Makes what is put on `then` from now on wait for what is on `first` now.
///
/// Nothing is ordered if `then` is being captured into a graph: the graph runs later, in the order of its launch.
/// `InvalidState` if `first` is being captured and `then` is not, which would spoil the capture.
///
/// # Safety
/// Both are valid stream handles of the device.
pub unsafe fn order(first: usize, then: usize, device: i32) -> Result<()> {
    let is_legacy = |stream| stream == 0 || stream == LEGACY;
    if first == then || (is_legacy(first) && is_legacy(then)) {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the streams.
    unsafe {
        if capture_status(then)? == ACTIVE {
            return Ok(());
        }
        if capture_status(first)? != NOT_CAPTURED {
            return Err(Error::InvalidState(String::from(
                "the current stream is being captured into a graph, and the work was to go to another stream, which is \
                 not; work on the captured stream",
            )));
        }
    }
    EVENTS.with_borrow_mut(|events| {
        let event = match events.entry(device) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Event::new(device, false)?)
            }
        };
        // SAFETY: the caller vouches for the streams; 0 is the only flag there is for plain waiting.
        unsafe {
            event.record(first)?;
            call!(driver::STREAM_WAIT_EVENT, then, event.handle(), 0)
        }
    })
}

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
