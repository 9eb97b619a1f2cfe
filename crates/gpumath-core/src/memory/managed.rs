//! Where managed memory is, and what the driver is told about its use.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, call};
use crate::error::Result;

/// `CU_DEVICE_CPU`
const HOST_ORDINAL: i32 = -1;

/// Where managed memory is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Host memory.
    Host,
    /// Memory of the device with this ordinal.
    Device(i32),
}

impl Location {
    /// `CUdevice`. Every driver has the functions that take it; those that take a `CUmemLocation` came with CUDA 12.4.
    fn ordinal(self) -> i32 {
        match self {
            Self::Host => HOST_ORDINAL,
            Self::Device(ordinal) => ordinal,
        }
    }
}

/// What the driver is told about the use of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It is read much more often than written: every reader may have a copy.
    ReadMostly,
    /// Where its pages should be.
    PreferredLocation,
    /// It is used from there: keep it mapped.
    AccessedBy,
}

/// Moves `size` bytes of managed memory to a place, in the order of `stream`.
///
/// # Safety
/// The range is managed memory; `stream` is a valid stream handle of `device`.
pub unsafe fn prefetch(
    address: usize,
    size: usize,
    place: Location,
    device: i32,
    stream: usize,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for range and stream.
    unsafe { call!(driver::MEM_PREFETCH_ASYNC_V1, address, size as _, place.ordinal(), stream) }
}

/// Gives or, unless `on`, takes back an advice about `size` bytes of managed memory.
///
/// # Safety
/// The range is managed memory.
pub unsafe fn advise(
    address: usize,
    size: usize,
    advice: Advice,
    on: bool,
    place: Location,
    device: i32,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // `CUmem_advise`: each advice is followed by the number that takes it back.
    let number = i32::from(!on)
        + match advice {
            Advice::ReadMostly => 1,
            Advice::PreferredLocation => 3,
            Advice::AccessedBy => 5,
        };
    // SAFETY: the caller vouches for the range.
    unsafe { call!(driver::MEM_ADVISE_V1, address, size as _, number, place.ordinal()) }
}
