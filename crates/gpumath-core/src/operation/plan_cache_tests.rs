//! What the plan cache keeps. The tests share the one cache of the process, so one runs at a time.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::num::NonZeroUsize;

use super::*;
use crate::operation::toy::{Copying, Doubling, Length};

const CPU: Execution = Execution::Cpu { threads: NonZeroUsize::MIN };

/// Empties the cache, and keeps other tests out until the result is dropped.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: PerProcess<Mutex<()>> = PerProcess::new();
    let alone = ALONE.lock();
    set_limit(DEFAULT_LIMIT);
    set_memory_limit(None);
    clear();
    alone
}

fn plan<O: Operation<Problem = Length>>(length: i64) -> Arc<Plan<O>> {
    Plan::cached(Length::new(length), CPU).unwrap()
}

#[test]
fn the_most_recently_used_plans_are_kept() {
    let _alone = alone();
    let first = plan::<Copying>(3);
    for length in 4..DEFAULT_LIMIT as i64 + 3 {
        plan::<Copying>(length);
    }
    assert_eq!(info().size, DEFAULT_LIMIT);
    assert!(Arc::ptr_eq(&first, &plan(3)));
    plan::<Copying>(1000);
    assert!(Arc::ptr_eq(&first, &plan(3)), "just used, so the plan for 4 had to go");
    let misses = info().misses;
    plan::<Copying>(4);
    assert_eq!(info().misses, misses + 1);
    clear();
    let empty = Info::default();
    assert_eq!(info(), Info { limit: DEFAULT_LIMIT, ..empty });
}

#[test]
fn operations_share_the_limit_and_are_cleared_together() {
    let _alone = alone();
    let first = plan::<Copying>(3);
    for length in 0..DEFAULT_LIMIT as i64 {
        plan::<Doubling>(length + 1);
    }
    assert_eq!(info().size, DEFAULT_LIMIT);
    assert!(!Arc::ptr_eq(&first, &plan(3)), "the oldest plan of all operations had to go");
    drop_plans();
    assert_eq!(info().size, 0);
    set_limit(0);
    plan::<Copying>(3);
    assert_eq!(info().size, 0);
}

#[test]
fn plans_share_a_limit_of_their_bytes() {
    let _alone = alone();
    set_memory_limit(Some(1000));
    let lengths = [300, 301, 302];
    for length in lengths {
        plan::<Copying>(length);
    }
    assert_eq!((info().size, info().host_memory), (3, 903));
    plan::<Copying>(300);
    plan::<Doubling>(200);
    assert_eq!((info().size, info().host_memory), (3, 802), "301 had to go");
    let large = plan::<Copying>(5000);
    assert_eq!((info().size, info().host_memory), (1, 5000), "the last one is always kept");
    assert!(Arc::ptr_eq(&large, &plan(5000)));
    plan::<Doubling>(1000);
    assert_eq!((info().size, info().host_memory), (1, 1000));
    set_memory_limit(Some(0));
    assert_eq!((info().size, info().memory_limit), (1, Some(0)));
    set_memory_limit(None);
    let half = DEFAULT_HOST_MEMORY as i64 / 2;
    for length in [half, half - 1, half - 2] {
        plan::<Copying>(length);
    }
    assert_eq!((info().size, info().host_memory), (2, DEFAULT_HOST_MEMORY - 3));
    assert_eq!(info().memory_limit, None);
}

#[test]
fn threads_share_plans() {
    let _alone = alone();
    let here = plan::<Copying>(5);
    let there = std::thread::spawn(|| plan::<Copying>(5)).join().unwrap();
    assert!(Arc::ptr_eq(&here, &there));
    assert_eq!((info().hits, info().misses), (1, 1));
}

#[test]
fn what_the_cache_gives_up_no_thread_keeps() {
    let _alone = alone();
    let view = TensorView {
        ptr: 64,
        dtype: crate::tensor::DType::Float64,
        layout: crate::tensor::Layout::contiguous(&[7]),
        device: crate::tensor::MemoryLocation::Host,
        readonly: false,
    };
    let request = crate::operation::toy::Any;
    let made = plan::<Copying>(7);
    remember::<Copying>(&request, &[&view], CPU, &made);
    assert!(find_recent::<Copying>(&request, &[&view], CPU).is_some());
    let weak = Arc::downgrade(&made);
    drop(made);
    drop_plans();
    assert!(find_recent::<Copying>(&request, &[&view], CPU).is_none());
    assert_eq!(weak.strong_count(), 0);
}
