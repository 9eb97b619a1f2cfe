//! Keeps forks away from the dynamic loader.
//!
//! The loader's data is half written while a library is opened. A child that is forked then finds
//! it so, with locks that nobody opens any more, and hangs or crashes when it next opens a library.
//! So a fork waits until no thread is in a region (`Region`).

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Whether a thread is in a region, or forks. No mutex, because a child could not unlock that.
static BUSY: AtomicBool = AtomicBool::new(false);
static REGISTERED: AtomicBool = AtomicBool::new(false);
/// Between two looks whether a thread has left its region.
const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// Regions that this thread is in: the code of a library that is being opened may fork.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While it exists, no other thread forks or is in a region.
pub(crate) struct Region {
    /// It belongs to its thread.
    _not_send: PhantomData<*const ()>,
}

impl Region {
    pub(crate) fn enter() -> Self {
        if !REGISTERED.load(Ordering::Acquire) {
            // They enter as often as they leave in each thread, however often they are registered.
            REGISTERED
                .store(call_at_fork(Some(enter), Some(leave), Some(leave)), Ordering::Release);
        }
        enter();
        Self { _not_send: PhantomData }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        leave();
    }
}

/// What a fork calls. It may touch atomic and thread-local numbers only.
pub type Handler = extern "C" fn();

unsafe extern "C" {
    fn pthread_atfork(
        before: Option<Handler>,
        in_parent: Option<Handler>,
        in_child: Option<Handler>,
    ) -> c_int;
}

/// Makes every fork call handlers: before it, and after it in the parent and in the child. Returns
/// whether it will.
#[must_use]
pub fn call_at_fork(
    before: Option<Handler>,
    in_parent: Option<Handler>,
    in_child: Option<Handler>,
) -> bool {
    // SAFETY: the handlers are functions of this process that any thread can call. Their code is
    // never unloaded, because an extension module stays to the end of the process.
    unsafe { pthread_atfork(before, in_parent, in_child) == 0 }
}

extern "C" fn enter() {
    DEPTH.with(|depth| {
        if depth.get() == 0 {
            while BUSY.swap(true, Ordering::Acquire) {
                thread::sleep(PAUSE);
            }
        }
        depth.set(depth.get() + 1);
    });
}

extern "C" fn leave() {
    DEPTH.with(|depth| {
        // A fork that began before the handlers were registered leaves without having entered.
        if depth.get() > 0 {
            depth.set(depth.get() - 1);
            if depth.get() == 0 {
                BUSY.store(false, Ordering::Release);
            }
        }
    });
}
