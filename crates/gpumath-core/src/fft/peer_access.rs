//! Manages peer access between devices for cuFFT Xt, and when plans of cuFFT Xt are created and
//! destroyed.
//!
//! Without peer access, copies from one device to another go through host memory. cuFFT enables
//! peer access when it creates a plan for several devices, and disables it when it destroys one,
//! also for the plans that remain, in any thread. So:
//!
//! 1. An execution holds the lock for reading, and enables peer access itself
//!    ([`PeerAccessGuard`]), also to gpumath's pool on the operand's device. So does a split batch
//!    whose operand is on a device, because copies between devices are direct only with peer
//!    access.
//! 2. A plan is created and destroyed only while the lock is held for writing, that is, while no
//!    execution runs.
//! 3. Whoever drops a plan does not wait for the lock, because that thread may hold what an
//!    execution needs. The plan is put into a list, which the last execution works off.
//! 4. Whoever destroys a plan enables peer access again, because other libraries may count on it.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use gpumath_sys::generated::cufft;

use crate::device::{ContextGuard, Devices, may_call_cuda_in_drop};
use crate::error::Result;
use crate::memory::grant_peer_access;
use crate::process::PerProcess;
use crate::status::call;
use crate::tensor::MemoryLocation;

/// Read by executions, written by who creates or destroys a plan.
static EXECUTIONS: PerProcess<RwLock<()>> = PerProcess::new();

/// Plans that are not used any more, but not destroyed yet.
static UNUSED: PerProcess<Mutex<Vec<(i32, Devices)>>> = PerProcess::new();

/// Keeps peer access enabled between devices. Dropping it destroys unused plans, if no other
/// execution runs.
pub(super) struct PeerAccessGuard(Option<RwLockReadGuard<'static, ()>>);

impl PeerAccessGuard {
    /// Enables peer access between the devices, also to gpumath's pool of the one that has the
    /// operand and the result, if `location` is a device. Blocks while a plan is created or
    /// destroyed.
    pub(super) fn new(devices: Devices, location: MemoryLocation) -> Result<Self> {
        let guard = Self(Some(executions().read().unwrap_or_else(PoisonError::into_inner)));
        devices.enable_peer_access()?;
        if let MemoryLocation::Device(device) = location {
            for &peer in devices.ordinals().iter().filter(|&&peer| peer != device) {
                grant_peer_access(device, peer);
            }
        }
        Ok(guard)
    }
}

impl Drop for PeerAccessGuard {
    fn drop(&mut self) {
        drop(self.0.take());
        destroy_unused();
    }
}

/// Creates a plan. Blocks until no execution runs.
pub(super) fn create<T>(plan: impl FnOnce() -> T) -> T {
    let alone = executions().write().unwrap_or_else(PoisonError::into_inner);
    let created = plan();
    drop(alone);
    destroy_unused();
    created
}

/// Destroys a plan now if no execution runs, otherwise after the last one. Does not wait for that.
pub(super) fn destroy_when_idle(plan: i32, devices: Devices) {
    if may_call_cuda_in_drop() {
        UNUSED.lock().push((plan, devices));
        destroy_unused();
    }
}

fn executions() -> &'static RwLock<()> {
    EXECUTIONS.get(RwLock::default)
}

fn destroy_unused() {
    while may_call_cuda_in_drop() && !UNUSED.lock().is_empty() {
        let _alone = match executions().try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            // Whoever holds the lock calls this function afterwards.
            Err(TryLockError::WouldBlock) => return,
        };
        let plans = std::mem::take(&mut *UNUSED.lock());
        for (plan, devices) in plans {
            if let Ok(_context) = ContextGuard::enter_pushed(devices.first()) {
                // A failure leaves the plan to the end of the process.
                // SAFETY: the plan's owner was dropped, and the list had the plan once, so it is
                // not used after this.
                let _ = unsafe { call!(cufft::DESTROY, plan) };
                let _ = devices.enable_peer_access();
            }
        }
    }
}
