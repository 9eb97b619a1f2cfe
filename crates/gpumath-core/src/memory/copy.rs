//! Asynchronous copies: of blocks, and of rows with gaps between them (pitched memory).

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, StreamRef, primary_context};
use crate::error::Result;
use crate::status::call;
use crate::tensor::MemoryLocation;

/// `CU_MEMORYTYPE_HOST`, `CU_MEMORYTYPE_DEVICE`
const HOST: i32 = 1;
const DEVICE: i32 = 2;

/// Enqueues a copy of `size` bytes on `stream`. The addresses may be of device or host memory, in
/// any combination. With ordinary (pageable) host memory, the driver may block until it has read or
/// written that memory.
///
/// # Safety
/// - Both ranges are valid until the copy is done.
/// - They do not overlap.
pub unsafe fn copy_async(
    destination: usize,
    source: usize,
    size: usize,
    stream: StreamRef,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let context = ContextGuard::enter(stream.device())?;
    // SAFETY: the caller's guarantees are those that the function asks for.
    unsafe { copy_async_in(&context, destination, source, size, stream) }
}

/// Like [`copy_async`], in the context of the stream's device.
///
/// # Safety
/// As for [`copy_async`].
pub(crate) unsafe fn copy_async_in(
    _context: &ContextGuard,
    destination: usize,
    source: usize,
    size: usize,
    stream: StreamRef,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller guarantees that the ranges are valid, and `StreamRef::new`'s that the
    // stream is.
    unsafe { call!(driver::MEMCPY_ASYNC, destination, source, size as _, stream.handle()) }
}

/// Rows of bytes, in the memory of a device or of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PitchedMemory {
    /// Address of the first row.
    pub(crate) address: usize,
    /// Bytes from the start of a row to the start of the next.
    pub(crate) pitch: usize,
    /// Where the rows are.
    pub(crate) location: MemoryLocation,
}

/// Enqueues a copy of `count` rows of `width` bytes each on `stream`, in the context of its device.
/// The rows may be on two other devices. As for [`copy_async`], ordinary host memory may make the
/// driver block.
///
/// # Safety
/// - The rows are valid until the copy is done.
/// - They do not overlap.
pub(crate) unsafe fn copy_pitched_async_in(
    _context: &ContextGuard,
    to: PitchedMemory,
    from: PitchedMemory,
    (width, count): (usize, usize),
    stream: StreamRef,
) -> Result<()> {
    let size = width * count;
    if size == 0 {
        return Ok(());
    }
    let peers = match (to.location, from.location) {
        (MemoryLocation::Device(there), MemoryLocation::Device(here)) if there != here => {
            Some((primary_context(there)?, primary_context(here)?))
        }
        _ => None,
    };
    let is_block = |rows: PitchedMemory| rows.pitch == width || count == 1;
    if is_block(to) && is_block(from) {
        let (to, from, size, stream) = (to.address, from.address, size as _, stream.handle());
        // SAFETY: the caller guarantees that the rows are valid, and `StreamRef::new`'s that the
        // stream is.
        return unsafe {
            if let Some((there, here)) = peers {
                // Memory of a pool to which the other device has no access can only be copied by
                // this function.
                call!(driver::MEMCPY_PEER_ASYNC, to, there, from, here, size, stream)
            } else {
                call!(driver::MEMCPY_ASYNC, to, from, size, stream)
            }
        };
    }
    if let Some((there, here)) = peers {
        let request = Memcpy3dPeer {
            source: Memcpy3dPeerSide::of(from, here, count),
            destination: Memcpy3dPeerSide::of(to, there, count),
            width,
            height: count,
            depth: 1,
        };
        // SAFETY: the driver reads `request`, a live structure of the declared type, during the
        // call. The caller guarantees that the rows are valid, and `StreamRef::new`'s that the
        // stream is.
        return unsafe {
            call!(driver::MEMCPY3D_PEER_ASYNC, &raw const request as usize, stream.handle())
        };
    }
    let request = Memcpy2d {
        source: Memcpy2dSide::of(from),
        destination: Memcpy2dSide::of(to),
        width,
        height: count,
    };
    // SAFETY: the driver reads `request`, a live structure of the declared type, during the call.
    // The caller guarantees that the rows are valid, and `StreamRef::new`'s that the stream is.
    unsafe { call!(driver::MEMCPY2D_ASYNC, &raw const request as usize, stream.handle()) }
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
struct Memcpy2d {
    source: Memcpy2dSide,
    destination: Memcpy2dSide,
    width: usize,
    height: usize,
}

/// The fields of `CUDA_MEMCPY2D` about one side.
#[repr(C)]
#[derive(Default)]
struct Memcpy2dSide {
    x: usize,
    y: usize,
    memory_type: i32,
    host: usize,
    device: usize,
    array: usize,
    pitch: usize,
}

impl Memcpy2dSide {
    fn of(rows: PitchedMemory) -> Self {
        let side = Self { pitch: rows.pitch, ..Self::default() };
        match rows.location {
            MemoryLocation::Host => Self { memory_type: HOST, host: rows.address, ..side },
            MemoryLocation::Device(_) => Self { memory_type: DEVICE, device: rows.address, ..side },
        }
    }
}

/// `CUDA_MEMCPY3D_PEER`
#[repr(C)]
struct Memcpy3dPeer {
    source: Memcpy3dPeerSide,
    destination: Memcpy3dPeerSide,
    width: usize,
    height: usize,
    depth: usize,
}

/// The fields of `CUDA_MEMCPY3D_PEER` about one side.
#[repr(C)]
#[derive(Default)]
struct Memcpy3dPeerSide {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory_type: i32,
    host: usize,
    device: usize,
    array: usize,
    context: usize,
    pitch: usize,
    height: usize,
}

impl Memcpy3dPeerSide {
    fn of(rows: PitchedMemory, context: usize, count: usize) -> Self {
        Self {
            memory_type: DEVICE,
            device: rows.address,
            context,
            pitch: rows.pitch,
            height: count,
            ..Self::default()
        }
    }
}

const _: () = assert!(size_of::<Memcpy2d>() == 128 && size_of::<Memcpy3dPeer>() == 200);
