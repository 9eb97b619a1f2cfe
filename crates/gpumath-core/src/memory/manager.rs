//! The protocol of memory managers.

use super::pointer::MemoryPointer;
use crate::error::Result;

/// What can allocate device memory. The Python protocol of the same name is its duck-typed counterpart.
pub trait BaseCUDAMemoryManager: Send + Sync {
    /// `size` bytes of device memory, usable in the order of `stream`, aligned to [`super::ALIGNMENT`].
    ///
    /// # Safety
    /// `stream` is a valid stream handle of the manager's device and outlives the memory.
    unsafe fn memalloc(&self, size: usize, stream: usize) -> Result<MemoryPointer>;
}
