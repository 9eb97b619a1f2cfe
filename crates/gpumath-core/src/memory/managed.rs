//! Managed memory: moving its pages (prefetch), and advising the driver about its use.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::status::call;
use crate::tensor::MemoryLocation;

/// `CU_DEVICE_CPU`
const HOST_ORDINAL: i32 = -1;

/// Advice to the driver about the use of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The memory is read much more often than written, so each reader may have a copy.
    ReadMostly,
    /// The location is where the pages should be.
    PreferredLocation,
    /// The location accesses the memory, so it should stay mapped there.
    AccessedBy,
}

/// Returns the `CUdevice` of a location. Every driver has the functions that take it; those that
/// take a `CUmemLocation` came with CUDA 12.4.
const fn ordinal_of(location: MemoryLocation) -> i32 {
    match location {
        MemoryLocation::Host => HOST_ORDINAL,
        MemoryLocation::Device(ordinal) => ordinal,
    }
}

/// Enqueues on `stream` that `size` bytes of managed memory move to `location`.
///
/// # Safety
/// The range is managed memory.
pub unsafe fn prefetch(
    address: usize,
    size: usize,
    location: MemoryLocation,
    stream: StreamRef,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(stream.device())?;
    let ordinal = ordinal_of(location);
    // SAFETY: the caller guarantees that the range is managed memory, and `StreamRef::new`'s that
    // the stream is valid.
    unsafe { call!(driver::MEM_PREFETCH_ASYNC_V1, address, size as _, ordinal, stream.handle()) }
}

/// Gives or, unless `on`, withdraws advice about `size` bytes of managed memory, in the context of
/// `device`.
///
/// # Safety
/// The range is managed memory.
pub unsafe fn advise(
    address: usize,
    size: usize,
    advice: Advice,
    on: bool,
    location: MemoryLocation,
    device: i32,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // `CUmem_advise`: the number that withdraws an advice follows the one that gives it.
    let number = i32::from(!on)
        + match advice {
            Advice::ReadMostly => 1,
            Advice::PreferredLocation => 3,
            Advice::AccessedBy => 5,
        };
    // SAFETY: the caller guarantees that the range is managed memory.
    unsafe { call!(driver::MEM_ADVISE_V1, address, size as _, number, ordinal_of(location)) }
}
