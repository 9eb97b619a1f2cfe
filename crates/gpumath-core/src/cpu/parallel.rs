//! Sharing tiles of work between the calling thread and a pool of helpers.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// A value that a forked child makes anew: threads do not survive a fork and locks may have been
/// held.
pub(super) struct PerProcess<T: 'static> {
    current: AtomicPtr<(u32, T)>,
}

impl<T: Send + Sync> PerProcess<T> {
    pub(super) const fn new() -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// This process's value, made by `init` on first use. The parent's value is left alone in a
    /// child.
    pub(super) fn get(&'static self, init: fn() -> T) -> &'static T {
        let pid = std::process::id();
        let mut seen = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: only pointers from Box::leak below are stored, and none is ever freed.
            if let Some((owner, value)) = unsafe { seen.as_ref() }
                && *owner == pid
            {
                return value;
            }
            let made = Box::into_raw(Box::new((pid, init())));
            match self.current.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => seen = made,
                Err(newer) => {
                    // SAFETY: `made` came from Box::into_raw just above and was not published.
                    drop(unsafe { Box::from_raw(made) });
                    seen = newer;
                }
            }
        }
    }
}

type Pools = Mutex<BTreeMap<usize, Arc<ThreadPool>>>;

static POOLS: PerProcess<Pools> = PerProcess::new();

/// The pool that adds `helpers` threads to a caller.
fn pool(helpers: usize) -> Result<Arc<ThreadPool>> {
    let pools = POOLS.get(Pools::default);
    let mut pools = pools.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&helpers) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(helpers)
        .thread_name(|index| format!("gpumath-cpu-{index}"))
        .build()
        .map_err(|error| {
            Error::InvalidState(format!(
                "{} CPU threads could not be started ({error}); ask for fewer with num_threads",
                helpers + 1
            ))
        })?;
    let pool = Arc::new(pool);
    pools.insert(helpers, Arc::clone(&pool));
    Ok(pool)
}

/// The indices that one thread works on; threads draw from the same range until it is used up.
pub(crate) struct Share<'a> {
    next: &'a AtomicUsize,
    end: usize,
    grain: usize,
    current: Range<usize>,
}

impl Iterator for Share<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let Some(index) = self.current.next() {
            return Some(index);
        }
        let start = self.next.fetch_add(self.grain, Ordering::Relaxed);
        if start >= self.end {
            // Keeps the counter far from wrapping however often an exhausted share is asked.
            self.next.store(self.end, Ordering::Relaxed);
            return None;
        }
        self.current = start..self.end.min(start + self.grain);
        self.current.next()
    }
}

/// Calls `work` on up to `threads` threads, the calling one among them, until the indices
/// `0..count` are used up.
///
/// One thread, or one index, never touches a pool. The first error is returned.
pub(crate) fn share<F>(threads: NonZeroUsize, count: usize, work: F) -> Result<()>
where
    F: Fn(Share<'_>) -> Result<()> + Sync,
{
    let threads = threads.get().min(count);
    let next = AtomicUsize::new(0);
    let grain = if threads > 1 { (count / (threads * 8)).max(1) } else { count };
    let own = || Share { next: &next, end: count, grain, current: 0..0 };
    if threads <= 1 {
        return work(own());
    }
    let failure = OnceLock::new();
    let run = || {
        if let Err(error) = work(own()) {
            let _ = failure.set(error);
        }
    };
    let help = || {
        // A helper must not unwind into the pool, which would end the process.
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            let _ = failure.set(Error::InvalidState("a thread of the CPU engine failed".into()));
        }
    };
    with_helpers(&*pool(threads - 1)?, threads - 1, &help, run);
    failure.into_inner().map_or(Ok(()), Err)
}

/// Runs `own` here and `help` on helpers that come in time. Unlike a scope, it does not wait for
/// helpers that have not begun when `own` is done: on a busy machine those may be long in coming,
/// and there is nothing left for them to do.
fn with_helpers(pool: &ThreadPool, helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
    let gate = Arc::new(Gate::default());
    // SAFETY: `help` is called only between `enter` and `leave`, and the guard below waits, even
    // when `own` unwinds, until nobody is in between and nobody can enter any more.
    let help: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(help) };
    for _ in 0..helpers {
        let gate = Arc::clone(&gate);
        pool.spawn(move || {
            if gate.enter() {
                help();
                gate.leave();
            }
        });
    }
    let guard = CloseGate(&gate);
    own();
    drop(guard);
}

/// Counts the helpers at work and refuses those that come late.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    left: Condvar,
}

#[derive(Default)]
struct GateState {
    closed: bool,
    inside: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> bool {
        let mut state = self.lock();
        if !state.closed {
            state.inside += 1;
        }
        !state.closed
    }

    fn leave(&self) {
        self.lock().inside -= 1;
        self.left.notify_one();
    }
}

struct CloseGate<'a>(&'a Gate);

impl Drop for CloseGate<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        while state.inside > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An address that threads may share; what they do with it is their own unsafe business.
#[derive(Clone, Copy)]
pub(super) struct Address(usize);

impl Address {
    pub(super) fn of<E>(pointer: *const E) -> Self {
        Self(pointer.expose_provenance())
    }

    pub(super) fn get<E>(self) -> *mut E {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

/// Points times levels of a transform that one thread finishes before a second one would be awake.
pub(super) const SMALL: f64 = 5e5;
