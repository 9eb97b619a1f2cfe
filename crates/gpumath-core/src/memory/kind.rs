//! The kinds of memory that an array can be in, and how each is allocated and freed.

use std::alloc::{self, Layout};

use gpumath_sys::generated::driver;

use super::ALIGNMENT;
use super::manager::BaseCUDAMemoryManager;
use super::pointer::MemoryPointer;
use super::pool::StreamOrderedPool;
use crate::device::{ContextGuard, StreamRef, may_call_cuda_in_drop};
use crate::error::{Error, Result};
use crate::status::call;

/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`: page-locked for all contexts, and mapped
/// into the address space of the devices.
const PORTABLE_AND_MAPPED: u32 = 3;
/// `CU_MEM_ATTACH_GLOBAL`: any stream of any device may use the memory.
const ATTACH_GLOBAL: u32 = 1;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Ordinary (pageable) host memory.
    Host,
    /// Page-locked host memory, which a device can reach too.
    Pinned,
    /// Unified memory, whose pages move to where they are used.
    Managed,
    /// Memory of a device.
    Device,
}

impl MemoryKind {
    /// Allocates `size` bytes of this kind, aligned to [`ALIGNMENT`]. Dropping the result frees
    /// device memory in the order of `stream`, blocks on `stream` before it frees pinned or managed
    /// memory, and frees host memory at once. `stream` is ignored for [`MemoryKind::Host`].
    pub fn allocate(self, size: usize, stream: StreamRef) -> Result<MemoryPointer> {
        match self {
            Self::Host => host(size),
            Self::Device => StreamOrderedPool::of(stream.device())?.memalloc(size, stream),
            Self::Pinned => {
                let _context = ContextGuard::enter(stream.device())?;
                let mut address = 0_usize;
                // SAFETY: the driver writes one address to `address`, a live `usize`.
                let status = unsafe {
                    call!(
                        driver::MEM_HOST_ALLOC,
                        &raw mut address as usize,
                        size.max(1) as _,
                        PORTABLE_AND_MAPPED
                    )
                };
                status.map_err(|error| exhausted(error, size, "pinned host memory"))?;
                // SAFETY: the memory was allocated above by the function's counterpart, and is
                // freed once.
                let free = move || unsafe { call!(driver::MEM_FREE_HOST, address) };
                Ok(freed_after_stream(address, size, stream, free))
            }
            Self::Managed => {
                let _context = ContextGuard::enter(stream.device())?;
                let mut address = 0_usize;
                // SAFETY: the driver writes one address to `address`, a live `usize`.
                let status = unsafe {
                    call!(
                        driver::MEM_ALLOC_MANAGED,
                        &raw mut address as usize,
                        size.max(1) as _,
                        ATTACH_GLOBAL
                    )
                };
                status.map_err(|error| exhausted(error, size, "managed memory"))?;
                // SAFETY: the memory was allocated above by the function's counterpart, and is
                // freed once.
                let free = move || unsafe { call!(driver::MEM_FREE, address) };
                Ok(freed_after_stream(address, size, stream, free))
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
    // SAFETY: the layout's size is at least 1.
    let block = unsafe { alloc::alloc(layout) } as usize;
    if block == 0 {
        return Err(exhausted());
    }
    // SAFETY: the block was allocated above with this layout, and is freed once.
    let free = move || unsafe { alloc::dealloc(block as *mut u8, layout) };
    Ok(MemoryPointer::new(block, size, Some(Box::new(free))))
}

/// Makes a block of memory that the driver frees at once, so that dropping it blocks until the
/// stream's work is done. If that fails, because the stream is being captured or the context is
/// broken, the memory is not freed: something may still use it.
fn freed_after_stream(
    address: usize,
    size: usize,
    stream: StreamRef,
    free: impl FnOnce() -> Result<()> + Send + Sync + 'static,
) -> MemoryPointer {
    let finalizer = move || {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(stream.device())
            && stream.synchronize().is_ok()
        {
            let _ = free();
        }
    };
    MemoryPointer::new(address, size, Some(Box::new(finalizer))).in_order_of(stream, false)
}
