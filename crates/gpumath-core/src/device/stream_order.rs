//! One stream after another.

use std::cell::RefCell;
use std::collections::BTreeMap;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::call;
use super::event::Event;
use super::graph::{is_captured_intact, is_capturing};
use super::stream::is_default;
use crate::error::{Error, Result};

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
    if first == then || (is_default(first) && is_default(then)) {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the streams.
    unsafe {
        if is_captured_intact(then)? {
            return Ok(());
        }
        if is_capturing(first, device)? {
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
