//! The memory in which cuFFT Xt works: the parts of the data, which cuFFT allocates, and the work
//! areas.

use gpumath_sys::generated::{cufft, driver};

use crate::device::{ContextGuard, may_call_cuda_in_drop};
use crate::error::Result;
use crate::status::call;

/// An owned `cudaLibXtDesc`: one part of the data on each device. Dropping it frees the parts.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) address: usize,
    /// The first of the devices.
    pub(super) device: i32,
}

/// `cudaLibXtDesc`
#[repr(C)]
struct LibXtDesc {
    version: i32,
    descriptor: *const XtDesc,
    library: i32,
    format: i32,
    own: usize,
}

/// `cudaXtDesc`
#[repr(C)]
struct XtDesc {
    version: i32,
    count: i32,
    ordinals: [i32; 64],
    data: [usize; 64],
    sizes: [usize; 64],
    state: usize,
}

impl Descriptor {
    /// Returns the address and the size of a part, and the device that has it.
    pub(super) fn part(&self, index: usize) -> (usize, usize, i32) {
        // SAFETY: `cufftXtMalloc` made both structures, of these declared types, and they live
        // until `drop` frees them.
        let parts = unsafe { &*(*(self.address as *const LibXtDesc)).descriptor };
        (parts.data[index], parts.sizes[index], parts.ordinals[index])
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter_pushed(self.device)
        {
            // A destructor cannot report the error, so it is ignored.
            // SAFETY: `self` owns the descriptor, which is not used after this. Each execution
            // waits for its work.
            let _ = unsafe { call!(cufft::XT_FREE, self.address) };
        }
    }
}

/// The work area of a plan on one device. Dropping it frees the memory, which blocks until the work
/// with it is done.
///
/// It is a plain allocation, because peers can access the memory of a pool only where the pool
/// grants that.
#[derive(Debug)]
pub(super) struct WorkArea {
    pub(super) address: usize,
    pub(super) device: i32,
}

impl WorkArea {
    /// Allocates `size` bytes.
    pub(super) fn new(device: i32, size: usize) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut address = 0_usize;
        // SAFETY: the driver writes one address to `address`, a live `usize`.
        unsafe { call!(driver::MEM_ALLOC, &raw mut address as usize, size.max(1) as _) }?;
        Ok(Self { address, device })
    }
}

impl Drop for WorkArea {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // SAFETY: `new` allocated the memory, and it is freed once; the driver waits for the
            // work that uses it.
            let _ = unsafe { call!(driver::MEM_FREE, self.address) };
        }
    }
}
