//! The devices' primary contexts.

use std::sync::atomic::{AtomicUsize, Ordering};

use gpumath_sys::generated::driver;

use super::device::Device;
use super::driver::{call, initialise};
use super::sticky;
use crate::error::{Error, Result};

const MAX_DEVICES: usize = 64;

/// The retained primary contexts, by ordinal; 0 where it was not asked for yet.
static CONTEXTS: [AtomicUsize; MAX_DEVICES] = [const { AtomicUsize::new(0) }; MAX_DEVICES];

/// The primary context of a device.
pub(crate) fn primary_context(ordinal: i32) -> Result<usize> {
    let slot = usize::try_from(ordinal).ok().and_then(|index| CONTEXTS.get(index));
    let Some(slot) = slot else {
        return Err(Error::NoDevice(format!("there is no CUDA device {ordinal}")));
    };
    match slot.load(Ordering::Acquire) {
        0 => {}
        context => return Ok(context),
    }
    let device = Device::new(ordinal)?;
    let mut context = 0_usize;
    // SAFETY: the address is that of a live usize. Two threads may both retain it, which only counts up.
    unsafe {
        call!(driver::DEVICE_PRIMARY_CTX_RETAIN, &raw mut context as usize, device.handle())
    }?;
    slot.store(context, Ordering::Release);
    Ok(context)
}

/// Whether the primary context of a device is the calling thread's current one.
pub fn is_current(ordinal: i32) -> Result<bool> {
    Ok(current()? == primary_context(ordinal)?)
}

/// The calling thread's current context; 0 if there is none.
fn current() -> Result<usize> {
    let mut current = 0_usize;
    // SAFETY: the address is that of a live usize.
    let answer = unsafe { call!(driver::CTX_GET_CURRENT, &raw mut current as usize) };
    // In a forked child the driver only says that it was not started; `initialise` knows why.
    answer.map_err(|error| initialise().err().unwrap_or(error))?;
    Ok(current)
}

/// A device's primary context is the calling thread's current one while this lives; then the former one is again.
#[derive(Debug)]
pub struct ContextGuard {
    pushed: bool,
}

impl ContextGuard {
    /// Makes the primary context of a device current; `Error::Sticky` once CUDA cannot be used any more.
    pub fn enter(ordinal: i32) -> Result<Self> {
        sticky::check()?;
        let context = primary_context(ordinal)?;
        if current()? == context {
            return Ok(Self { pushed: false });
        }
        Self::push(context)
    }

    /// The same around calls that leave another context current: also where the device's is the current one already.
    pub(crate) fn enter_pushed(ordinal: i32) -> Result<Self> {
        sticky::check()?;
        let context = primary_context(ordinal)?;
        // Tells a forked child why it cannot.
        current()?;
        Self::push(context)
    }

    fn push(context: usize) -> Result<Self> {
        // SAFETY: the context is retained.
        unsafe { call!(driver::CTX_PUSH_CURRENT, context) }?;
        Ok(Self { pushed: true })
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if self.pushed {
            let mut context = 0_usize;
            // SAFETY: the address is that of a live usize. A failure leaves nothing that could be mended here.
            let _ = unsafe { call!(driver::CTX_POP_CURRENT, &raw mut context as usize) };
        }
    }
}
