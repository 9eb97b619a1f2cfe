//! Memory: who allocates it, who frees it, where it is, and how it is copied.

mod copy;
mod crop_or_pad;
mod kind;
mod managed;
mod manager;
mod pointer;
mod pointer_attributes;
mod pool;
mod staging;
mod strided_copy;

pub use copy::copy_async;
pub(crate) use copy::{PitchedMemory, copy_pitched_async};
pub use crop_or_pad::crop_or_pad;
pub use managed::{Advice, Location, advise, prefetch};
pub use manager::BaseCUDAMemoryManager;
pub use pointer::MemoryPointer;
pub use pointer_attributes::device_of;
use pointer_attributes::is_cuda_memory;
pub(crate) use pool::grant_peer_access;
pub use pool::{StreamOrderedPool, trim};
pub use staging::free_idle_staging_buffers;
pub(crate) use staging::{copy_from_host, copy_to_host};
pub(crate) use strided_copy::copy_elements;

/// Alignment of everything that CUDA's allocators return, and of the parts of a workspace.
pub const ALIGNMENT: usize = 256;

/// What kind of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Ordinary host memory.
    Host,
    /// Page-locked host memory, which a device can reach too.
    Pinned,
    /// Unified memory, whose pages move to where they are used.
    Managed,
    /// Memory of a device.
    Device,
}
