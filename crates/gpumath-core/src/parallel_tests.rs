//! Thread counts, failing starts, nesting and errors of the helper pool.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing unwrap is a failing test")]

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// Counts how often `run` gives each index to its work, and asserts that it is once.
fn assert_each_index_once(
    count: usize,
    run: impl FnOnce(&(dyn Fn(ClaimedIndices<'_>) -> Result<()> + Sync)) -> Result<()>,
) {
    let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    run(&|indices| {
        for index in indices {
            seen[index].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })
    .unwrap();
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "of {count} indices");
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn start(pool: &'static HelperPool) -> io::Result<()> {
    thread::Builder::new().spawn(|| pool.help_others()).map(drop)
}

/// A pool of so many helpers, which stays until the end of the process.
fn pool(most: usize, start: fn(&'static HelperPool) -> io::Result<()>) -> &'static HelperPool {
    Box::leak(Box::new(HelperPool::new(most, start)))
}

#[test]
fn each_index_is_worked_on_once() {
    for count in [0, 1, 2, 3, 63, 1000, 4099] {
        for asked in [1, 2, 3, 7, 64, 1000] {
            assert_each_index_once(count, |work| parallel_for(threads(asked), count, work));
        }
    }
}

#[test]
fn a_process_has_one_pool() {
    let first = HelperPool::of_this_process();
    for asked in [2, 5, 100] {
        assert_each_index_once(1000, |work| parallel_for(threads(asked), 1000, work));
    }
    assert!(std::ptr::eq(first, HelperPool::of_this_process()));
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(first.most(), (cores - 1).max(1));
    assert!(first.alive() <= first.most());
}

#[test]
fn no_call_has_more_threads_than_it_asked_for() {
    let pool = pool(6, start);
    for asked in [2, 3, 50] {
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        parallel_for_with(Some(pool), asked, 200, |indices| {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            indices.for_each(|_| thread::yield_now());
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        })
        .unwrap();
        assert!(most.into_inner() <= asked.min(7));
    }
}

#[test]
fn each_thread_begins_with_its_own_part() {
    let pool = pool(3, start);
    for _ in 0..20 {
        let (barrier, firsts) = (Barrier::new(4), Mutex::new(Vec::new()));
        parallel_for_with(Some(pool), 4, 501, |mut indices| {
            barrier.wait();
            firsts.lock().unwrap().extend(indices.next());
            barrier.wait();
            indices.for_each(drop);
            Ok(())
        })
        .unwrap();
        let mut firsts = firsts.into_inner().unwrap();
        firsts.sort_unstable();
        assert_eq!(firsts, [0, 126, 251, 376]);
    }
}

#[test]
fn helpers_end_when_there_is_nothing_to_do() {
    let pool = pool(3, start);
    let all_come = || {
        let barrier = Barrier::new(4);
        parallel_for_with(Some(pool), 8, 500, |indices| {
            barrier.wait();
            indices.for_each(drop);
            Ok(())
        })
        .unwrap();
    };
    for _ in 0..2 {
        all_come();
        assert_eq!(pool.alive(), 3);
        let end = Instant::now() + Duration::from_secs(60);
        while pool.alive() > 0 {
            assert!(Instant::now() < end, "the helpers are still there");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn without_a_thread_the_caller_works_alone() {
    let pool = pool(8, |_| Err(io::ErrorKind::WouldBlock.into()));
    let caller = thread::current().id();
    for _ in 0..3 {
        assert_each_index_once(500, |work| {
            parallel_for_with(Some(pool), 8, 500, |indices| {
                assert_eq!(thread::current().id(), caller);
                work(indices)
            })
        });
        assert_eq!(pool.alive(), 0);
    }
}

#[test]
fn with_fewer_threads_than_wanted_those_help() {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let pool = pool(8, |pool| {
        if STARTED.fetch_add(1, Ordering::SeqCst) >= 3 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        start(pool)
    });
    // All three come, or none would get past the barrier.
    let barrier = Barrier::new(4);
    parallel_for_with(Some(pool), 8, 500, |indices| {
        barrier.wait();
        indices.for_each(drop);
        Ok(())
    })
    .unwrap();
    assert_eq!(pool.alive(), 3);
    assert_each_index_once(500, |work| parallel_for_with(Some(pool), 8, 500, work));
}

#[test]
fn many_callers_and_nested_calls_end() {
    let pool = pool(2, start);
    let total = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    parallel_for_with(Some(pool), 16, 10, |outer| {
                        for _ in outer {
                            parallel_for_with(Some(pool), 16, 10, |inner| {
                                total.fetch_add(inner.count(), Ordering::Relaxed);
                                Ok(())
                            })?;
                        }
                        Ok(())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 8 * 20 * 10 * 10);
    assert!(pool.alive() <= 2);
}

#[test]
fn a_call_does_not_wait_for_busy_helpers() {
    let pool = pool(1, start);
    let (begun, done) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            parallel_for_with(Some(pool), 2, 2, |_| {
                // The helper and its caller, which both stay until the other calls are done.
                begun.wait();
                while !done.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                Ok(())
            })
            .unwrap();
        });
        begun.wait();
        for _ in 0..1000 {
            assert_each_index_once(5, |work| parallel_for_with(Some(pool), 2, 5, work));
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn errors_and_panics_of_helpers_are_returned() {
    let pool = pool(1, start);
    let caller = thread::current().id();
    let run = |on_helper: fn() -> Result<()>| {
        let barrier = Barrier::new(2);
        parallel_for_with(Some(pool), 2, 2, |_| {
            barrier.wait();
            if thread::current().id() == caller { Ok(()) } else { on_helper() }
        })
    };
    let failed = run(|| Err(Error::InvalidValue("of a helper".into())));
    assert_eq!(failed.unwrap_err().to_string(), "of a helper");
    assert!(run(|| panic!("on purpose")).unwrap_err().to_string().contains("panicked"));
    run(|| Ok(())).unwrap();
}

#[test]
fn an_error_ends_the_loop_of_all_threads() {
    let pool = pool(1, start);
    let seen = AtomicUsize::new(0);
    let latest = Instant::now() + Duration::from_secs(60);
    let failed = parallel_for_with(Some(pool), 2, 1_000_000, |mut indices| {
        while let Some(index) = indices.next() {
            seen.fetch_add(1, Ordering::Relaxed);
            if index == 1000 {
                return Err(Error::InvalidValue("enough".into()));
            }
            // The helper, whose part is the second half, stays until it sees the error.
            while index >= 500_000 && !indices.is_over() && Instant::now() < latest {
                thread::yield_now();
            }
        }
        Ok(())
    });
    assert_eq!(failed.unwrap_err().to_string(), "enough");
    assert!(seen.into_inner() < 100_000);
}
