//! A block of memory that frees itself.

use std::fmt;

use crate::device::{StreamRef, may_call_cuda_in_drop};

type Finalizer = Box<dyn FnOnce() + Send + Sync>;

/// A block of memory and the function that frees it. Dropping the block calls the function.
pub struct MemoryPointer {
    address: usize,
    size: usize,
    finalizer: Option<Finalizer>,
    order: Option<FreeOrder>,
}

/// The stream in whose order a block is freed.
#[derive(Clone, Copy)]
struct FreeOrder {
    stream: StreamRef,
    /// Whether the block was allocated while the stream was being captured, so that it belongs to
    /// the graph.
    in_graph: bool,
}

impl MemoryPointer {
    /// Takes charge of `size` bytes at `address`; `finalizer` is called once, when the block is
    /// dropped.
    #[must_use]
    pub fn new(address: usize, size: usize, finalizer: Option<Finalizer>) -> Self {
        Self { address, size, finalizer, order: None }
    }

    /// Records the stream in whose order the block is freed, and whether the block belongs to a
    /// graph that this stream is being captured into.
    #[must_use]
    pub(crate) fn in_order_of(mut self, stream: StreamRef, in_graph: bool) -> Self {
        self.order = Some(FreeOrder { stream, in_graph });
        self
    }

    /// Returns whether the block must not be dropped now: its stream is being captured, and the
    /// graph would free memory that does not belong to it.
    #[must_use]
    pub fn waits_for_capture(&self) -> bool {
        let Some(FreeOrder { stream, in_graph: false }) = self.order else { return false };
        !stream.is_legacy_default()
            && may_call_cuda_in_drop()
            && matches!(stream.is_capturing(), Ok(true))
    }

    /// Returns the address, on the device or in host memory.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for MemoryPointer {
    fn drop(&mut self) {
        if let Some(finalizer) = self.finalizer.take() {
            finalizer();
        }
    }
}

impl fmt::Debug for MemoryPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryPointer({:#x}, {} bytes)", self.address, self.size)
    }
}
