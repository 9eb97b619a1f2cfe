//! Waits by polling in short rounds, so that the caller can check for Ctrl-C between rounds and
//! stop waiting.
//!
//! The driver's own waits block until the work is done. The pauses here are a fixed part of the
//! time waited so far, so that they add little to it.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// `CUDA_ERROR_NOT_READY`
const NOT_READY: i32 = 600;

/// How long a wait polls without pauses, which would be long compared to it.
const BUSY: Duration = Duration::from_millis(2);
/// After that, each pause is one such part of the time waited so far, which bounds what the pauses
/// add.
const PART: u32 = 50;
/// The longest pause, and the least duration of a round that ends without the work.
const ROUND: Duration = Duration::from_millis(20);

/// A wait in rounds, between which the caller can stop it.
#[derive(Clone, Copy, Debug)]
pub struct PollingWait {
    start: Instant,
}

impl PollingWait {
    /// Starts to measure the time waited.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Polls `is_done` until it returns `true`, or until the round is over, which returns `false`.
    /// Blocks for the round.
    pub fn poll_round(&self, mut is_done: impl FnMut() -> Result<bool>) -> Result<bool> {
        let round = Instant::now();
        loop {
            if is_done()? {
                return Ok(true);
            }
            if round.elapsed() >= ROUND {
                return Ok(false);
            }
            let waited = self.start.elapsed();
            if waited < BUSY {
                thread::yield_now();
            } else {
                thread::sleep((waited / PART).min(ROUND));
            }
        }
    }
}

/// Turns the status of a query into whether the work is done.
pub(super) fn is_ready(status: Result<()>) -> Result<bool> {
    match status {
        Ok(()) => Ok(true),
        Err(Error::Status(status)) if status.code == NOT_READY => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn a_round_ends_with_the_work_or_by_itself() {
        let wait = PollingWait::start();
        let mut asked = 0;
        let third = || {
            asked += 1;
            Ok(asked == 3)
        };
        assert!(wait.poll_round(third).unwrap());
        assert_eq!(asked, 3);
        assert!(!wait.poll_round(|| Ok(false)).unwrap());
        let failing = || Err(Error::InvalidState(String::from("no")));
        assert!(wait.poll_round(failing).is_err());
    }

    #[test]
    fn only_not_ready_means_later() {
        let status = |code| {
            let (library, function, context) = ("driver", "cuEventQuery", String::new());
            is_ready(Err(Error::Status(Box::new(crate::error::Status {
                library,
                function,
                code,
                context,
            }))))
        };
        assert!(is_ready(Ok(())).unwrap());
        assert!(!status(NOT_READY).unwrap());
        assert!(status(1).is_err());
    }
}
