//! The helper threads of a process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{hint, io, thread};

use crate::process::PerProcess;

/// How long a helper waits for work before it ends.
const IDLE: Duration = Duration::from_secs(1);

/// How often a helper looks for work before it sleeps: for some microseconds, because the passes of
/// a transform follow each other at once.
const LOOKS: usize = 1000;

static POOL: PerProcess<HelperPool> = PerProcess::new();

/// What a helper does for a loop. It returns when the indices are used up, and does not unwind.
type Help = dyn Fn() + Sync;

/// The helpers. They are started when there is work for them, and end when there is none for a
/// while.
pub(super) struct HelperPool {
    state: Mutex<State>,
    /// Number of helpers that loops want, for a look without the lock.
    wanted: AtomicUsize,
    /// Signalled when there is a loop to help with.
    shared: Condvar,
    /// Signalled when a helper leaves a loop that takes no more helpers.
    left: Condvar,
    /// Most helpers.
    most: usize,
    /// Starts a thread that calls [`Self::help_others`].
    start: fn(&'static Self) -> io::Result<()>,
}

#[derive(Default)]
struct State {
    loops: Vec<SharedLoop>,
    /// Number of helpers, those included that are being started.
    alive: usize,
    /// Number of helpers that look for work or sleep.
    free: usize,
    /// Number of helpers that sleep.
    asleep: usize,
    /// The number that the next loop gets.
    next: u64,
}

/// A loop that helpers may share in.
struct SharedLoop {
    number: u64,
    help: *const Help,
    /// Number of helpers that may still come.
    wanted: usize,
    /// Number of helpers that have come and not left.
    inside: usize,
}

// SAFETY: what `help` points to is `Sync`, and is used while its owner waits only.
unsafe impl Send for SharedLoop {}

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
            state: Mutex::default(),
            wanted: AtomicUsize::new(0),
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
        self.lock().alive
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `own` here, and `help` on up to `helpers` helpers that are free before `own` is done.
    /// Blocks until no helper is inside `help`, but does not wait for helpers that have not begun.
    pub(super) fn run(&'static self, helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
        // SAFETY: a helper calls `help` only while it is counted inside the loop. `TakeBack` waits,
        // also when `own` unwinds, until none is and none can come any more. So nobody uses `help`
        // after this function.
        let help: &'static Help = unsafe { std::mem::transmute(help) };
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.loops.push(SharedLoop { number, help, wanted: helpers, inside: 0 });
        let wanted = self.count_wanted(&state);
        let missing = wanted.saturating_sub(state.free).min(helpers).min(self.most - state.alive);
        // They count from now on, so that no other loop starts more than there may be.
        state.alive += missing;
        let sleepers = helpers.min(state.asleep);
        drop(state);
        let taken_back_at_the_end = TakeBack { pool: self, number };
        for _ in 0..sleepers {
            self.shared.notify_one();
        }
        for started in 0..missing {
            if (self.start)(self).is_err() {
                // The calling thread, and the helpers that there are, do the work.
                self.lock().alive -= missing - started;
                break;
            }
        }
        own();
        drop(taken_back_at_the_end);
    }

    /// Counts the helpers that loops want, and notes the number for those that look for work.
    fn count_wanted(&self, state: &State) -> usize {
        let wanted = state.loops.iter().map(|shared| shared.wanted).sum();
        self.wanted.store(wanted, Ordering::Release);
        wanted
    }

    /// Helps with one loop after the other. Returns when there has been none for a while.
    pub(super) fn help_others(&self) {
        let mut state = self.lock();
        loop {
            while let Some(shared) = state.loops.iter_mut().find(|shared| shared.wanted > 0) {
                shared.wanted -= 1;
                shared.inside += 1;
                let (number, help) = (shared.number, shared.help);
                self.count_wanted(&state);
                drop(state);
                // SAFETY: the owner of the loop waits for the helpers inside.
                unsafe { (*help)() };
                state = self.lock();
                state.leave(number);
                self.count_wanted(&state);
                self.left.notify_all();
            }
            state.free += 1;
            drop(state);
            let found = (0..LOOKS).any(|_| {
                hint::spin_loop();
                self.wanted.load(Ordering::Acquire) > 0
            });
            state = self.lock();
            if !found {
                state.asleep += 1;
                let is_idle = |state: &mut State| state.loops.iter().all(|one| one.wanted == 0);
                let woken = self.shared.wait_timeout_while(state, IDLE, is_idle);
                let (woken, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                state = woken;
                state.asleep -= 1;
                if timeout.timed_out() {
                    state.free -= 1;
                    state.alive -= 1;
                    return;
                }
            }
            state.free -= 1;
        }
    }
}

impl State {
    /// Counts a helper out of a loop, for which no more need to come: its indices are used up.
    fn leave(&mut self, number: u64) {
        if let Some(shared) = self.loops.iter_mut().find(|shared| shared.number == number) {
            shared.inside -= 1;
            shared.wanted = 0;
        }
    }
}

/// Takes a loop back when dropped: lets no more helpers come, and blocks until all have left.
struct TakeBack {
    pool: &'static HelperPool,
    number: u64,
}

impl Drop for TakeBack {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        while let Some(at) = state.loops.iter().position(|shared| shared.number == self.number) {
            if state.loops[at].inside == 0 {
                state.loops.remove(at);
                break;
            }
            state.loops[at].wanted = 0;
            self.pool.count_wanted(&state);
            state = self.pool.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.pool.count_wanted(&state);
    }
}
