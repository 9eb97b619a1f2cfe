//! Copies.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, call, primary_context};
use crate::error::Result;

/// `CU_MEMORYTYPE_HOST`, `CU_MEMORYTYPE_DEVICE`
const HOST: i32 = 1;
const DEVICE: i32 = 2;

/// Enqueues a copy of `size` bytes on `stream`, in whichever direction the two addresses say. With ordinary (pageable)
/// host memory the call may return only when that memory has been read or written.
///
/// # Safety
/// Both ranges are valid until the copy is done, and do not overlap. `stream` is a valid stream handle of the device.
pub unsafe fn copy_async(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    // SAFETY: the caller vouches for the ranges and the stream.
    unsafe { call!(driver::MEMCPY_ASYNC, destination, source, size as _, stream) }
}

/// PitchedMemory of bytes in the memory of a device, or of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PitchedMemory {
    /// Where the first row starts.
    pub(crate) address: usize,
    /// Bytes from row to row.
    pub(crate) pitch: usize,
    /// The device; `None` for host memory.
    pub(crate) place: Option<i32>,
}

/// Enqueues a copy of `count` rows of `width` bytes each on `stream`, also from one device to another.
///
/// # Safety
/// As for [`copy_async`], with the rows for ranges.
pub(crate) unsafe fn copy_pitched_async(
    to: PitchedMemory,
    from: PitchedMemory,
    width: usize,
    count: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    let size = width * count;
    if size == 0 {
        return Ok(());
    }
    let _context = ContextGuard::enter(device)?;
    let is_block = |rows: PitchedMemory| rows.pitch == width || count == 1;
    if is_block(to) && is_block(from) {
        return match (to.place, from.place) {
            // Memory of a pool that is not open to the other device can be copied in this way only.
            (Some(there), Some(here)) if there != here => {
                let (there, here) = (primary_context(there)?, primary_context(here)?);
                // SAFETY: the caller vouches for the ranges and the stream.
                unsafe {
                    call!(
                        driver::MEMCPY_PEER_ASYNC,
                        to.address,
                        there,
                        from.address,
                        here,
                        size as _,
                        stream
                    )
                }
            }
            // SAFETY: the caller vouches for the ranges and the stream.
            _ => unsafe {
                call!(driver::MEMCPY_ASYNC, to.address, from.address, size as _, stream)
            },
        };
    }
    match (to.place, from.place) {
        (Some(there), Some(here)) if there != here => {
            let request = Memcpy3dPeer {
                source: Memcpy3dPeerSide::of(from, here, count)?,
                destination: Memcpy3dPeerSide::of(to, there, count)?,
                width,
                height: count,
                depth: 1,
            };
            // SAFETY: the address is that of a live structure of the declared type; the caller vouches for the rest.
            unsafe { call!(driver::MEMCPY3D_PEER_ASYNC, &raw const request as usize, stream) }
        }
        _ => {
            let request = Memcpy2d {
                source: Memcpy2dSide::of(from),
                destination: Memcpy2dSide::of(to),
                width,
                height: count,
            };
            // SAFETY: as above.
            unsafe { call!(driver::MEMCPY2D_ASYNC, &raw const request as usize, stream) }
        }
    }
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
struct Memcpy2d {
    source: Memcpy2dSide,
    destination: Memcpy2dSide,
    width: usize,
    height: usize,
}

/// What it says about one side.
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
        match rows.place {
            None => Self { memory_type: HOST, host: rows.address, ..side },
            Some(_) => Self { memory_type: DEVICE, device: rows.address, ..side },
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

/// What it says about one side.
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
    fn of(rows: PitchedMemory, ordinal: i32, count: usize) -> Result<Self> {
        Ok(Self {
            memory_type: DEVICE,
            device: rows.address,
            context: primary_context(ordinal)?,
            pitch: rows.pitch,
            height: count,
            ..Self::default()
        })
    }
}

const _: () = assert!(size_of::<Memcpy2d>() == 128 && size_of::<Memcpy3dPeer>() == 200);
