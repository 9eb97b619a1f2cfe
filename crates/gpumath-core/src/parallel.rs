//! Runs loops on the calling thread and on helper threads.
//!
//! A process has one pool of helpers, however many threads its calls ask for: at most a helper for
//! each usable core but one. The calling thread always works too, and never waits for a helper that
//! has not begun: it shares its loop with helpers that are free, and takes it back when it is done.
//! So a thread waits only for helpers that are inside its own loop. That is why calls by many
//! threads at once, and calls by a helper, cannot deadlock.
//!
//! Where no thread can be started, the calling thread does all the work. Helpers end when there is
//! nothing to do for a while.

mod helpers;
mod interrupt;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::helpers::HelperPool;
use self::interrupt::InterruptClock;
pub use self::interrupt::set_interrupt_check;
use crate::error::{Error, Result};

/// Calls `work` on up to `threads` threads, the calling one among them, until the indices
/// `0..count` are used up.
///
/// `threads` limits this call only; the number of helpers does not depend on it. Returns the first
/// error; what the check for interrupts returns is one, and ends the loop early. Blocks until no
/// thread is inside `work`.
pub(crate) fn parallel_for<F>(threads: NonZeroUsize, count: usize, work: F) -> Result<()>
where
    F: Fn(ClaimedIndices<'_>) -> Result<()> + Sync,
{
    let threads = threads.get().min(count);
    let pool = (threads > 1).then(HelperPool::of_this_process);
    parallel_for_with(pool, threads, count, work)
}

/// Like [`parallel_for`], but with the helpers of `pool`.
fn parallel_for_with<F>(
    pool: Option<&'static HelperPool>,
    threads: usize,
    count: usize,
    work: F,
) -> Result<()>
where
    F: Fn(ClaimedIndices<'_>) -> Result<()> + Sync,
{
    let helpers = pool.map_or(0, HelperPool::most).min(threads.saturating_sub(1));
    let shared = SharedIndices::new(count, helpers + 1);
    let run = |clock: Option<InterruptClock>| {
        if let Err(error) = work(ClaimedIndices::new(&shared, clock)) {
            shared.stop(error);
        }
    };
    let own = || run(Some(InterruptClock::default()));
    match pool.filter(|_| helpers > 0) {
        None => own(),
        Some(pool) => {
            let help = || {
                interrupt::check_never();
                // A helper that unwinds would end the pool's thread without leaving the loop.
                if catch_unwind(AssertUnwindSafe(|| run(None))).is_err() {
                    shared.stop(Error::InvalidState("a helper thread panicked".into()));
                }
            };
            pool.run(helpers, &help, own);
        }
    }
    shared.failure.into_inner().map_or(Ok(()), Err)
}

/// Most indices that a thread claims at a time: few, so that a loop ends soon after an error.
const MAX_GRAIN: usize = 64;

/// Most parts of a loop. More threads than that share them.
const MOST_PARTS: usize = 32;

/// The next index of a part, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct NextIndex(AtomicUsize);

/// The indices of a loop that no thread has claimed yet, in a part for each thread. A thread begins
/// with the part of its number, because loops that follow each other often work on the same data,
/// which is in that core's cache then. After that it helps with the parts of others.
struct SharedIndices {
    next: [NextIndex; MOST_PARTS],
    parts: usize,
    /// Most threads that share the loop.
    threads: usize,
    count: usize,
    /// Number of indices to claim at a time.
    grain: usize,
    /// The first error.
    failure: OnceLock<Error>,
}

impl SharedIndices {
    fn new(count: usize, threads: usize) -> Self {
        let grain = (count / (threads * 8)).clamp(1, MAX_GRAIN);
        let parts = threads.min(MOST_PARTS);
        Self { next: Default::default(), parts, threads, count, grain, failure: OnceLock::new() }
    }

    /// Claims some indices of a part.
    fn claim(&self, part: usize) -> Option<Range<usize>> {
        let edge =
            |part: usize| part * (self.count / self.parts) + part.min(self.count % self.parts);
        let (first, end) = (edge(part), edge(part + 1));
        let next = &self.next[part].0;
        // Reading first keeps the number far from wrapping, however often others ask.
        if next.load(Ordering::Relaxed) >= end - first {
            return None;
        }
        let start = first + next.fetch_add(self.grain, Ordering::Relaxed);
        (start < end).then(|| start..end.min(start + self.grain))
    }

    /// Notes an error, after which no index is claimed any more.
    fn stop(&self, error: Error) {
        let _ = self.failure.set(error);
    }
}

/// The indices of a loop that one thread works on. All threads claim them, some at a time, until
/// they are used up.
pub(crate) struct ClaimedIndices<'a> {
    shared: &'a SharedIndices,
    /// Claimed indices that are still to do.
    current: Range<usize>,
    /// The part that this thread claims from.
    part: usize,
    /// Number of parts that it has found used up.
    done: usize,
    /// When the calling thread checks for interrupts; `None` on helpers.
    clock: Option<InterruptClock>,
}

impl<'a> ClaimedIndices<'a> {
    fn new(shared: &'a SharedIndices, clock: Option<InterruptClock>) -> Self {
        let part = helpers::number() % shared.parts;
        Self { shared, current: 0..0, part, done: 0, clock }
    }

    /// Returns how many threads may share the loop.
    pub(crate) fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Whether the loop has ended early, or ends now because of an interrupt. A thread asks between
    /// the parts of an index that takes long, and leaves the rest of them.
    pub(crate) fn is_over(&mut self) -> bool {
        if let Some(clock) = &mut self.clock
            && let Err(error) = clock.check()
        {
            self.shared.stop(error);
        }
        self.shared.failure.get().is_some()
    }
}

impl Iterator for ClaimedIndices<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let Some(index) = self.current.next() {
            return Some(index);
        }
        if self.is_over() {
            return None;
        }
        while self.done < self.shared.parts {
            if let Some(mut claimed) = self.shared.claim(self.part) {
                let first = claimed.next();
                self.current = claimed;
                return first;
            }
            self.part = (self.part + 1) % self.shared.parts;
            self.done += 1;
        }
        None
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
