//! Keeps forks away from the dynamic loader, and counts them.
//!
//! The loader's data is half written while a library is opened. A child that is forked then finds
//! it so, with locks that nobody opens any more, and hangs or crashes when it next opens a library.
//! So a fork waits until no thread is in a region (`Region`).
//!
//! A fork does not call handlers that are registered while it is under way. So they are registered
//! before threads start, while the extension module is imported.

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Whether a thread is in a region, or forks. No mutex, because a child could not unlock that.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Forks between the process that loaded gpumath and this one; how far each fork counts does not
/// matter.
static FORKS: AtomicU32 = AtomicU32::new(0);
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
        register_handlers();
        enter();
        Self { _not_send: PhantomData }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        leave();
    }
}

/// Returns a number that no ancestor of this process had when it forked, from the moment on that
/// handlers are registered.
#[inline]
#[must_use]
pub fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Makes every later fork wait for regions, and be counted.
pub fn register_handlers() {
    if !REGISTERED.load(Ordering::Acquire) {
        // Threads that come here at the same time each register the handlers, so that none goes on
        // before that is done. They enter as often as they leave, however often they are
        // registered.
        // SAFETY: the handlers are functions of this process that any thread can call. Their code
        // is never unloaded, because an extension module stays to the end of the process.
        let status = unsafe { pthread_atfork(enter, leave, begin_child) };
        REGISTERED.store(status == 0, Ordering::Release);
    }
}

/// What a fork calls. It may touch atomic and thread-local numbers only.
type Handler = extern "C" fn();

unsafe extern "C" {
    fn pthread_atfork(before: Handler, in_parent: Handler, in_child: Handler) -> c_int;
}

extern "C" fn begin_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    leave();
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
