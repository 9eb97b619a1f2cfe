//! Devices and their primary contexts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use gpumath_sys::generated::driver;

use super::driver::{call, count, initialise};
use super::sticky;
use crate::error::{Error, Result};

const MAX_DEVICES: usize = 64;
const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
const COMPUTE_CAPABILITY_MINOR: i32 = 76;

/// The retained primary contexts, by ordinal; 0 where it was not asked for yet.
static CONTEXTS: [AtomicUsize; MAX_DEVICES] = [const { AtomicUsize::new(0) }; MAX_DEVICES];

/// A CUDA device that this process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    ordinal: i32,
    handle: i32,
}

impl Device {
    /// The device with this ordinal.
    pub fn new(ordinal: i32) -> Result<Self> {
        initialise()?;
        let count = count()?;
        if !(0..count).contains(&ordinal) {
            return Err(Error::NoDevice(format!(
                "there is no CUDA device {ordinal}; this process sees {count}, numbered from 0"
            )));
        }
        let mut handle = 0_i32;
        // SAFETY: the address is that of a live i32.
        unsafe { call!(driver::DEVICE_GET, &raw mut handle as usize, ordinal) }?;
        Ok(Self { ordinal, handle })
    }

    /// Its ordinal.
    #[must_use]
    pub const fn ordinal(self) -> i32 {
        self.ordinal
    }

    /// Its name, such as `"NVIDIA H200"`.
    pub fn name(self) -> Result<String> {
        let mut text = [0_u8; 256];
        // SAFETY: the address and the length are those of a live array.
        unsafe {
            call!(
                driver::DEVICE_GET_NAME,
                text.as_mut_ptr() as usize,
                text.len() as i32,
                self.handle
            )
        }?;
        let length = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }

    /// Its compute capability, as major and minor number.
    pub fn compute_capability(self) -> Result<(i32, i32)> {
        Ok((self.attribute(COMPUTE_CAPABILITY_MAJOR)?, self.attribute(COMPUTE_CAPABILITY_MINOR)?))
    }

    fn attribute(self, attribute: i32) -> Result<i32> {
        let mut value = 0_i32;
        // SAFETY: the address is that of a live i32.
        unsafe {
            call!(driver::DEVICE_GET_ATTRIBUTE, &raw mut value as usize, attribute, self.handle)
        }?;
        Ok(value)
    }

    /// Bytes of memory it has.
    pub fn total_memory(self) -> Result<usize> {
        let mut size = 0_usize;
        // SAFETY: the address is that of a live usize.
        unsafe { call!(driver::DEVICE_TOTAL_MEM, &raw mut size as usize, self.handle) }?;
        Ok(size)
    }

    /// Bytes that are free now, and bytes in all.
    pub fn memory_info(self) -> Result<(usize, usize)> {
        let _context = ContextGuard::enter(self.ordinal)?;
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: the addresses are those of live usizes.
        unsafe { call!(driver::MEM_GET_INFO, &raw mut free as usize, &raw mut total as usize) }?;
        Ok((free, total))
    }

    /// Waits for all work of the device's primary context.
    pub fn synchronize(self) -> Result<()> {
        let _context = ContextGuard::enter(self.ordinal)?;
        // SAFETY: no arguments.
        unsafe { call!(driver::CTX_SYNCHRONIZE) }
    }

    /// Waits as [`Self::synchronize`] does, on a thread of its own, since the driver cannot be asked whether a context
    /// is idle. The answer comes to the receiver; who drops that leaves the wait.
    #[must_use]
    pub fn synchronize_apart(self) -> Receiver<Result<()>> {
        let (sender, receiver) = mpsc::channel();
        let waiting = sender.clone();
        let wait = move || {
            // Nobody may be there to hear it any more.
            let _ = waiting.send(self.synchronize());
        };
        if thread::Builder::new().name("gpumath-wait".into()).spawn(wait).is_err() {
            let _ = sender.send(self.synchronize());
        }
        receiver
    }
}

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
    unsafe { call!(driver::DEVICE_PRIMARY_CTX_RETAIN, &raw mut context as usize, device.handle) }?;
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
    pub(crate) fn enter_for_others(ordinal: i32) -> Result<Self> {
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
