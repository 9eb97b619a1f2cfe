//! The helper threads of a process.
//!
//! A short loop gains from helpers only if no thread has to sleep for it. So a helper joins a loop
//! by one atomic instruction and leaves it by another, without a lock, and looks for loops for a
//! while before it sleeps. A thread that waits for its helpers does the same.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{hint, io, ptr, thread};

use crate::process::PerProcess;

/// How long a helper waits for work before it ends.
const IDLE: Duration = Duration::from_secs(1);

/// How often a thread looks without offering its core to others: for some microseconds, because the
/// passes of a transform follow each other at once.
const LOOKS: usize = 1000;

/// How long a thread goes on looking before it sleeps. Meanwhile it offers its core to others. To
/// wake a thread takes about a tenth of that, and programs often do little else between two calls.
const PATIENCE: Duration = Duration::from_millis(1);

/// Most loops that helpers share in at once. Others are left to the threads that run them.
const LOOPS: usize = 16;

static POOL: PerProcess<HelperPool> = PerProcess::new();

thread_local! {
    /// The number of this thread.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of this thread: 1 and up for helpers, 0 for others.
pub(super) fn number() -> usize {
    NUMBER.get()
}

/// What a helper does for a loop. It returns when the indices are used up, and does not unwind.
type Help = dyn Fn() + Sync;

/// The helpers. They are started when there is work for them, and end when there is none for a
/// while.
pub(super) struct HelperPool {
    loops: [SharedLoop; LOOPS],
    /// Number of helpers, those included that are being started.
    alive: AtomicUsize,
    /// Which numbers helpers have, from 1 on.
    numbers: Box<[AtomicBool]>,
    /// Number of helpers that sleep.
    asleep: AtomicUsize,
    /// Held between the last look before sleep and the sleep, and before a signal.
    sleep: Mutex<()>,
    /// Signalled when there is a loop to help with.
    shared: Condvar,
    /// Signalled when a helper leaves a loop whose owner sleeps.
    left: Condvar,
    /// Most helpers.
    most: usize,
    /// Starts a thread that calls [`Self::help_others`].
    start: fn(&'static Self) -> io::Result<()>,
}

/// Looks until something is found, for [`PATIENCE`] at most. Returns whether it was found.
fn look(mut is_found: impl FnMut() -> bool) -> bool {
    let is_found_soon = (0..LOOKS).any(|_| {
        hint::spin_loop();
        is_found()
    });
    if is_found_soon {
        return true;
    }
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        thread::yield_now();
        if is_found() {
            return true;
        }
    }
    false
}

/// A place for a loop that helpers may share in.
#[derive(Default)]
struct SharedLoop {
    is_taken: AtomicBool,
    /// The address of the owner's reference to what helpers do.
    help: AtomicPtr<&'static Help>,
    /// Number of helpers that have come or may still come.
    expected: AtomicI64,
    /// Number of those that may still come. Helpers that come in vain make it less than 0.
    wanted: OwnLine,
    /// Number of those that have left, and more by [`SLEEPS`] while the owner sleeps.
    left: OwnLine,
}

/// A number that each helper changes, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct OwnLine(AtomicI64);

/// What is added to the number of helpers that have left while the owner sleeps.
const SLEEPS: i64 = 1 << 62;

impl SharedLoop {
    /// Takes the place, if it is free, for a loop that so many helpers may share in.
    fn open(&self, help: *mut &'static Help, helpers: usize) -> bool {
        let is_free = !self.is_taken.load(Ordering::SeqCst);
        if !is_free || self.is_taken.swap(true, Ordering::SeqCst) {
            return false;
        }
        let helpers = i64::try_from(helpers).unwrap_or(i64::MAX);
        self.help.store(help, Ordering::SeqCst);
        self.left.0.store(0, Ordering::SeqCst);
        self.expected.store(helpers, Ordering::SeqCst);
        self.wanted.0.store(helpers, Ordering::SeqCst);
        true
    }

    /// Joins the loop if it wants a helper.
    fn join(&self) -> bool {
        self.wanted() > 0 && self.wanted.0.fetch_sub(1, Ordering::SeqCst) > 0
    }

    /// Leaves the loop, whose indices are used up. Returns whether the owner sleeps.
    fn leave(&self) -> bool {
        self.close();
        self.left.0.fetch_add(1, Ordering::SeqCst) >= SLEEPS
    }

    /// Lets no more helpers come.
    fn close(&self) {
        if self.wanted() > 0 {
            let missing = self.wanted.0.swap(0, Ordering::SeqCst).max(0);
            self.expected.fetch_sub(missing, Ordering::SeqCst);
        }
    }

    /// Returns how many more helpers may come.
    fn wanted(&self) -> i64 {
        self.wanted.0.load(Ordering::SeqCst).max(0)
    }

    /// Returns how many of the helpers that have come or may come have not left.
    fn present(&self) -> i64 {
        self.expected.load(Ordering::SeqCst) - self.left.0.load(Ordering::SeqCst) % SLEEPS
    }
}

impl HelperPool {
    /// Returns the pool of this process.
    pub(super) fn of_this_process() -> &'static Self {
        POOL.get(|| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            Self::new((cores - 1).max(1), |pool| {
                let thread = thread::Builder::new().name("gpumath-cpu".to_owned());
                thread.spawn(|| pool.help_others()).map(drop)
            })
        })
    }

    /// Makes a pool of up to `most` helpers, which `start` starts when they are needed.
    pub(super) fn new(most: usize, start: fn(&'static Self) -> io::Result<()>) -> Self {
        Self {
            loops: Default::default(),
            alive: AtomicUsize::new(0),
            numbers: (0..most).map(|_| AtomicBool::new(false)).collect(),
            asleep: AtomicUsize::new(0),
            sleep: Mutex::default(),
            shared: Condvar::new(),
            left: Condvar::new(),
            most,
            start,
        }
    }

    /// Returns the most helpers that a loop can have.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of helpers that are alive.
    #[cfg(test)]
    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `own` here, and `help` on up to `helpers` helpers that are free before `own` is done.
    /// Blocks until no helper is inside `help`, but does not wait for helpers that have not begun.
    pub(super) fn run(&'static self, helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
        // SAFETY: a helper calls `help` only while it is counted inside the loop. `TakeBack` waits,
        // also when `own` unwinds, until none is and none can come any more. So nobody uses `help`
        // after this function.
        let help: &'static Help = unsafe { std::mem::transmute(help) };
        let open = |shared: &&SharedLoop| shared.open((&raw const help).cast_mut(), helpers);
        let Some(shared) = self.loops.iter().find(open) else { return own() };
        let taken_back_at_the_end = TakeBack { pool: self, shared };
        let sleepers = helpers.min(self.asleep.load(Ordering::SeqCst));
        if sleepers > 0 {
            // Whoever has counted itself asleep sees the loop, or waits for the signal by now.
            drop(self.lock());
        }
        for _ in 0..sleepers {
            self.shared.notify_one();
        }
        let present: i64 = self.loops.iter().map(SharedLoop::present).sum();
        let alive = self.alive.load(Ordering::SeqCst);
        let missing = usize::try_from(present).unwrap_or(0).saturating_sub(alive);
        for _ in 0..missing.min(helpers) {
            // Helpers count from now on, so that no other loop starts more than there may be.
            let count = |alive: usize| (alive < self.most).then_some(alive + 1);
            let counted = self.alive.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
            if counted.is_err() {
                break;
            }
            if (self.start)(self).is_err() {
                // The calling thread, and the helpers that there are, do the work.
                self.alive.fetch_sub(1, Ordering::SeqCst);
                break;
            }
        }
        own();
        drop(taken_back_at_the_end);
    }

    /// Whether a loop wants helpers.
    fn is_wanted(&self) -> bool {
        self.loops.iter().any(|shared| shared.wanted() > 0)
    }

    /// Helps with one loop after the other. Returns when there has been none for a while.
    pub(super) fn help_others(&self) {
        let number = self.numbers.iter().position(|used| !used.swap(true, Ordering::SeqCst));
        NUMBER.set(number.map_or(0, |number| number + 1));
        loop {
            while let Some(shared) = self.loops.iter().find(|shared| shared.join()) {
                // SAFETY: the owner wrote the address before it asked for helpers, and waits for
                // those inside.
                unsafe { (*shared.help.load(Ordering::SeqCst))() };
                if shared.leave() {
                    drop(self.lock());
                    self.left.notify_all();
                }
            }
            if !look(|| self.is_wanted()) && self.sleep_until_wanted() {
                if let Some(number) = number {
                    self.numbers[number].store(false, Ordering::SeqCst);
                }
                self.alive.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        }
    }

    /// Sleeps until a loop wants helpers. Returns whether there was none for a while.
    fn sleep_until_wanted(&self) -> bool {
        let guard = self.lock();
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let woken = self.shared.wait_timeout_while(guard, IDLE, |()| !self.is_wanted());
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        woken.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Takes a loop back when dropped: lets no more helpers come, and blocks until all have left.
struct TakeBack {
    pool: &'static HelperPool,
    shared: &'static SharedLoop,
}

impl Drop for TakeBack {
    fn drop(&mut self) {
        let Self { pool, shared } = self;
        shared.close();
        if !look(|| shared.present() == 0) {
            shared.left.0.fetch_or(SLEEPS, Ordering::SeqCst);
            let gone = pool.left.wait_while(pool.lock(), |()| shared.present() > 0);
            drop(gone.unwrap_or_else(PoisonError::into_inner));
        }
        shared.help.store(ptr::null_mut(), Ordering::SeqCst);
        shared.is_taken.store(false, Ordering::SeqCst);
    }
}
