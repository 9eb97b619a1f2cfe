//! The plan cache: one a thread, least recently used plan first out, one limit for all operations.
//!
//! Each operation keeps its plans in a [`PlanCache`] of its own, because their types differ. A
//! cache enters itself into the thread's list when it gets its first plan, so that the limit, the
//! statistics, [`clear`] and memory pressure reach the plans of every operation.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::{Execution, MAX_ALIGNMENT, Operation, Plan};
use crate::device::drop_released;
use crate::error::Result;
use crate::tensor::TensorView;

/// What a plan is found by.
pub type Key<O> = (<O as Operation>::Problem, Execution);

/// Requests that are kept together with their plans: enough for a loop over a few operations.
const MAX_RECENT: usize = 4;

/// Plans that each thread keeps for each device, unless [`set_limit`] says otherwise.
pub const DEFAULT_LIMIT: usize = 16;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// Statistics of the calling thread's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Look-ups that found a plan.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
    /// Plans kept now, of all operations and devices.
    pub size: usize,
    /// Plans kept at most for each device; the CPU counts as one.
    pub limit: usize,
    /// Bytes of device memory that making the plans kept now took: see [`Plan::device_memory`].
    pub device_memory: usize,
}

thread_local! {
    /// Counts the look-ups; plans keep the value of their last use.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    static HITS: Cell<u64> = const { Cell::new(0) };
    static MISSES: Cell<u64> = const { Cell::new(0) };
    static CACHES: RefCell<Vec<&'static dyn AnyPlanCache>> = const { RefCell::new(Vec::new()) };
}

/// The plans of one operation and thread.
#[derive(Debug)]
pub struct PlanCache<O: Operation> {
    plans: HashMap<Key<O>, Kept<O>>,
    /// Compared before a problem is posed, which takes several times as long.
    recent: Vec<Recent<O>>,
    /// Which of the recent requests is replaced next.
    oldest_recent: usize,
    is_listed: bool,
}

#[derive(Debug)]
struct Kept<O: Operation> {
    plan: Arc<Plan<O>>,
    last_use: u64,
}

#[derive(Debug)]
struct Recent<O: Operation> {
    request: O::Request,
    inputs: SmallVec<[TensorView; 1]>,
    execution: Execution,
    plan: Arc<Plan<O>>,
    last_use: u64,
}

impl<O: Operation> Default for PlanCache<O> {
    fn default() -> Self {
        Self { plans: HashMap::new(), recent: Vec::new(), oldest_recent: 0, is_listed: false }
    }
}

/// Returns the plan that answered the same request a moment ago.
pub(super) fn find_recent<O: Operation>(
    request: &O::Request,
    inputs: &[&TensorView],
    execution: Execution,
) -> Option<Arc<Plan<O>>> {
    O::plan_cache().with_borrow_mut(|cache| {
        let recent = cache.recent.iter_mut().find(|recent| {
            recent.request == *request
                && recent.execution == execution
                && recent.inputs.len() == inputs.len()
                && recent.inputs.iter().zip(inputs).all(|(known, view)| is_alike(known, view))
        })?;
        recent.last_use = tick();
        count(&HITS);
        Some(Arc::clone(&recent.plan))
    })
}

/// Whether one problem is posed for both inputs: they differ in their addresses at most, and these
/// are aligned alike.
fn is_alike(known: &TensorView, view: &TensorView) -> bool {
    known.dtype == view.dtype
        && known.layout == view.layout
        && known.device == view.device
        && known.readonly == view.readonly
        && known.ptr % MAX_ALIGNMENT == view.ptr % MAX_ALIGNMENT
}

/// Keeps a request together with the plan that answers it.
pub(super) fn remember<O: Operation>(
    request: &O::Request,
    inputs: &[&TensorView],
    execution: Execution,
    plan: &Arc<Plan<O>>,
) {
    let recent = Recent {
        request: request.clone(),
        inputs: inputs.iter().map(|&view| view.clone()).collect(),
        execution,
        plan: Arc::clone(plan),
        last_use: CLOCK.get(),
    };
    // The replaced request is dropped when the cache is no longer borrowed.
    let _replaced = O::plan_cache().with_borrow_mut(|cache| {
        if cache.recent.len() < MAX_RECENT {
            cache.recent.push(recent);
            return None;
        }
        cache.oldest_recent = (cache.oldest_recent + 1) % MAX_RECENT;
        Some(std::mem::replace(&mut cache.recent[cache.oldest_recent], recent))
    });
}

/// Returns the cached plan for `key`.
pub(super) fn find<O: Operation>(key: &Key<O>) -> Option<Arc<Plan<O>>> {
    O::plan_cache().with_borrow_mut(|cache| {
        let kept = cache.plans.get_mut(key)?;
        kept.last_use = tick();
        count(&HITS);
        Some(Arc::clone(&kept.plan))
    })
}

/// Returns the cached plan for `key`, or makes one, which is then kept.
pub(super) fn get_or_insert<O: Operation>(key: Key<O>) -> Result<Arc<Plan<O>>> {
    if let Some(plan) = find(&key) {
        return Ok(plan);
    }
    count(&MISSES);
    let plan = Arc::new(Plan::new(key.0.clone(), key.1)?);
    let limit = LIMIT.load(Ordering::Relaxed);
    drop(evict(key.1.device(), limit.saturating_sub(1)));
    if limit > 0 {
        let kept = Kept { plan: Arc::clone(&plan), last_use: tick() };
        let (is_listed, _replaced) = O::plan_cache().with_borrow_mut(|cache| {
            (std::mem::replace(&mut cache.is_listed, true), cache.plans.insert(key, kept))
        });
        if !is_listed {
            CACHES.with_borrow_mut(|caches| caches.push(&CacheOf::<O>::THE));
        }
    }
    Ok(plan)
}

/// Returns the statistics of the calling thread.
#[must_use]
pub fn info() -> Info {
    let caches = caches();
    Info {
        hits: HITS.get(),
        misses: MISSES.get(),
        size: caches.iter().map(|cache| cache.len()).sum(),
        limit: LIMIT.load(Ordering::Relaxed),
        device_memory: caches.iter().map(|cache| cache.device_memory()).sum(),
    }
}

/// Drops the calling thread's plans of all operations, for the memory that they hold.
pub(super) fn drop_plans() {
    for cache in caches() {
        drop(cache.take());
    }
}

/// Drops the calling thread's plans and sets its counts to zero. Also drops the plans of graphs
/// that have been destroyed.
pub fn clear() {
    drop_plans();
    HITS.set(0);
    MISSES.set(0);
    drop_released();
}

/// Sets how many plans each thread keeps for each device from now on; 0 switches the cache off.
/// The calling thread drops plans over the limit at once, the others when they next plan.
pub fn set_limit(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
    let mut devices: Vec<_> = caches().iter().flat_map(|cache| cache.devices()).collect();
    devices.sort_unstable();
    devices.dedup();
    for device in devices {
        drop(evict(device, limit));
    }
}

/// Takes the least recently used plans for `device` out of the thread's caches until `keep` are
/// left. The caller drops them.
fn evict(device: Option<i32>, keep: usize) -> Vec<Box<dyn Any>> {
    let caches = caches();
    let mut evicted = Vec::new();
    while caches.iter().map(|cache| cache.count(device)).sum::<usize>() > keep {
        let oldest = caches.iter().filter_map(|cache| Some((cache.oldest_use(device)?, cache)));
        let Some((_, cache)) = oldest.min_by_key(|&(last_use, _)| last_use) else { break };
        evicted.push(cache.take_oldest(device));
    }
    evicted
}

/// The thread's caches that have had a plan.
fn caches() -> Vec<&'static dyn AnyPlanCache> {
    // A thread that is ending has none.
    CACHES.try_with(|caches| caches.borrow().clone()).unwrap_or_default()
}

fn tick() -> u64 {
    CLOCK.set(CLOCK.get() + 1);
    CLOCK.get()
}

fn count(counter: &'static std::thread::LocalKey<Cell<u64>>) {
    counter.set(counter.get() + 1);
}

/// The calling thread's cache of any operation. What it takes out is dropped by the caller, because
/// dropping a plan may come back here.
trait AnyPlanCache: Sync {
    fn len(&self) -> usize;
    fn device_memory(&self) -> usize;
    fn devices(&self) -> Vec<Option<i32>>;
    /// Number of plans for a device.
    fn count(&self, device: Option<i32>) -> usize;
    /// When the least recently used plan for a device was used.
    fn oldest_use(&self, device: Option<i32>) -> Option<u64>;
    /// Takes that plan out, and the recent requests, which may hold it too.
    fn take_oldest(&self, device: Option<i32>) -> Box<dyn Any>;
    /// Takes everything out.
    fn take(&self) -> Box<dyn Any>;
}

/// Stands for the calling thread's cache of one operation.
struct CacheOf<O>(std::marker::PhantomData<fn() -> O>);

impl<O: Operation> CacheOf<O> {
    const THE: Self = Self(std::marker::PhantomData);
}

impl<O: Operation> AnyPlanCache for CacheOf<O> {
    fn len(&self) -> usize {
        O::plan_cache().with_borrow(|cache| cache.plans.len())
    }

    fn device_memory(&self) -> usize {
        O::plan_cache()
            .with_borrow(|cache| cache.plans.values().map(|kept| kept.plan.device_memory()).sum())
    }

    fn devices(&self) -> Vec<Option<i32>> {
        O::plan_cache().with_borrow(|cache| cache.plans.keys().map(|key| key.1.device()).collect())
    }

    fn count(&self, device: Option<i32>) -> usize {
        O::plan_cache()
            .with_borrow(|cache| cache.plans.keys().filter(|key| key.1.device() == device).count())
    }

    fn oldest_use(&self, device: Option<i32>) -> Option<u64> {
        O::plan_cache().with_borrow_mut(|cache| {
            cache.note_recent_uses();
            cache.oldest(device).map(|(_, last_use)| last_use)
        })
    }

    fn take_oldest(&self, device: Option<i32>) -> Box<dyn Any> {
        O::plan_cache().with_borrow_mut(|cache| {
            let key = cache.oldest(device).map(|(key, _)| key.clone());
            let plan = key.and_then(|key| cache.plans.remove(&key));
            Box::new((plan, std::mem::take(&mut cache.recent)))
        })
    }

    fn take(&self) -> Box<dyn Any> {
        O::plan_cache().with_borrow_mut(|cache| {
            Box::new((std::mem::take(&mut cache.plans), std::mem::take(&mut cache.recent)))
        })
    }
}

impl<O: Operation> PlanCache<O> {
    /// Notes when plans were last used by way of recent requests.
    fn note_recent_uses(&mut self) {
        for recent in &self.recent {
            let is_same = |kept: &&mut Kept<O>| Arc::ptr_eq(&kept.plan, &recent.plan);
            if let Some(kept) = self.plans.values_mut().find(is_same) {
                kept.last_use = kept.last_use.max(recent.last_use);
            }
        }
    }

    fn oldest(&self, device: Option<i32>) -> Option<(&Key<O>, u64)> {
        self.plans
            .iter()
            .filter(|(key, _)| key.1.device() == device)
            .map(|(key, kept)| (key, kept.last_use))
            .min_by_key(|&(_, last_use)| last_use)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use std::num::NonZeroUsize;

    use super::*;
    use crate::operation::toy::{Copying, Doubling, Length};

    const CPU: Execution = Execution::Cpu { threads: NonZeroUsize::MIN };

    fn plan<O: Operation<Problem = Length>>(length: i64) -> Arc<Plan<O>> {
        Plan::cached(Length::new(length), CPU).unwrap()
    }

    #[test]
    fn the_most_recently_used_plans_are_kept() {
        clear();
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
        assert_eq!(info(), Info { limit: DEFAULT_LIMIT, ..Info::default() });
    }

    #[test]
    fn operations_share_the_limit_and_are_cleared_together() {
        clear();
        let first = plan::<Copying>(3);
        for length in 0..DEFAULT_LIMIT as i64 {
            plan::<Doubling>(length + 1);
        }
        assert_eq!(info().size, DEFAULT_LIMIT);
        assert!(!Arc::ptr_eq(&first, &plan(3)), "the oldest plan of all operations had to go");
        drop_plans();
        assert_eq!(info().size, 0);
    }

    #[test]
    fn each_thread_has_its_own() {
        clear();
        let here = plan::<Copying>(5);
        let there = std::thread::spawn(|| plan::<Copying>(5)).join().unwrap();
        assert!(!Arc::ptr_eq(&here, &there));
    }
}
