//! The helper threads of a process.
//!
//! A short loop gains from helpers only if no thread has to sleep for it. So they join and leave a
//! loop by one atomic number, without a lock, and look for loops for a while before they sleep.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{hint, io, ptr, thread};

use crate::process::PerProcess;

/// How long a helper waits for work before it ends.
const IDLE: Duration = Duration::from_secs(1);

/// How often a thread looks before it sleeps: for some microseconds, because the passes of a
/// transform follow each other at once.
const LOOKS: usize = 1000;

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
    /// Number of helpers that look for work or sleep.
    free: AtomicUsize,
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

/// A place for a loop that helpers may share in.
#[derive(Default)]
struct SharedLoop {
    /// 0 while there is no loop. Otherwise [`TAKEN`], [`SLEEPS`] while the owner sleeps, the number
    /// of helpers that may still come, and [`INSIDE`] times that of those who have come and not
    /// left.
    state: AtomicU64,
    /// The address of the owner's reference to what helpers do.
    help: AtomicPtr<&'static Help>,
}

const TAKEN: u64 = 1 << 63;
const SLEEPS: u64 = 1 << 62;
const INSIDE: u64 = 1 << 31;
const WANTED: u64 = INSIDE - 1;

/// Returns the number of helpers inside a loop.
fn inside(state: u64) -> u64 {
    (state & !(TAKEN | SLEEPS)) / INSIDE
}

impl SharedLoop {
    /// Joins the loop if it wants a helper.
    fn join(&self) -> bool {
        let join = |state: u64| (state & WANTED > 0).then(|| state - 1 + INSIDE);
        self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, join).is_ok()
    }

    /// Leaves the loop, for which no more helpers need to come: its indices are used up. Returns
    /// whether the owner sleeps.
    fn leave(&self) -> bool {
        let leave = |state: u64| Some((state & !WANTED) - INSIDE);
        let left = self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, leave);
        left.is_ok_and(|before| before & SLEEPS > 0)
    }

    fn wanted(&self) -> usize {
        (self.state.load(Ordering::SeqCst) & WANTED) as usize
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
            free: AtomicUsize::new(0),
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
        let take = |shared: &&SharedLoop| {
            shared.state.compare_exchange(0, TAKEN, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let Some(shared) = self.loops.iter().find(take) else { return own() };
        shared.help.store((&raw const help).cast_mut(), Ordering::SeqCst);
        shared.state.store(TAKEN | (helpers as u64).min(WANTED), Ordering::SeqCst);
        let taken_back_at_the_end = TakeBack { pool: self, shared };
        let sleepers = helpers.min(self.asleep.load(Ordering::SeqCst));
        if sleepers > 0 {
            // Whoever has counted itself asleep sees the loop, or waits for the signal by now.
            drop(self.lock());
        }
        for _ in 0..sleepers {
            self.shared.notify_one();
        }
        let missing = self.wanted().saturating_sub(self.free.load(Ordering::SeqCst)).min(helpers);
        for _ in 0..missing {
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

    /// Counts the helpers that loops want.
    fn wanted(&self) -> usize {
        self.loops.iter().map(SharedLoop::wanted).sum()
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
            self.free.fetch_add(1, Ordering::SeqCst);
            let found = (0..LOOKS).any(|_| {
                hint::spin_loop();
                self.wanted() > 0
            });
            let is_over = !found && self.sleep_until_wanted();
            self.free.fetch_sub(1, Ordering::SeqCst);
            if is_over {
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
        let woken = self.shared.wait_timeout_while(guard, IDLE, |()| self.wanted() == 0);
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
        let state = &self.shared.state;
        state.fetch_and(!WANTED, Ordering::SeqCst);
        let is_left = || inside(state.load(Ordering::SeqCst)) == 0;
        let are_gone = (0..LOOKS).any(|_| {
            hint::spin_loop();
            is_left()
        });
        if !are_gone {
            state.fetch_or(SLEEPS, Ordering::SeqCst);
            let left = self.pool.left.wait_while(self.pool.lock(), |()| !is_left());
            drop(left.unwrap_or_else(PoisonError::into_inner));
        }
        self.shared.help.store(ptr::null_mut(), Ordering::SeqCst);
        state.store(0, Ordering::SeqCst);
    }
}
