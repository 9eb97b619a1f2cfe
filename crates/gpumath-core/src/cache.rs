//! The plan cache: one per thread, bounded, least recently used plan first out. Plans hold no workspace, so what it
//! keeps is small.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::fft::{Execution, FftPlan, Problem};

type Key = (Problem, Execution);

/// Plans per device and thread that are kept unless [`set_limit`] says otherwise.
pub const DEFAULT_LIMIT: usize = 16;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// Statistics of the calling thread's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Look-ups that found a plan.
    pub hits: u64,
    /// Look-ups that had to make one.
    pub misses: u64,
    /// Plans kept now.
    pub size: usize,
    /// Plans kept at most for each device (the CPU counts as one).
    pub limit: usize,
}

#[derive(Default)]
struct Cache {
    plans: HashMap<Key, (Arc<FftPlan>, u64)>,
    clock: u64,
    hits: u64,
    misses: u64,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// The cached plan for `key`, or the one that `make` gives, which is then kept.
pub(crate) fn get_or_insert(
    key: Key,
    make: impl FnOnce(&Key) -> Result<FftPlan>,
) -> Result<Arc<FftPlan>> {
    let found = CACHE.with_borrow_mut(|cache| {
        cache.clock += 1;
        let clock = cache.clock;
        let found = cache.plans.get_mut(&key).map(|(plan, used)| {
            *used = clock;
            Arc::clone(plan)
        });
        *if found.is_some() { &mut cache.hits } else { &mut cache.misses } += 1;
        found
    });
    if let Some(plan) = found {
        return Ok(plan);
    }
    let plan = Arc::new(make(&key)?);
    let dropped = CACHE.with_borrow_mut(|cache| {
        let mut dropped =
            cache.evict(key.1.device(), LIMIT.load(Ordering::Relaxed).saturating_sub(1));
        if LIMIT.load(Ordering::Relaxed) > 0 {
            let used = cache.clock;
            dropped
                .extend(cache.plans.insert(key, (Arc::clone(&plan), used)).map(|(plan, _)| plan));
        }
        dropped
    });
    drop(dropped);
    Ok(plan)
}

/// Statistics of the calling thread.
#[must_use]
pub fn info() -> Info {
    CACHE.with_borrow(|cache| Info {
        hits: cache.hits,
        misses: cache.misses,
        size: cache.plans.len(),
        limit: LIMIT.load(Ordering::Relaxed),
    })
}

/// Drops the calling thread's plans, for the memory that they hold.
pub(crate) fn drop_plans() {
    drop(CACHE.with_borrow_mut(|cache| std::mem::take(&mut cache.plans)));
}

/// Drops the calling thread's plans and sets its counts to zero.
pub fn clear() {
    drop(CACHE.take());
}

/// How many plans each thread keeps for each device from now on; 0 switches the cache off.
/// The calling thread drops what is over the limit at once, the others when they next plan.
pub fn set_limit(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
    let dropped = CACHE.with_borrow_mut(|cache| {
        let mut devices: Vec<_> = cache.plans.keys().map(|key| key.1.device()).collect();
        devices.sort_unstable();
        devices.dedup();
        devices.into_iter().flat_map(|device| cache.evict(device, limit)).collect::<Vec<_>>()
    });
    drop(dropped);
}

impl Cache {
    /// Takes out the least recently used plans of `device` until `keep` are left. The caller drops them when the
    /// cache is no longer borrowed.
    fn evict(&mut self, device: Option<i32>, keep: usize) -> Vec<Arc<FftPlan>> {
        let mut ages: Vec<(u64, Key)> = self
            .plans
            .iter()
            .filter(|(key, _)| key.1.device() == device)
            .map(|(key, (_, used))| (*used, key.clone()))
            .collect();
        ages.sort_unstable_by_key(|&(used, _)| used);
        let excess = ages.len().saturating_sub(keep);
        ages.drain(..excess)
            .filter_map(|(_, key)| self.plans.remove(&key))
            .map(|(plan, _)| plan)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use std::num::NonZeroUsize;

    use super::*;
    use crate::fft::{Kind, Precision};
    use crate::tensor::Layout;

    fn plan(length: i64) -> Arc<FftPlan> {
        let layout = Layout::contiguous(&[length]);
        let axes = [0].as_slice().into();
        let problem =
            Problem::new(Kind::C2C, Precision::Double, axes, layout.clone(), layout, false)
                .unwrap();
        FftPlan::cached(problem, Execution::Cpu { threads: NonZeroUsize::MIN }).unwrap()
    }

    #[test]
    fn keeps_the_most_recently_used_plans() {
        clear();
        let first = plan(3);
        for length in 4..DEFAULT_LIMIT as i64 + 3 {
            plan(length);
        }
        assert_eq!(info().size, DEFAULT_LIMIT);
        assert!(Arc::ptr_eq(&first, &plan(3)));
        plan(1000);
        assert!(Arc::ptr_eq(&first, &plan(3)), "just used, so the plan for 4 had to go");
        let misses = info().misses;
        plan(4);
        assert_eq!(info().misses, misses + 1);
        clear();
        assert_eq!(info(), Info { limit: DEFAULT_LIMIT, ..Info::default() });
    }

    #[test]
    fn each_thread_has_its_own() {
        clear();
        let here = plan(5);
        let there = std::thread::spawn(|| plan(5)).join().unwrap();
        assert!(!Arc::ptr_eq(&here, &there));
    }
}
