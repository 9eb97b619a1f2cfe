//! When several devices reach each other's memory, and when plans of cuFFT Xt are made and destroyed.
//!
//! Copies from one device to another go through host memory otherwise. cuFFT lets devices reach each other's memory with
//! each plan that it makes for them. With a plan that it destroys, it takes that from the plans of all threads.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use gpumath_sys::generated::cufft;

use crate::device::{ContextGuard, Devices, may_call_cuda_in_drop};
use crate::error::Result;
use crate::loader;
use crate::memory::grant_peer_access;

/// Shared by executions.
static CONNECTED: RwLock<()> = RwLock::new(());

/// Plans that nobody uses any more.
static UNUSED: Mutex<Vec<(i32, Devices)>> = Mutex::new(Vec::new());

/// While it lives, the devices reach each other's memory.
pub(super) struct PeerAccessGuard(Option<RwLockReadGuard<'static, ()>>);

impl PeerAccessGuard {
    /// `place` is the one of them that has the operand and the result, if it is not the host.
    pub(super) fn new(devices: Devices, place: Option<i32>) -> Result<Self> {
        let connected = Self(Some(CONNECTED.read().unwrap_or_else(PoisonError::into_inner)));
        devices.enable_peer_access()?;
        if let Some(place) = place {
            for &other in devices.ordinals().iter().filter(|&&other| other != place) {
                grant_peer_access(other, place);
            }
        }
        Ok(connected)
    }
}

impl Drop for PeerAccessGuard {
    fn drop(&mut self) {
        drop(self.0.take());
        destroy_unused();
    }
}

/// Makes a plan, while none is executed.
pub(super) fn make<T>(plan: impl FnOnce() -> T) -> T {
    let alone = CONNECTED.write().unwrap_or_else(PoisonError::into_inner);
    let made = plan();
    drop(alone);
    destroy_unused();
    made
}

/// Destroys a plan as soon as none is executed. It does not wait for that: the caller may hold what another one needs.
pub(super) fn destroy(plan: i32, devices: Devices) {
    if may_call_cuda_in_drop() {
        unused().push((plan, devices));
        destroy_unused();
    }
}

fn unused() -> MutexGuard<'static, Vec<(i32, Devices)>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn destroy_unused() {
    while may_call_cuda_in_drop() && !unused().is_empty() {
        let _alone = match CONNECTED.try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            // Whoever has it comes here afterwards.
            Err(TryLockError::WouldBlock) => return,
        };
        let plans = std::mem::take(&mut *unused());
        for (plan, devices) in plans {
            if let (Ok(_context), Ok(destroy)) =
                (ContextGuard::enter_pushed(devices.first()), loader::function(&cufft::DESTROY))
            {
                // SAFETY: the plan was owned and is not used again. A failure leaves nothing that could be mended here.
                let _ = unsafe { destroy(plan) };
                // Other libraries count on it, too.
                let _ = devices.enable_peer_access();
            }
        }
    }
}
