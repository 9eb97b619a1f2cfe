//! Device memory: who allocates it, who frees it, and how it is copied.

mod manager;
mod pointer;
mod pool;
mod transfer;

pub use manager::BaseCUDAMemoryManager;
pub use pointer::MemoryPointer;
pub use pool::StreamOrderedPool;
pub use transfer::copy;

/// Alignment of everything that CUDA's allocators return, and of the parts of a workspace.
pub const ALIGNMENT: usize = 256;
