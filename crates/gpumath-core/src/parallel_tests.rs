//! Thread counts, failing starts, nesting and errors of the helper pool.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing unwrap is a failing test")]

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

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

fn spawn(helper: ThreadBuilder) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(|| helper.run())
}

/// A way to start threads that fails once `limit` of them are alive.
fn spawn_below(
    limit: usize,
    alive: &Arc<AtomicUsize>,
) -> impl FnMut(ThreadBuilder) -> io::Result<JoinHandle<()>> + use<> {
    let alive = Arc::clone(alive);
    move |helper| {
        if alive.load(Ordering::SeqCst) >= limit {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        alive.fetch_add(1, Ordering::SeqCst);
        let alive = Arc::clone(&alive);
        thread::Builder::new().spawn(move || {
            helper.run();
            alive.fetch_sub(1, Ordering::SeqCst);
        })
    }
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
    let first = HelperPool::of_this_process().unwrap();
    for asked in [2, 5, 100] {
        parallel_for(threads(asked), 1000, |indices| {
            indices.for_each(drop);
            Ok(())
        })
        .unwrap();
    }
    assert!(std::ptr::eq(first, HelperPool::of_this_process().unwrap()));
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(first.len(), (cores - 1).max(1));
}

#[test]
fn no_call_has_more_threads_than_it_asked_for() {
    let pool = HelperPool::start(6, spawn).unwrap();
    for asked in [2, 3, 50] {
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        parallel_for_with(Some(&pool), asked, 200, |indices| {
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
fn without_a_thread_the_caller_works_alone() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = HelperPool::start(8, spawn_below(0, &alive));
    assert!(pool.is_none());
    let caller = thread::current().id();
    assert_each_index_once(500, |work| {
        parallel_for_with(pool.as_ref(), 8, 500, |indices| {
            assert_eq!(thread::current().id(), caller);
            work(indices)
        })
    });
}

#[test]
fn with_fewer_threads_than_wanted_those_help() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = HelperPool::start(8, spawn_below(3, &alive)).unwrap();
    assert_eq!((pool.len(), alive.load(Ordering::SeqCst)), (3, 3));
    assert_each_index_once(500, |work| parallel_for_with(Some(&pool), 8, 500, work));
    // All four come, or none would get past the barrier.
    let barrier = Barrier::new(4);
    parallel_for_with(Some(&pool), 8, 500, |indices| {
        barrier.wait();
        indices.for_each(drop);
        Ok(())
    })
    .unwrap();
}

#[test]
fn many_callers_and_nested_calls_end() {
    let pool = HelperPool::start(2, spawn).unwrap();
    let total = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    parallel_for_with(Some(&pool), 16, 10, |outer| {
                        for _ in outer {
                            parallel_for_with(Some(&pool), 16, 10, |inner| {
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
}

#[test]
fn a_call_does_not_wait_for_busy_helpers() {
    let pool = HelperPool::start(1, spawn).unwrap();
    let (begun, done) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            parallel_for_with(Some(&pool), 2, 2, |_| {
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
        for _ in 0..2 * MAX_QUEUED_JOBS {
            assert_each_index_once(5, |work| parallel_for_with(Some(&pool), 2, 5, work));
        }
        assert!(pool.queued.load(Ordering::SeqCst) <= MAX_QUEUED_JOBS);
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn errors_and_panics_of_helpers_are_returned() {
    let pool = HelperPool::start(1, spawn).unwrap();
    let caller = thread::current().id();
    let run = |on_helper: fn() -> Result<()>| {
        let barrier = Barrier::new(2);
        parallel_for_with(Some(&pool), 2, 2, |_| {
            barrier.wait();
            if thread::current().id() == caller { Ok(()) } else { on_helper() }
        })
    };
    let failed = run(|| Err(Error::InvalidValue("of a helper".into())));
    assert_eq!(failed.unwrap_err().to_string(), "of a helper");
    assert!(run(|| panic!("on purpose")).unwrap_err().to_string().contains("panicked"));
    run(|| Ok(())).unwrap();
}
