//! A block of device memory.

use std::fmt;

type Finalizer = Box<dyn FnOnce() + Send + Sync>;

/// A block of device memory and what frees it: dropping it frees the block.
pub struct MemoryPointer {
    address: usize,
    size: usize,
    finalizer: Option<Finalizer>,
}

impl MemoryPointer {
    /// Takes charge of `size` bytes at `address`; `finalizer` is called once, when the block is dropped.
    #[must_use]
    pub fn new(address: usize, size: usize, finalizer: Option<Finalizer>) -> Self {
        Self { address, size, finalizer }
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
