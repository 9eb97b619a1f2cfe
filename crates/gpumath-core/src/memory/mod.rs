//! Memory: who allocates it, who frees it, where it is, and how it is copied.
//!
//! Memory of a device is freed in the order of the stream that it was allocated for. So whoever
//! owns such memory also keeps the object that owns the stream: freeing on a destroyed stream
//! crashes the driver.

mod copy;
mod crop_or_pad;
mod host;
mod kind;
mod managed;
mod manager;
mod pointer;
mod pointer_attributes;
mod pool;
mod scratch;
mod staging;
mod strided_copy;
mod tile_copy;

pub use copy::copy_async;
pub(crate) use copy::{PitchedMemory, copy_async_in, copy_pitched_async_in};
pub use crop_or_pad::crop_or_pad;
pub(crate) use host::{Pod, check_available, zeroed};
pub use kind::MemoryKind;
pub use managed::{Advice, advise, prefetch};
pub use manager::BaseCUDAMemoryManager;
pub use pointer::MemoryPointer;
pub use pointer_attributes::device_of;
use pointer_attributes::is_cuda_memory_in;
pub(crate) use pool::grant_peer_access;
pub use pool::{StreamOrderedPool, trim};
pub(crate) use scratch::{ScratchBuffer, ScratchPieces};
pub use staging::free_idle_staging_buffers;
pub(crate) use staging::{copy_from_host, copy_to_host};
pub(crate) use strided_copy::{copy_between, copy_elements};
pub(crate) use tile_copy::{SIDE, copy_tile, fetch};

/// Alignment of everything that CUDA's allocators return, and of the parts of a workspace, in
/// bytes.
pub const ALIGNMENT: usize = 256;
