//! Devices.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::{call, count, initialise};
use crate::error::{Error, Result};

const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
const COMPUTE_CAPABILITY_MINOR: i32 = 76;

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

    /// Its `CUdevice`.
    pub(super) const fn handle(self) -> i32 {
        self.handle
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
    pub fn spawn_synchronize(self) -> Receiver<Result<()>> {
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
