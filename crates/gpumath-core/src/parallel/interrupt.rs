//! Whether the user wants to end long work on the CPU, such as by Ctrl-C.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::process::SetOnce;

/// Time between two checks. A check may have to wait for other threads of the program.
const INTERVAL: Duration = Duration::from_millis(200);

static CHECK: SetOnce<fn() -> Result<()>> = SetOnce::new();

/// Sets what long work on the CPU calls several times a second, on the thread that asked for the
/// work. If it returns an error, the work ends, and returns that error. Only the first call has an
/// effect.
///
/// The check may wait for locks of the caller's. So nothing here holds a lock during such work.
pub fn set_interrupt_check(check: fn() -> Result<()>) {
    let _ = CHECK.set(check);
}

thread_local! {
    /// When this thread last called the check.
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };

    /// Whether this thread is a helper, which checks nothing, also in loops of its own.
    static IS_HELPER: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread is a helper.
pub(super) fn check_never() {
    IS_HELPER.set(true);
}

/// Calls the check from time to time, during one loop.
#[derive(Default)]
pub(super) struct InterruptClock {
    /// Whether the loop has asked before. The first question, the only one of a short loop, costs
    /// no look at a clock.
    has_asked: bool,
}

impl InterruptClock {
    /// Calls the check, unless this thread has called it a moment ago.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(check) = CHECK.get().filter(|_| self.has_asked && !IS_HELPER.get()) else {
            self.has_asked = true;
            return Ok(());
        };
        let now = Instant::now();
        match LAST.get() {
            Some(last) if now - last < INTERVAL => Ok(()),
            last => {
                LAST.set(Some(now));
                if last.is_some() { check() } else { Ok(()) }
            }
        }
    }
}
