//! A CUDA device: its properties, and waiting for all its work.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use gpumath_sys::generated::driver;

use super::context::ContextGuard;
use super::driver::{count, initialise};
use crate::error::{Error, Result};
use crate::status::call;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`, `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`
const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
const COMPUTE_CAPABILITY_MINOR: i32 = 76;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSOR_COUNT: i32 = 16;

/// `CU_DEVICE_ATTRIBUTE_CLOCK_RATE`, `CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE`, in kHz, and
/// `CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH`, in bits
const CLOCK_RATE: i32 = 13;
const MEMORY_CLOCK_RATE: i32 = 36;
const MEMORY_BUS_WIDTH: i32 = 37;

/// A CUDA device that this process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    ordinal: i32,
    handle: i32,
}

impl Device {
    /// Returns the device with this ordinal; fails with `NoDevice` if this process does not see it.
    pub fn new(ordinal: i32) -> Result<Self> {
        initialise()?;
        let count = count()?;
        if !(0..count).contains(&ordinal) {
            return Err(Error::NoDevice(format!(
                "there is no CUDA device {ordinal}; this process sees {count}, numbered from 0"
            )));
        }
        let mut handle = 0_i32;
        // SAFETY: the driver writes one `CUdevice` to `handle`, a live `i32`.
        unsafe { call!(driver::DEVICE_GET, &raw mut handle as usize, ordinal) }?;
        Ok(Self { ordinal, handle })
    }

    /// Returns the ordinal, counted from 0.
    #[must_use]
    pub const fn ordinal(self) -> i32 {
        self.ordinal
    }

    /// Returns the `CUdevice`.
    pub(super) const fn handle(self) -> i32 {
        self.handle
    }

    /// Returns the name, such as `"NVIDIA H200"`.
    pub fn name(self) -> Result<String> {
        let mut text = [0_u8; 256];
        // SAFETY: the driver writes at most `text.len()` bytes to `text`, which lives until after
        // the call.
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

    /// Returns the compute capability, as major and minor number.
    pub fn compute_capability(self) -> Result<(i32, i32)> {
        Ok((self.attribute(COMPUTE_CAPABILITY_MAJOR)?, self.attribute(COMPUTE_CAPABILITY_MINOR)?))
    }

    /// Returns the number of multiprocessors.
    pub fn multiprocessors(self) -> Result<i32> {
        self.attribute(MULTIPROCESSOR_COUNT)
    }

    /// Returns how many bytes the memory moves, at best, in a cycle of one multiprocessor. It moves
    /// bits twice in each cycle of its own.
    pub(crate) fn bytes_per_cycle(self) -> Result<f64> {
        let read = |attribute| Ok(f64::from(self.attribute(attribute)?));
        let moved = read(MEMORY_CLOCK_RATE)? * read(MEMORY_BUS_WIDTH)? / 4.0;
        let cycles = read(CLOCK_RATE)? * read(MULTIPROCESSOR_COUNT)?;
        if moved > 0.0 && cycles > 0.0 {
            Ok(moved / cycles)
        } else {
            Err(Error::InvalidState("the device does not say how fast its memory is".into()))
        }
    }

    fn attribute(self, attribute: i32) -> Result<i32> {
        let mut value = 0_i32;
        // SAFETY: the driver writes one number to `value`, a live `i32`.
        unsafe {
            call!(driver::DEVICE_GET_ATTRIBUTE, &raw mut value as usize, attribute, self.handle)
        }?;
        Ok(value)
    }

    /// Returns the bytes of memory that the device has.
    pub fn total_memory(self) -> Result<usize> {
        let mut size = 0_usize;
        // SAFETY: the driver writes one size to `size`, a live `usize`.
        unsafe { call!(driver::DEVICE_TOTAL_MEM, &raw mut size as usize, self.handle) }?;
        Ok(size)
    }

    /// Returns the bytes of memory that are free now, and the bytes in all.
    pub fn memory_info(self) -> Result<(usize, usize)> {
        let _context = ContextGuard::enter(self.ordinal)?;
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: the driver writes one size each to `free` and `total`, live `usize`s.
        unsafe { call!(driver::MEM_GET_INFO, &raw mut free as usize, &raw mut total as usize) }?;
        Ok((free, total))
    }

    /// Returns the bytes of memory that are free now on these devices together.
    pub(crate) fn free_memory(ordinals: &[i32]) -> Result<usize> {
        ordinals.iter().map(|&ordinal| Ok(Self::new(ordinal)?.memory_info()?.0)).sum()
    }

    /// Blocks until all work of the device's primary context is done.
    pub fn synchronize(self) -> Result<()> {
        let _context = ContextGuard::enter(self.ordinal)?;
        // SAFETY: the function has no arguments, and `_context` keeps a context current.
        unsafe { call!(driver::CTX_SYNCHRONIZE) }
    }

    /// Starts a thread that synchronizes with the device, and returns where its answer arrives.
    /// Dropping the receiver abandons the wait, but not the work. A thread is needed because the
    /// driver cannot be asked whether a context is idle. If none can be started, this function
    /// itself blocks.
    #[must_use]
    pub fn spawn_synchronize(self) -> Receiver<Result<()>> {
        let (sender, receiver) = mpsc::channel();
        let waiting = sender.clone();
        let wait = move || {
            // The receiver may have been dropped.
            let _ = waiting.send(self.synchronize());
        };
        if thread::Builder::new().name("gpumath-wait".into()).spawn(wait).is_err() {
            let _ = sender.send(self.synchronize());
        }
        receiver
    }
}
