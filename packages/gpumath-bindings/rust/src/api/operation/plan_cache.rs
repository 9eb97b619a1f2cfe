//! The plan cache of the calling thread.

use gpumath_core::operation::plan_cache as cache;
use pyo3::prelude::*;

use crate::gil::release_gil;

/// Statistics of the calling thread's plan cache.
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
    /// Bytes of device memory that libraries took when the plans kept now were made, on all
    /// devices together. What other threads allocated at the same moment is in it; a workspace is
    /// not, as plans keep none.
    device_memory: usize,
}

#[pymethods]
impl PyPlanCacheInfo {
    fn __repr__(&self) -> String {
        let Self { hits, misses, size, limit, device_memory } = self;
        format!(
            "PlanCacheInfo(hits={hits}, misses={misses}, size={size}, limit={limit}, \
             device_memory={device_memory})"
        )
    }
}

/// Give the statistics of the calling thread's plan cache.
///
/// Returns
/// -------
/// PlanCacheInfo
///     Look-ups that found a plan and that did not, plans kept, the limit, and the device memory
///     that the plans took.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.plan_cache_clear()
/// >>> plan = core.FftPlan(np.zeros(100))
/// >>> same = core.FftPlan(np.ones(100))
/// >>> core.plan_cache_info()
/// PlanCacheInfo(hits=1, misses=1, size=1, limit=16, device_memory=0)
#[pyfunction]
pub(crate) fn plan_cache_info() -> PyPlanCacheInfo {
    let cache::Info { hits, misses, size, limit, device_memory } = cache::info();
    PyPlanCacheInfo { hits, misses, size, limit, device_memory }
}

/// Drop the calling thread's cached plans and set its counts to zero.
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

/// Set how many plans each thread keeps for each device; 0 switches the cache off.
///
/// Parameters
/// ----------
/// limit : int
///     Number of plans; the CPU counts as one device. The calling thread drops what is over it at
///     once, the others when they next plan.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> limit = core.plan_cache_info().limit
/// >>> core.set_plan_cache_limit(100)
/// >>> core.set_plan_cache_limit(limit)
#[pyfunction]
pub(crate) fn set_plan_cache_limit(py: Python<'_>, limit: usize) {
    release_gil(py, || cache::set_limit(limit));
}
