//! A block of device memory.

use std::fmt;

use crate::device::{is_capturing, is_default, may_call_cuda_in_drop};

type Finalizer = Box<dyn FnOnce() + Send + Sync>;

/// A block of device memory and what frees it: dropping it frees the block.
pub struct MemoryPointer {
    address: usize,
    size: usize,
    finalizer: Option<Finalizer>,
    order: Option<Order>,
}

/// The stream in whose order memory goes back.
#[derive(Clone, Copy)]
struct Order {
    stream: usize,
    device: i32,
    in_graph: bool,
}

impl MemoryPointer {
    /// Takes charge of `size` bytes at `address`; `finalizer` is called once, when the block is dropped.
    #[must_use]
    pub fn new(address: usize, size: usize, finalizer: Option<Finalizer>) -> Self {
        Self { address, size, finalizer, order: None }
    }

    /// Says in whose order it goes back, and whether it belongs to a graph that this stream is being captured into.
    #[must_use]
    pub(crate) fn in_order_of(mut self, stream: usize, device: i32, in_graph: bool) -> Self {
        self.order = Some(Order { stream, device, in_graph });
        self
    }

    /// Whether it must not be dropped now: its stream is being captured, and a graph would free what is not its own.
    #[must_use]
    pub fn waits_for_capture(&self) -> bool {
        let Some(Order { stream, device, in_graph: false }) = self.order else { return false };
        // SAFETY: the stream outlives the memory.
        !is_default(stream)
            && may_call_cuda_in_drop()
            && matches!(unsafe { is_capturing(stream, device) }, Ok(true))
    }

    /// The device address.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Number of bytes.
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
