//! One plan of the library, and the batch dimensions that the library could not take into it.

use std::ffi::{c_int, c_void};
use std::num::NonZeroUsize;

use super::api::{
    DESTROY_INPUT, ESTIMATE, Execute, FftwApi, IoDim64, PRESERVE_INPUT, RawPlan, UNALIGNED,
    with_planner_lock,
};
use crate::tensor::{BatchDim, BatchDims, Layout};

/// The kind of a plan; complex kinds with the sign of the exponent.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlanKind {
    C2C(c_int),
    InPlace(c_int),
    R2C,
    C2R,
}

/// What a plan is made for: transforms along `axes`, from one layout to another.
#[derive(Clone, Copy)]
pub(super) struct PlanRequest<'a> {
    pub(super) axes: &'a [usize],
    pub(super) from: &'a Layout,
    pub(super) to: &'a Layout,
    pub(super) kind: PlanKind,
}

/// A plan of the library, which is executed once for each batch entry outside of it. Dropping it
/// destroys the plan.
pub(super) struct FftwPlan {
    raw: RawPlan,
    execute: Execute,
    destroy: unsafe extern "C" fn(RawPlan),
    /// The batch dimensions outside of the plan.
    outer: BatchDims<2>,
    /// Bytes of an element of the input.
    from_size: isize,
    /// Bytes of an element of the output.
    to_size: isize,
}

// SAFETY: FFTW's interface lets any thread execute or destroy a plan, the latter under the lock of
// the planner, which `drop` takes.
unsafe impl Send for FftwPlan {}
// SAFETY: FFTW's interface lets several threads execute one plan at once.
unsafe impl Sync for FftwPlan {}

impl FftwPlan {
    /// Makes a plan. Returns `None` if the library cannot. Some libraries take at most one batch
    /// dimension; the others then stay outside of the plan.
    pub(super) fn new(
        api: &FftwApi,
        request: &PlanRequest<'_>,
        threads: NonZeroUsize,
    ) -> Option<Self> {
        let mut batch = BatchDims::outside(request.axes, [request.from, request.to]);
        let (raw, outer) = match raw_plan(api, request, &batch, threads) {
            Some(raw) => (raw, BatchDims::default()),
            None if batch.len() > 1 => {
                let longest = batch.remove_longest()?;
                (raw_plan(api, request, &[longest], threads)?, batch)
            }
            None => return None,
        };
        let (execute, from_parts, to_parts) = match request.kind {
            PlanKind::C2C(_) | PlanKind::InPlace(_) => (api.execute_c2c, 2, 2),
            PlanKind::R2C => (api.execute_r2c, 1, 2),
            PlanKind::C2R => (api.execute_c2r, 2, 1),
        };
        Some(Self {
            raw,
            execute,
            destroy: api.destroy_plan,
            outer,
            from_size: api.real_size * from_parts,
            to_size: api.real_size * to_parts,
        })
    }

    /// Executes the plan for all batch entries.
    ///
    /// # Safety
    /// - The addresses are those of elements (0, …, 0) of memory in the layouts of the request, the
    ///   input readable and the output writable during the call, and used by no other thread.
    /// - They are equal if the plan is in place, and do not overlap otherwise.
    /// - The input of C2R is writable too, because the plan may overwrite it.
    pub(super) unsafe fn execute(&self, from: usize, to: usize) {
        let from = std::ptr::with_exposed_provenance_mut::<c_void>(from);
        let to = std::ptr::with_exposed_provenance_mut::<c_void>(to);
        for entry in 0..self.outer.count() {
            let [from_offset, to_offset] = self.outer.offsets(entry);
            // SAFETY: the plan takes any alignment. It and the batch entries cover the layouts, for
            // which the caller guarantees that the addresses are valid.
            unsafe {
                let from = from.byte_offset(from_offset as isize * self.from_size);
                let to = to.byte_offset(to_offset as isize * self.to_size);
                (self.execute)(self.raw, from, to);
            }
        }
    }
}

impl Drop for FftwPlan {
    fn drop(&mut self) {
        // SAFETY: the plan is alive, nobody executes it any more, and the lock is held.
        with_planner_lock(|| unsafe { (self.destroy)(self.raw) });
    }
}

/// Returns the library's plan with these batch dimensions, or `None` if it cannot make one.
fn raw_plan(
    api: &FftwApi,
    request: &PlanRequest<'_>,
    batch: &[BatchDim<2>],
    threads: NonZeroUsize,
) -> Option<RawPlan> {
    let (from, to) = (request.from, request.to);
    let axis = |&axis: &usize| IoDim64 {
        n: from.shape[axis] as isize,
        from: from.strides[axis] as isize,
        to: to.strides[axis] as isize,
    };
    let mut dims: Vec<IoDim64> = request.axes.iter().map(axis).collect();
    if let (PlanKind::C2R, Some(last), Some(&axis)) =
        (request.kind, dims.last_mut(), request.axes.last())
    {
        last.n = to.shape[axis] as isize;
    }
    let batch_dim = |dim: &BatchDim<2>| {
        let [from, to] = dim.strides;
        IoDim64 { n: dim.extent as isize, from: from as isize, to: to as isize }
    };
    let batch: Vec<IoDim64> = batch.iter().map(batch_dim).collect();
    let (rank, dims) = (c_int::try_from(dims.len()).ok()?, dims.as_ptr());
    let (count, batch) = (c_int::try_from(batch.len()).ok()?, batch.as_ptr());
    // With ESTIMATE the planner does not touch memory. It only compares the addresses.
    let from = std::ptr::without_provenance_mut(4096);
    let to = std::ptr::without_provenance_mut(8192);
    let flags = ESTIMATE | UNALIGNED;
    let raw = with_planner_lock(|| {
        // SAFETY: the dimensions outlive the calls, the types are those of the interface, and the
        // lock is held.
        unsafe {
            if let Some(plan_with_threads) = api.plan_with_threads {
                plan_with_threads(c_int::try_from(threads.get()).unwrap_or(c_int::MAX));
            }
            match request.kind {
                PlanKind::C2C(sign) => {
                    let flags = flags | PRESERVE_INPUT;
                    (api.plan_c2c)(rank, dims, count, batch, from, to, sign, flags)
                }
                PlanKind::InPlace(sign) => {
                    (api.plan_c2c)(rank, dims, count, batch, from, from, sign, flags)
                }
                PlanKind::R2C => {
                    (api.plan_r2c)(rank, dims, count, batch, from, to, flags | PRESERVE_INPUT)
                }
                PlanKind::C2R => {
                    (api.plan_c2r)(rank, dims, count, batch, from, to, flags | DESTROY_INPUT)
                }
            }
        }
    });
    (!raw.is_null()).then_some(raw)
}
