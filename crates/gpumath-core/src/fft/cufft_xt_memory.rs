//! The memory in which cuFFT Xt works.

use gpumath_sys::generated::{cufft, driver};

use crate::device::{ContextGuard, call, may_call_cuda_in_drop};
use crate::error::Result;
use crate::loader;

/// An owned `cudaLibXtDesc`.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) address: usize,
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
    /// Address and size of a part, and the device that has it.
    pub(super) fn part(&self, index: usize) -> (usize, usize, i32) {
        // SAFETY: cuFFT made both structures, of these declared types, and they live as long as self.
        let parts = unsafe { &*(*(self.address as *const LibXtDesc)).descriptor };
        (parts.data[index], parts.sizes[index], parts.ordinals[index])
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let (Ok(_context), Ok(free)) =
                (ContextGuard::enter_pushed(self.device), loader::function(&cufft::XT_FREE))
        {
            // SAFETY: the descriptor is owned and not used again; all work on it was waited for.
            let _ = unsafe { free(self.address) };
        }
    }
}

/// Memory of one device for a plan to work in.
#[derive(Debug)]
pub(super) struct WorkArea {
    pub(super) address: usize,
    pub(super) device: i32,
}

impl WorkArea {
    pub(super) fn new(device: i32, size: usize) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let mut address = 0_usize;
        // SAFETY: the address is that of a live usize.
        unsafe { call!(driver::MEM_ALLOC, &raw mut address as usize, size.max(1) as _) }?;
        Ok(Self { address, device })
    }
}

impl Drop for WorkArea {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // SAFETY: allocated by `new`, and freed once; the driver waits for what uses it.
            let _ = unsafe { call!(driver::MEM_FREE, self.address) };
        }
    }
}
