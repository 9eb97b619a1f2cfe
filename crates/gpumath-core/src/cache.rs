//! The plan cache: one per thread, bounded, least recently used plan first out. Plans hold no workspace, so what it
//! keeps is small.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::drop_released;
use crate::error::Result;
use crate::fft::{Execution, FftPlan, Problem, Request};
use crate::tensor::TensorView;

pub(crate) type Key = (Problem, Execution);

/// Questions that are kept together with their plans: enough for a loop over a few transforms.
const MAX_RECENT: usize = 4;

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
    /// Bytes of device memory that making the plans kept now took: see [`FftPlan::device_memory`].
    pub device_memory: usize,
}

/// What was asked last. Comparing it takes a fraction of the time of posing the problem and looking that up.
struct Recent {
    request: Request,
    operand: TensorView,
    execution: Execution,
    plan: Arc<FftPlan>,
    used: u64,
}

#[derive(Default)]
struct Cache {
    plans: HashMap<Key, (Arc<FftPlan>, u64)>,
    recent: Vec<Recent>,
    /// Which of the recent questions is the oldest.
    oldest: usize,
    clock: u64,
    hits: u64,
    misses: u64,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// The plan that answered the same question a moment ago.
pub(crate) fn find_recent(
    request: &Request,
    operand: &TensorView,
    execution: Execution,
) -> Option<Arc<FftPlan>> {
    CACHE.with_borrow_mut(|cache| {
        cache.clock += 1;
        let recent = cache.recent.iter_mut().find(|recent| {
            recent.request == *request
                && recent.execution == execution
                && recent.operand.dtype == operand.dtype
                && recent.operand.layout == operand.layout
                && recent.operand.device == operand.device
                && recent.operand.readonly == operand.readonly
                && recent.plan.is_aligned_alike(operand)
        })?;
        recent.used = cache.clock;
        cache.hits += 1;
        Some(Arc::clone(&recent.plan))
    })
}

/// Keeps a question and its answer.
pub(crate) fn remember(
    request: Request,
    operand: TensorView,
    execution: Execution,
    plan: Arc<FftPlan>,
) {
    let dropped = CACHE.with_borrow_mut(|cache| {
        let recent = Recent { request, operand, execution, plan, used: cache.clock };
        if cache.recent.len() < MAX_RECENT {
            cache.recent.push(recent);
            return None;
        }
        cache.oldest = (cache.oldest + 1) % MAX_RECENT;
        Some(std::mem::replace(&mut cache.recent[cache.oldest], recent))
    });
    drop(dropped);
}

/// The cached plan for `key`.
pub(crate) fn find(key: &Key) -> Option<Arc<FftPlan>> {
    CACHE.with_borrow_mut(|cache| {
        cache.clock += 1;
        let (plan, used) = cache.plans.get_mut(key)?;
        *used = cache.clock;
        cache.hits += 1;
        Some(Arc::clone(plan))
    })
}

/// The cached plan for `key`, or the one that `make` gives, which is then kept.
pub(crate) fn get_or_insert(
    key: Key,
    make: impl FnOnce(&Key) -> Result<FftPlan>,
) -> Result<Arc<FftPlan>> {
    if let Some(plan) = find(&key) {
        return Ok(plan);
    }
    CACHE.with_borrow_mut(|cache| cache.misses += 1);
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
        device_memory: cache.plans.values().map(|(plan, _)| plan.device_memory()).sum(),
    })
}

/// Drops the calling thread's plans, for the memory that they hold.
pub(crate) fn drop_plans() {
    drop(CACHE.with_borrow_mut(|cache| {
        (std::mem::take(&mut cache.plans), std::mem::take(&mut cache.recent))
    }));
}

/// Drops the calling thread's plans and sets its counts to zero. Also drops the plans of graphs that are gone.
pub fn clear() {
    drop(CACHE.take());
    drop_released();
}

/// How many plans each thread keeps for each device from now on; 0 switches the cache off.
/// The calling thread drops what is over the limit at once, the others when they next plan.
pub fn set_limit(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
    let dropped = CACHE.with_borrow_mut(|cache| {
        // So that what is over the limit goes, and plans are looked up where their use is counted.
        let recent = std::mem::take(&mut cache.recent);
        let mut devices: Vec<_> = cache.plans.keys().map(|key| key.1.device()).collect();
        devices.sort_unstable();
        devices.dedup();
        let plans: Vec<_> =
            devices.into_iter().flat_map(|device| cache.evict(device, limit)).collect();
        (recent, plans)
    });
    drop(dropped);
}

impl Cache {
    /// Takes out the least recently used plans of `device` until `keep` are left. The caller drops them when the
    /// cache is no longer borrowed.
    fn evict(&mut self, device: Option<i32>, keep: usize) -> Vec<Arc<FftPlan>> {
        for recent in &self.recent {
            let plan = self.plans.values_mut().find(|(plan, _)| Arc::ptr_eq(plan, &recent.plan));
            if let Some((_, used)) = plan {
                *used = recent.used.max(*used);
            }
        }
        let mut ages: Vec<(u64, Key)> = self
            .plans
            .iter()
            .filter(|(key, _)| key.1.device() == device)
            .map(|(key, (_, used))| (*used, key.clone()))
            .collect();
        ages.sort_unstable_by_key(|&(used, _)| used);
        let excess = ages.len().saturating_sub(keep);
        let mut evicted: Vec<_> = ages
            .drain(..excess)
            .filter_map(|(_, key)| self.plans.remove(&key))
            .map(|(plan, _)| plan)
            .collect();
        if !evicted.is_empty() {
            evicted.extend(self.recent.drain(..).map(|recent| recent.plan));
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use std::num::NonZeroUsize;

    use super::*;
    use crate::fft::{Precision, TransformKind};
    use crate::tensor::Layout;

    fn plan(length: i64) -> Arc<FftPlan> {
        let layout = Layout::contiguous(&[length]);
        let axes = [0].as_slice().into();
        let problem = Problem::new(
            TransformKind::C2C,
            Precision::Double,
            axes,
            layout.clone(),
            layout,
            false,
        )
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
