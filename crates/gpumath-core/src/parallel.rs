//! Runs loops on the calling thread and on helper threads.
//!
//! A process has one pool of helpers, however many threads its calls ask for: a helper for each
//! usable core but one. The calling thread always works too, and never waits for a helper that has
//! not begun: it shares its loop with helpers that are free, and closes a [`Gate`] when the loop is
//! done. So a thread waits only for helpers that are inside its own loop. That is why calls by many
//! threads at once, and calls by a helper, cannot deadlock.
//!
//! Where no thread can be started, the calling thread does all the work.

use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};
use crate::process::PerProcess;

/// Calls `work` on up to `threads` threads, the calling one among them, until the indices
/// `0..count` are used up.
///
/// `threads` limits this call only; the number of helpers does not depend on it. Returns the first
/// error. Blocks until no thread is inside `work`.
pub(crate) fn parallel_for<F>(threads: NonZeroUsize, count: usize, work: F) -> Result<()>
where
    F: Fn(ClaimedIndices<'_>) -> Result<()> + Sync,
{
    let threads = threads.get().min(count);
    let pool = if threads > 1 { HelperPool::of_this_process() } else { None };
    parallel_for_with(pool, threads, count, work)
}

/// Like [`parallel_for`], but with the helpers of `pool`.
fn parallel_for_with<F>(
    pool: Option<&HelperPool>,
    threads: usize,
    count: usize,
    work: F,
) -> Result<()>
where
    F: Fn(ClaimedIndices<'_>) -> Result<()> + Sync,
{
    let helpers = pool.map_or(0, HelperPool::len).min(threads.saturating_sub(1));
    let next = AtomicUsize::new(0);
    let grain = if helpers > 0 { (count / ((helpers + 1) * 8)).max(1) } else { count };
    let claim = || ClaimedIndices { next: &next, end: count, grain, current: 0..0 };
    let Some(pool) = pool.filter(|_| helpers > 0) else { return work(claim()) };
    let failure = OnceLock::new();
    let run = || {
        if let Err(error) = work(claim()) {
            let _ = failure.set(error);
        }
    };
    let help = || {
        // A helper must not unwind into the pool, which would end the process.
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            let _ = failure.set(Error::InvalidState("a helper thread panicked".into()));
        }
    };
    pool.run(helpers, &help, run);
    failure.into_inner().map_or(Ok(()), Err)
}

/// The indices of a loop that one thread works on. All threads claim them from the same range, some
/// at a time, until it is used up.
pub(crate) struct ClaimedIndices<'a> {
    /// First index that no thread has claimed.
    next: &'a AtomicUsize,
    end: usize,
    /// Number of indices to claim at a time.
    grain: usize,
    /// Claimed indices that are still to do.
    current: Range<usize>,
}

impl Iterator for ClaimedIndices<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let Some(index) = self.current.next() {
            return Some(index);
        }
        let start = self.next.fetch_add(self.grain, Ordering::Relaxed);
        if start >= self.end {
            // Keeps the counter far from wrapping, however often `next` is called after the end.
            self.next.store(self.end, Ordering::Relaxed);
            return None;
        }
        self.current = start..self.end.min(start + self.grain);
        self.current.next()
    }
}

/// Bounds the jobs that wait for a helper: calls that end while all helpers are busy with another
/// one leave their jobs behind.
const MAX_QUEUED_JOBS: usize = 4096;

static POOL: PerProcess<PoolCell> = PerProcess::new();

/// The pool of a process once it is started, and the lock that is held to start it.
#[derive(Default)]
struct PoolCell {
    pool: OnceLock<HelperPool>,
    starting: Mutex<()>,
}

/// The helper threads, at least one. They sleep while there is nothing to do.
struct HelperPool {
    threads: ThreadPool,
    /// Number of jobs that no helper has begun.
    queued: Arc<AtomicUsize>,
}

impl HelperPool {
    /// Returns the pool of this process, which the first call starts. Returns `None` if no thread
    /// can be started now; the next call tries again.
    fn of_this_process() -> Option<&'static Self> {
        let cell = POOL.get(PoolCell::default);
        if cell.pool.get().is_none() {
            let _starting = cell.starting.lock().unwrap_or_else(PoisonError::into_inner);
            if cell.pool.get().is_none() {
                let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
                let pool = Self::start((cores - 1).max(1), |helper| {
                    thread::Builder::new()
                        .name(format!("gpumath-cpu-{}", helper.index()))
                        .spawn(|| helper.run())
                })?;
                let _ = cell.pool.set(pool);
            }
        }
        cell.pool.get()
    }

    /// Starts up to `wanted` helpers, as many as `spawn` starts before it fails. Returns `None` if
    /// it starts none.
    fn start<S>(wanted: usize, mut spawn: S) -> Option<Self>
    where
        S: FnMut(ThreadBuilder) -> io::Result<JoinHandle<()>>,
    {
        let mut helpers = wanted;
        while helpers > 0 {
            let mut started = Vec::new();
            let built = ThreadPoolBuilder::new()
                .num_threads(helpers)
                .spawn_handler(|helper| {
                    started.push(spawn(helper)?);
                    Ok(())
                })
                .build();
            if let Ok(threads) = built {
                return Some(Self { threads, queued: Arc::default() });
            }
            // Rayon has told the threads of the incomplete pool to end. They count until they have
            // ended, so wait for them before trying as many again.
            helpers = started.len().min(helpers - 1);
            for helper in started {
                let _ = helper.join();
            }
        }
        None
    }

    /// Returns the number of helpers.
    fn len(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Runs `own` here, and `help` on up to `helpers` helpers that are free before `own` is done.
    /// Blocks until no helper is inside `help`, but does not wait for helpers that have not begun.
    fn run(&self, helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
        let gate = Arc::new(Gate::default());
        // SAFETY: a helper calls `help` only after `enter` let it through and before `leave`.
        // `CloseGate` waits, also when `own` unwinds, until no helper is in between and none can
        // enter any more. So nobody uses `help` after this function.
        let help: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(help) };
        for _ in 0..helpers {
            if self.queued.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUED_JOBS {
                self.queued.fetch_sub(1, Ordering::Relaxed);
                break;
            }
            let (gate, queued) = (Arc::clone(&gate), Arc::clone(&self.queued));
            self.threads.spawn(move || {
                queued.fetch_sub(1, Ordering::Relaxed);
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
}

/// Counts the helpers inside a loop, and refuses those that come after its end.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    left: Condvar,
}

#[derive(Default)]
struct GateState {
    closed: bool,
    /// Number of helpers that have entered and not left.
    inside: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the calling helper in, unless the gate is closed.
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

/// Closes the gate when dropped, and blocks until all helpers have left.
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

/// A pointer that threads may share. Dereferencing it is unsafe, and whoever does so keeps other
/// threads off the elements.
pub(crate) struct SyncPtr<E>(*mut E);

// SAFETY: passing the pointer on touches no element; whoever dereferences it answers for that.
unsafe impl<E> Send for SyncPtr<E> {}
// SAFETY: reading the pointer touches no element; whoever dereferences it answers for that.
unsafe impl<E> Sync for SyncPtr<E> {}

impl<E> Clone for SyncPtr<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for SyncPtr<E> {}

impl<E> SyncPtr<E> {
    pub(crate) fn new(pointer: *mut E) -> Self {
        Self(pointer)
    }

    pub(crate) fn get(self) -> *mut E {
        self.0
    }
}

#[cfg(test)]
#[path = "parallel_tests.rs"]
mod tests;
