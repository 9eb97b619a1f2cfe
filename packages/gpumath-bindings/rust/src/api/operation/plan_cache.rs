//! The plan cache of the process.

use gpumath_core::operation::plan_cache as cache;
use pyo3::prelude::*;

use crate::gil::release_gil;

/// Statistics of the plan cache, which all threads share.
#[pyclass(frozen, get_all, name = "PlanCacheInfo", module = "gpumath.bindings.core")]
pub(crate) struct PyPlanCacheInfo {
    /// Look-ups that found a plan.
    hits: u64,
    /// Look-ups that had to make one.
    misses: u64,
    /// Plans kept now, for all devices.
    size: usize,
    /// Plans kept at most for each device; the CPU counts as one.
    limit: usize,
    /// About how many bytes of host memory the plans kept now take.
    host_memory: usize,
    /// Bytes of device memory that libraries took when the plans kept now were made, on all
    /// devices together. What other threads allocated at the same moment is in it; a workspace is
    /// not, as plans keep none.
    device_memory: usize,
    /// Bytes that the plans kept may take in host memory, and on each device; None for 2 GiB of
    /// host memory and a 16th of each device's. Only the plan that was used last may take more.
    memory_limit: Option<usize>,
}

#[pymethods]
impl PyPlanCacheInfo {
    fn __repr__(&self) -> String {
        let Self { hits, misses, size, limit, host_memory, device_memory, memory_limit } = self;
        let memory_limit = memory_limit.map_or("None".to_owned(), |bytes| bytes.to_string());
        format!(
            "PlanCacheInfo(hits={hits}, misses={misses}, size={size}, limit={limit}, \
             host_memory={host_memory}, device_memory={device_memory}, \
             memory_limit={memory_limit})"
        )
    }
}

/// Give the statistics of the plan cache.
///
/// Returns
/// -------
/// PlanCacheInfo
///     Look-ups that found a plan and that did not, plans kept, the memory that they take, and the
///     limits.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.plan_cache_clear()
/// >>> plan = core.FftPlan(np.zeros(100))
/// >>> same = core.FftPlan(np.ones(100))
/// >>> info = core.plan_cache_info()
/// >>> info.hits, info.misses, info.size
/// (1, 1, 1)
#[pyfunction]
pub(crate) fn plan_cache_info() -> PyPlanCacheInfo {
    let cache::Info { hits, misses, size, limit, host_memory, device_memory, memory_limit } =
        cache::info();
    PyPlanCacheInfo { hits, misses, size, limit, host_memory, device_memory, memory_limit }
}

/// Drop all cached plans and set the counts to zero.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.plan_cache_clear()
/// >>> core.plan_cache_info().size
/// 0
#[pyfunction]
pub(crate) fn plan_cache_clear(py: Python<'_>) {
    release_gil(py, cache::clear);
}

/// Set how many plans are kept, and how much memory they may take.
///
/// The least recently used plans over a limit are dropped at once.
///
/// Parameters
/// ----------
/// limit : int
///     Number of plans for each device; the CPU counts as one. 0 switches the cache off.
/// memory_limit : int, optional
///     Bytes that the plans may take together in host memory, and on each device. By default, they
///     may take 2 GiB of host memory and a 16th of each device's. Only the plan that was used last
///     may take more.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> info = core.plan_cache_info()
/// >>> core.set_plan_cache_limit(100, memory_limit=2**30)
/// >>> core.set_plan_cache_limit(info.limit, memory_limit=info.memory_limit)
#[pyfunction]
#[pyo3(signature = (limit, *, memory_limit=None))]
pub(crate) fn set_plan_cache_limit(py: Python<'_>, limit: usize, memory_limit: Option<usize>) {
    release_gil(py, || {
        cache::set_memory_limit(memory_limit);
        cache::set_limit(limit);
    });
}
