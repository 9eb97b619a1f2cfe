//! The order of one stream after another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::event::Event;
use super::stream::StreamRef;
use crate::error::{Error, Result};
use crate::status::call;

thread_local! {
    /// One event for each device. A wait refers to what was recorded before it, so an event can be
    /// reused at once.
    static EVENTS: RefCell<BTreeMap<i32, Event>> = const { RefCell::new(BTreeMap::new()) };
}

impl StreamRef {
    /// Makes work that is enqueued on this stream from now on wait for the work that is on `first`
    /// now, another stream of the device.
    ///
    /// Nothing happens if this stream is being captured into a graph, because the graph runs later,
    /// in the order of its launch. Fails with `InvalidState` if `first` is being captured but this
    /// stream is not: waiting would break the capture.
    pub fn order_after(self, first: Self) -> Result<()> {
        if self.device() != first.device() {
            return Err(Error::InvalidValue(format!(
                "a stream of device {} cannot be made to wait for one of device {}; synchronize \
                 with that instead",
                self.device(),
                first.device()
            )));
        }
        if self == first || (self.is_legacy_default() && first.is_legacy_default()) {
            return Ok(());
        }
        let context = ContextGuard::enter(self.device())?;
        if self.is_captured_intact_in(&context)? {
            return Ok(());
        }
        if first.capture_status_in(&context)?.is_capturing() {
            return Err(Error::InvalidState(String::from(
                "the current stream is being captured into a graph, but the work was to go to \
                 another stream, which is not; work on the captured stream",
            )));
        }
        EVENTS.with_borrow_mut(|events| {
            let event = match events.entry(self.device()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(Event::new(self.device(), false)?),
            };
            event.record_in(&context, first)?;
            // SAFETY: `StreamRef::new`'s caller guarantees that the stream is valid, and the event
            // is borrowed; 0 is the only flag for plain waiting.
            unsafe { call!(driver::STREAM_WAIT_EVENT, self.handle(), event.handle(), 0) }
        })
    }
}
