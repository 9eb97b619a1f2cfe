//! The spaces that the memory of an array can be in.

use std::alloc::{self, Layout};

use gpumath_sys::generated::driver;

use super::manager::BaseCUDAMemoryManager;
use super::pointer::MemoryPointer;
use super::pool::StreamOrderedPool;
use super::{ALIGNMENT, MemoryKind};
use crate::device::{ContextGuard, call, may_call_cuda_in_drop, synchronize};
use crate::error::{Error, Result};

/// Page-locked for all contexts, and mapped into the address space of the devices.
const PORTABLE_AND_MAPPED: u32 = 3;
/// Any stream of any device may use it.
const ATTACH_GLOBAL: u32 = 1;

impl MemoryKind {
    /// `size` bytes of this space, aligned to [`ALIGNMENT`], which go back when the last work that is on `stream` then
    /// is done. `device` does not matter for [`MemoryKind::Host`].
    ///
    /// # Safety
    /// `stream` is a valid stream handle of the device and outlives the memory.
    pub unsafe fn allocate(self, size: usize, device: i32, stream: usize) -> Result<MemoryPointer> {
        match self {
            Self::Host => host(size),
            // SAFETY: the caller vouches for the stream.
            Self::Device => unsafe { StreamOrderedPool::of(device)?.memalloc(size, stream) },
            Self::Pinned => {
                let _context = ContextGuard::enter(device)?;
                let mut address = 0_usize;
                // SAFETY: the address is that of a live usize.
                let status = unsafe {
                    call!(
                        driver::MEM_HOST_ALLOC,
                        &raw mut address as usize,
                        size.max(1) as _,
                        PORTABLE_AND_MAPPED
                    )
                };
                status.map_err(|error| exhausted(error, size, "pinned host memory"))?;
                // SAFETY: allocated above, and freed once.
                let free = move || unsafe { call!(driver::MEM_FREE_HOST, address) };
                Ok(after_stream(address, size, device, stream, free))
            }
            Self::Managed => {
                let _context = ContextGuard::enter(device)?;
                let mut address = 0_usize;
                // SAFETY: the address is that of a live usize.
                let status = unsafe {
                    call!(
                        driver::MEM_ALLOC_MANAGED,
                        &raw mut address as usize,
                        size.max(1) as _,
                        ATTACH_GLOBAL
                    )
                };
                status.map_err(|error| exhausted(error, size, "managed memory"))?;
                // SAFETY: allocated above, and freed once.
                let free = move || unsafe { call!(driver::MEM_FREE, address) };
                Ok(after_stream(address, size, device, stream, free))
            }
        }
    }
}

fn exhausted(error: Error, size: usize, what: &str) -> Error {
    match error {
        Error::OutOfMemory(_) => Error::OutOfMemory(format!(
            "there are no {size} bytes of {what} left; free some, or use smaller arrays"
        )),
        other => other,
    }
}

fn host(size: usize) -> Result<MemoryPointer> {
    let exhausted = || Error::OutOfMemory(format!("there are no {size} bytes of host memory"));
    let layout = Layout::from_size_align(size.max(1), ALIGNMENT)
        .map_err(|_: alloc::LayoutError| exhausted())?;
    // SAFETY: the size is not 0.
    let block = unsafe { alloc::alloc(layout) } as usize;
    if block == 0 {
        return Err(exhausted());
    }
    // SAFETY: allocated above with this layout, and freed once.
    let free = move || unsafe { alloc::dealloc(block as *mut u8, layout) };
    Ok(MemoryPointer::new(block, size, Some(Box::new(free))))
}

/// Memory that the driver can only free at once: the stream is waited for. Where that fails (the stream is captured into
/// a graph, or the context is broken), the memory is left, since something may still use it.
fn after_stream(
    address: usize,
    size: usize,
    device: i32,
    stream: usize,
    free: impl FnOnce() -> Result<()> + Send + Sync + 'static,
) -> MemoryPointer {
    let finalizer = move || {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(device)
            // SAFETY: the stream outlives the memory, as the caller of `allocate` vouched.
            && unsafe { synchronize(stream, device) }.is_ok()
        {
            let _ = free();
        }
    };
    MemoryPointer::new(address, size, Some(Box::new(finalizer))).in_order_of(stream, device, false)
}
