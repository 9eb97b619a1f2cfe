//! The plan cache of the process: least recently used plan first out, one limit for all operations
//! and threads.
//!
//! Each operation keeps its plans in a [`PlanCache`] of its own, because their types differ. A
//! cache enters itself into the process's list when it gets its first plan, so that the limits, the
//! statistics, [`clear`] and memory pressure reach the plans of every operation.
//!
//! A forked child starts with an empty cache: a lock may have been held during the fork.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::LocalKey;

use smallvec::SmallVec;

use super::{Execution, MAX_ALIGNMENT, Operation, Plan};
use crate::device::{Device, drop_released};
use crate::error::Result;
use crate::process::PerProcess;
use crate::tensor::TensorView;

/// What a plan is found by.
pub type Key<O> = (<O as Operation>::Problem, Execution);

/// Requests that a thread keeps together with their plans: enough for a loop over a few operations.
const MAX_RECENT: usize = 4;

/// Plans that are kept for each device, unless [`set_limit`] says otherwise.
pub const DEFAULT_LIMIT: usize = 64;

/// Bytes that the plans kept take in host memory, unless [`set_memory_limit`] says otherwise. They
/// are counted as the most that they may take.
const DEFAULT_HOST_MEMORY: usize = 2 << 30;

/// The part of a device's memory that the plans kept take there, likewise. Two plans for lengths
/// with a large prime factor, which may take hundreds of megabytes each, have room in it, because a
/// program that alternates between them would plan in every call.
const DEFAULT_DEVICE_SHARE: usize = 16;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);
/// [`NO_BYTES_SET`], or what [`set_memory_limit`] was given.
static MEMORY_LIMIT: AtomicUsize = AtomicUsize::new(NO_BYTES_SET);
const NO_BYTES_SET: usize = usize::MAX;
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);
/// Counts the look-ups; plans keep the value of their last use.
static CLOCK: AtomicU64 = AtomicU64::new(0);
static CACHES: PerProcess<Mutex<Vec<&'static dyn AnyPlanCache>>> = PerProcess::new();

/// Statistics of the cache.
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
    /// About how many bytes of host memory the plans kept now take.
    pub host_memory: usize,
    /// Bytes of device memory that making the plans kept now took: see [`Plan::device_memory`].
    pub device_memory: usize,
    /// Bytes that plans may take in host memory, and on each device; `None` for 2 GiB of host
    /// memory and a 16th of each device's. The plan used last may take more.
    pub memory_limit: Option<usize>,
}

/// The plans of one operation.
pub struct PlanCache<O: Operation> {
    plans: PerProcess<Mutex<Plans<O>>>,
    recent: &'static LocalKey<RecentPlans<O>>,
}

/// A lock-free way to the plans that a thread used last: requests, which are compared before a
/// problem is posed, because that takes several times as long.
#[derive(Debug)]
pub struct RecentPlans<O: Operation>(RefCell<RecentList<O>>);

#[derive(Debug)]
struct RecentList<O: Operation> {
    entries: Vec<Recent<O>>,
    /// Which of them is replaced next.
    oldest: usize,
}

#[derive(Debug)]
struct Recent<O: Operation> {
    request: O::Request,
    inputs: SmallVec<[TensorView; 1]>,
    execution: Execution,
    /// The cache owns the plan, so that no thread keeps it when the cache gives it up.
    plan: Weak<Plan<O>>,
}

#[derive(Debug)]
struct Plans<O: Operation> {
    by_key: HashMap<Key<O>, Arc<Plan<O>>>,
    is_listed: bool,
}

impl<O: Operation> Default for RecentPlans<O> {
    fn default() -> Self {
        Self(RefCell::new(RecentList { entries: Vec::new(), oldest: 0 }))
    }
}

impl<O: Operation> Default for Plans<O> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), is_listed: false }
    }
}

impl<O: Operation> PlanCache<O> {
    /// Makes an empty cache. `recent` is a `thread_local!` of the operation.
    #[must_use]
    pub const fn new(recent: &'static LocalKey<RecentPlans<O>>) -> Self {
        Self { plans: PerProcess::new(), recent }
    }

    fn lock(&'static self) -> MutexGuard<'static, Plans<O>> {
        self.plans.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the plan that answered the same request of this thread a moment ago.
pub(super) fn find_recent<O: Operation>(
    request: &O::Request,
    inputs: &[&TensorView],
    execution: Execution,
) -> Option<Arc<Plan<O>>> {
    if LIMIT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let plan = O::plan_cache().recent.with(|recent| {
        let recent = recent.0.borrow();
        let found = recent.entries.iter().find(|recent| {
            recent.request == *request
                && recent.execution == execution
                && recent.inputs.len() == inputs.len()
                && recent.inputs.iter().zip(inputs).all(|(known, view)| is_alike(known, view))
        })?;
        found.plan.upgrade()
    })?;
    Some(hit(plan))
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
    let entry = Recent {
        request: request.clone(),
        inputs: inputs.iter().map(|&view| view.clone()).collect(),
        execution,
        plan: Arc::downgrade(plan),
    };
    // The replaced request is dropped when the list is no longer borrowed.
    let _replaced = O::plan_cache().recent.with(|recent| {
        let mut recent = recent.0.borrow_mut();
        if recent.entries.len() < MAX_RECENT {
            recent.entries.push(entry);
            return None;
        }
        let oldest = recent.oldest;
        recent.oldest = (oldest + 1) % MAX_RECENT;
        Some(std::mem::replace(&mut recent.entries[oldest], entry))
    });
}

/// Returns the cached plan for `key`.
pub(super) fn find<O: Operation>(key: &Key<O>) -> Option<Arc<Plan<O>>> {
    let plan = O::plan_cache().lock().by_key.get(key).cloned();
    plan.map(hit)
}

/// Notes a look-up that found a plan.
fn hit<O: Operation>(plan: Arc<Plan<O>>) -> Arc<Plan<O>> {
    HITS.fetch_add(1, Ordering::Relaxed);
    plan.last_use.store(tick(), Ordering::Relaxed);
    plan
}

/// Returns the cached plan for `key`, or makes one, which is then kept. No lock is held meanwhile:
/// threads that want the same plan at once may each make it, and use the first one.
pub(super) fn get_or_insert<O: Operation>(key: Key<O>) -> Result<Arc<Plan<O>>> {
    if let Some(plan) = find(&key) {
        return Ok(plan);
    }
    MISSES.fetch_add(1, Ordering::Relaxed);
    let plan = Arc::new(Plan::new(key.0.clone(), key.1)?);
    plan.last_use.store(tick(), Ordering::Relaxed);
    if LIMIT.load(Ordering::Relaxed) == 0 {
        return Ok(plan);
    }
    let (kept, is_listed) = {
        let mut plans = O::plan_cache().lock();
        let kept = Arc::clone(plans.by_key.entry(key).or_insert_with(|| Arc::clone(&plan)));
        (kept, std::mem::replace(&mut plans.is_listed, true))
    };
    if !is_listed {
        lock_caches().push(O::plan_cache());
    }
    drop(plan);
    evict();
    Ok(kept)
}

/// Returns the statistics.
#[must_use]
pub fn info() -> Info {
    let entries = entries();
    Info {
        hits: HITS.load(Ordering::Relaxed),
        misses: MISSES.load(Ordering::Relaxed),
        size: entries.len(),
        limit: LIMIT.load(Ordering::Relaxed),
        host_memory: entries.iter().map(|(entry, _)| entry.host_memory).sum(),
        device_memory: entries.iter().map(|(entry, _)| entry.device_memory).sum(),
        memory_limit: memory_limit(),
    }
}

/// Drops the plans of all operations, for the memory that they hold.
pub(super) fn drop_plans() {
    for cache in caches() {
        drop(cache.take_all());
    }
}

/// Drops all plans and sets the counts to zero. Also drops the plans of graphs that have been
/// destroyed.
pub fn clear() {
    drop_plans();
    HITS.store(0, Ordering::Relaxed);
    MISSES.store(0, Ordering::Relaxed);
    drop_released();
}

/// Sets how many plans are kept for each device from now on; 0 switches the cache off.
pub fn set_limit(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
    if limit == 0 {
        drop_plans();
    }
    evict();
}

/// Sets how many bytes the plans kept may take, in host memory and on each device, from now on;
/// `None` for what they may take at first.
pub fn set_memory_limit(bytes: Option<usize>) {
    let bytes = bytes.map_or(NO_BYTES_SET, |bytes| bytes.min(NO_BYTES_SET - 1));
    MEMORY_LIMIT.store(bytes, Ordering::Relaxed);
    evict();
}

fn memory_limit() -> Option<usize> {
    Some(MEMORY_LIMIT.load(Ordering::Relaxed)).filter(|&bytes| bytes != NO_BYTES_SET)
}

/// Returns the bytes that plans may take in the memory of a device.
fn device_memory_limit(device: i32) -> usize {
    memory_limit().unwrap_or_else(|| {
        let total = Device::new(device).and_then(Device::total_memory);
        total.map_or(usize::MAX, |total| total / DEFAULT_DEVICE_SHARE)
    })
}

/// Drops the least recently used plans that are over a limit. The plan used last stays.
fn evict() {
    let mut entries = entries();
    entries.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.last_use));
    let mut devices: Vec<_> = entries.iter().map(|(entry, _)| entry.device).collect();
    devices.sort_unstable();
    devices.dedup();
    for device in devices {
        let is_here = |entry: &Entry| entry.device == device;
        let limit = LIMIT.load(Ordering::Relaxed);
        drop_oldest(&mut entries, limit, |entry| usize::from(is_here(entry)));
        let Some(ordinal) = device else { continue };
        drop_oldest(&mut entries, device_memory_limit(ordinal), |entry| {
            if is_here(entry) { entry.device_memory } else { 0 }
        });
    }
    let host_memory_limit = memory_limit().unwrap_or(DEFAULT_HOST_MEMORY);
    drop_oldest(&mut entries, host_memory_limit, |entry| entry.host_memory);
}

/// Drops the last of these plans that have a share in a sum, but never the first plan, until the
/// sum is within the limit.
fn drop_oldest(
    entries: &mut Vec<(Entry, &'static dyn AnyPlanCache)>,
    limit: usize,
    share: impl Fn(&Entry) -> usize,
) {
    while entries.iter().map(|(entry, _)| share(entry)).sum::<usize>() > limit {
        let oldest = entries.iter().skip(1).rposition(|(entry, _)| share(entry) > 0);
        let Some(oldest) = oldest else { break };
        let (entry, cache) = entries.remove(1 + oldest);
        drop(cache.take(&entry));
    }
}

/// What the limits are about, for one plan.
struct Entry {
    last_use: u64,
    device: Option<i32>,
    host_memory: usize,
    device_memory: usize,
}

/// All plans, with the caches that they are in.
fn entries() -> Vec<(Entry, &'static dyn AnyPlanCache)> {
    let of = |cache: &'static dyn AnyPlanCache| {
        cache.entries().into_iter().map(move |entry| (entry, cache))
    };
    caches().into_iter().flat_map(of).collect()
}

fn lock_caches() -> MutexGuard<'static, Vec<&'static dyn AnyPlanCache>> {
    CACHES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The caches that have had a plan.
fn caches() -> Vec<&'static dyn AnyPlanCache> {
    lock_caches().clone()
}

fn tick() -> u64 {
    CLOCK.fetch_add(1, Ordering::Relaxed) + 1
}

/// The cache of any operation. What it takes out is dropped by the caller, without the lock,
/// because dropping a plan may come back here.
trait AnyPlanCache: Sync {
    fn entries(&self) -> Vec<Entry>;
    /// Takes a plan out, unless it was used meanwhile.
    fn take(&self, entry: &Entry) -> Box<dyn Any>;
    /// Takes everything out.
    fn take_all(&self) -> Box<dyn Any>;
}

impl<O: Operation> AnyPlanCache for PlanCache<O>
where
    Self: 'static,
{
    fn entries(&self) -> Vec<Entry> {
        let of = |plan: &Arc<Plan<O>>| Entry {
            last_use: plan.last_use.load(Ordering::Relaxed),
            device: plan.execution().device(),
            host_memory: plan.host_memory(),
            device_memory: plan.device_memory(),
        };
        O::plan_cache().lock().by_key.values().map(of).collect()
    }

    fn take(&self, entry: &Entry) -> Box<dyn Any> {
        let mut plans = O::plan_cache().lock();
        let is_it = |plan: &Arc<Plan<O>>| plan.last_use.load(Ordering::Relaxed) == entry.last_use;
        let key = plans.by_key.iter().find(|(_, plan)| is_it(plan)).map(|(key, _)| key.clone());
        Box::new(key.and_then(|key| plans.by_key.remove(&key)))
    }

    fn take_all(&self) -> Box<dyn Any> {
        Box::new(std::mem::take(&mut O::plan_cache().lock().by_key))
    }
}

#[cfg(test)]
#[path = "plan_cache_tests.rs"]
mod tests;
