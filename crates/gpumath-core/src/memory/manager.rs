//! The protocol of memory managers.

use super::pointer::MemoryPointer;
use crate::device::StreamRef;
use crate::error::Result;

/// An allocator of device memory. The Python protocol of the same name is its duck-typed
/// counterpart.
pub trait BaseCUDAMemoryManager: Send + Sync {
    /// Allocates `size` bytes of device memory, aligned to [`super::ALIGNMENT`], for use in the
    /// order of `stream`, a stream of the manager's device.
    fn memalloc(&self, size: usize, stream: StreamRef) -> Result<MemoryPointer>;

    /// Whether freed memory is lent again only in the order of its stream. If not, whoever frees it
    /// waits for the stream first.
    fn follows_streams(&self) -> bool {
        true
    }
}
