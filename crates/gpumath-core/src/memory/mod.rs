//! Memory: who allocates it, who frees it, where it is, and how it is copied.

mod chunks;
mod elements;
mod lookup;
mod manager;
mod pointer;
mod pool;
mod resize;
mod spaces;
mod staging;
mod transfer;

pub(crate) use elements::copy_elements;
pub use lookup::device_of;
use lookup::is_known;
pub use manager::BaseCUDAMemoryManager;
pub use pointer::MemoryPointer;
pub(crate) use pool::open_to;
pub use pool::{StreamOrderedPool, trim};
pub use resize::resize;
pub use spaces::{Advice, Location, advise, prefetch};
pub use staging::release_staging;
pub(crate) use staging::{copy_from_host, copy_to_host};
pub use transfer::copy;
pub(crate) use transfer::{Rows, copy_rows};

/// Alignment of everything that CUDA's allocators return, and of the parts of a workspace.
pub const ALIGNMENT: usize = 256;

/// What kind of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Ordinary host memory.
    Host,
    /// Page-locked host memory, which a device can reach too.
    Pinned,
    /// Unified memory, whose pages move to where they are used.
    Managed,
    /// Memory of a device.
    Device,
}
