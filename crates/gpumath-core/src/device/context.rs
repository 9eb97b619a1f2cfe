//! The devices' primary contexts, and the guard that makes one of them current.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpumath_sys::generated::driver;

use super::device::Device;
use super::driver::initialise;
use crate::error::{Error, Result};
use crate::status::{call, check_sticky};

const MAX_DEVICES: usize = 64;

/// The retained primary contexts, by ordinal; 0 for a device that was not used yet.
static CONTEXTS: [AtomicUsize; MAX_DEVICES] = [const { AtomicUsize::new(0) }; MAX_DEVICES];

/// Returns the primary context of a device. The first call for a device retains it.
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
    // Two threads may both retain the context, which only increases a count that is never
    // decreased.
    // SAFETY: the driver writes one context handle to `context`, a live `usize`.
    unsafe {
        call!(driver::DEVICE_PRIMARY_CTX_RETAIN, &raw mut context as usize, device.handle())
    }?;
    slot.store(context, Ordering::Release);
    Ok(context)
}

/// Returns whether the primary context of a device is the calling thread's current one.
pub fn is_current(ordinal: i32) -> Result<bool> {
    Ok(current()? == primary_context(ordinal)?)
}

/// Returns the calling thread's current context; 0 if there is none.
fn current() -> Result<usize> {
    let mut current = 0_usize;
    // SAFETY: the driver writes one context handle to `current`, a live `usize`.
    let answer = unsafe { call!(driver::CTX_GET_CURRENT, &raw mut current as usize) };
    // In a forked child the driver only says that it is not initialised; `initialise` knows why.
    answer.map_err(|error| initialise().err().unwrap_or(error))?;
    Ok(current)
}

/// Keeps a device's primary context current in the calling thread. Dropping the guard restores the
/// former context.
///
/// A reference to the innermost guard is the proof that functions ending with `_in` ask for.
#[derive(Debug)]
pub struct ContextGuard {
    device: i32,
    pushed: bool,
    /// A context is current in one thread only, so the guard must not be sent to another.
    thread: PhantomData<*const ()>,
}

impl ContextGuard {
    /// Makes the primary context of a device current, which costs one call of the driver if it is
    /// current already. Fails with `Error::Sticky` once CUDA cannot be used any more.
    pub fn enter(ordinal: i32) -> Result<Self> {
        check_sticky()?;
        let context = primary_context(ordinal)?;
        if current()? == context {
            return Ok(Self { device: ordinal, pushed: false, thread: PhantomData });
        }
        Self::push(ordinal, context)
    }

    /// Like [`Self::enter`], but pushes the context even if it is current already. Dropping the
    /// guard then restores the caller's context after calls that leave another one current, as
    /// cuFFT Xt's do.
    pub(crate) fn enter_pushed(ordinal: i32) -> Result<Self> {
        check_sticky()?;
        let context = primary_context(ordinal)?;
        // In a forked child this fails with the reason; pushing would not.
        current()?;
        Self::push(ordinal, context)
    }

    fn push(device: i32, context: usize) -> Result<Self> {
        // SAFETY: `context` comes from `primary_context`, which retained it and never releases it.
        unsafe { call!(driver::CTX_PUSH_CURRENT, context) }?;
        Ok(Self { device, pushed: true, thread: PhantomData })
    }

    /// Returns the ordinal of the device whose context is current.
    #[must_use]
    pub const fn device(&self) -> i32 {
        self.device
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if self.pushed {
            let mut context = 0_usize;
            // A destructor cannot report the error, so it is ignored.
            // SAFETY: the driver writes one context handle to `context`, a live `usize`.
            let _ = unsafe { call!(driver::CTX_POP_CURRENT, &raw mut context as usize) };
        }
    }
}
