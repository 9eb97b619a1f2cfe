//! The stream-ordered pool that serves operands whose library has none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpumath_sys::generated::driver;

use super::manager::BaseCUDAMemoryManager;
use super::pointer::MemoryPointer;
use crate::device::{
    ContextGuard, RelaxedCapture, call, is_capturing, is_default, may_call_cuda_in_drop,
};
use crate::error::{Error, Result};

const PINNED: i32 = 1;
const LOCATION_DEVICE: i32 = 1;
const RELEASE_THRESHOLD: i32 = 4;
const READ_AND_WRITE: i32 = 3;
/// Free memory that a pool keeps when its device is waited for; what is over that goes back to the device.
const KEPT_BYTES: u64 = 256 << 20;

/// `CUmemPoolProps`
#[repr(C)]
struct PoolProperties {
    allocation_type: i32,
    handle_types: i32,
    location_type: i32,
    location_id: i32,
    security_attributes: usize,
    /// 0 lets the pool grow up to the device's memory. Drivers before CUDA 12.2 take it for reserved zeros.
    max_size: usize,
    usage: u16,
    reserved: [u8; 54],
}

/// `CUmemAccessDesc`
#[repr(C)]
struct Access {
    location_type: i32,
    location_id: i32,
    flags: i32,
}

/// The pools made so far, by device.
static POOLS: Mutex<BTreeMap<i32, Arc<StreamOrderedPool>>> = Mutex::new(BTreeMap::new());

/// A memory pool of one device, gpumath's own, which keeps some of the freed memory for the next request.
///
/// It is never destroyed: memory from it may outlive every object that knows it.
#[derive(Debug)]
pub struct StreamOrderedPool {
    handle: usize,
    device: i32,
    /// The other devices that it was opened to, a bit for each.
    opened: AtomicU64,
}

impl StreamOrderedPool {
    /// The pool of a device, made at the first request.
    pub fn of(device: i32) -> Result<Arc<Self>> {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&device) {
            return Ok(Arc::clone(pool));
        }
        let pool = Arc::new(Self::new(device)?);
        pools.insert(device, Arc::clone(&pool));
        Ok(pool)
    }

    fn new(device: i32) -> Result<Self> {
        let _context = ContextGuard::enter(device)?;
        let _relaxed = RelaxedCapture::enter()?;
        let properties = PoolProperties {
            allocation_type: PINNED,
            handle_types: 0,
            location_type: LOCATION_DEVICE,
            location_id: device,
            security_attributes: 0,
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let mut handle = 0_usize;
        // SAFETY: both addresses are those of live values of the declared types.
        unsafe {
            call!(driver::MEM_POOL_CREATE, &raw mut handle as usize, &raw const properties as usize)
        }?;
        let mut threshold = KEPT_BYTES;
        // SAFETY: the attribute is a 64-bit number, and the address is that of a live one.
        unsafe {
            call!(
                driver::MEM_POOL_SET_ATTRIBUTE,
                handle,
                RELEASE_THRESHOLD,
                &raw mut threshold as usize
            )
        }?;
        Ok(Self { handle, device, opened: AtomicU64::new(0) })
    }

    fn allocate(&self, size: usize, stream: usize) -> Result<usize> {
        let mut address = 0_usize;
        // SAFETY: the address is that of a live usize; `memalloc`'s caller vouches for the stream.
        unsafe {
            call!(
                driver::MEM_ALLOC_FROM_POOL_ASYNC,
                &raw mut address as usize,
                size as _,
                self.handle,
                stream
            )
        }?;
        Ok(address)
    }

    /// Gives memory that is free back to the device, down to `keep` bytes.
    pub fn trim(&self, keep: usize) -> Result<()> {
        // SAFETY: the pool is never destroyed.
        unsafe { call!(driver::MEM_POOL_TRIM_TO, self.handle, keep as _) }
    }
}

/// The pool of a device, if it was made.
fn known(device: i32) -> Option<Arc<StreamOrderedPool>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner).get(&device).cloned()
}

/// Gives what is free in gpumath's pool back to the device.
pub fn trim(device: i32) -> Result<()> {
    known(device).map_or(Ok(()), |pool| pool.trim(0))
}

/// Lets another device reach the memory of a device's pool, so that copies go from one to the other directly. Where it
/// cannot, they go through host memory.
pub(crate) fn grant_peer_access(other: i32, device: i32) {
    if let Some(pool) = known(device)
        && let Some(bit) = 1_u64.checked_shl(other as u32)
        && pool.opened.fetch_or(bit, Ordering::Relaxed) & bit == 0
    {
        let access =
            Access { location_type: LOCATION_DEVICE, location_id: other, flags: READ_AND_WRITE };
        // SAFETY: the pool is never destroyed, and the address is that of a live value of the declared type.
        let _ = unsafe {
            call!(driver::MEM_POOL_SET_ACCESS, pool.handle, &raw const access as usize, 1)
        };
    }
}

impl BaseCUDAMemoryManager for StreamOrderedPool {
    unsafe fn memalloc(&self, size: usize, stream: usize) -> Result<MemoryPointer> {
        if size == 0 {
            return Ok(MemoryPointer::new(0, 0, None));
        }
        let device = self.device;
        let _context = ContextGuard::enter(device)?;
        // SAFETY: the caller vouches for the stream.
        let in_graph = !is_default(stream) && unsafe { is_capturing(stream, device) }?;
        let address = self.allocate(size, stream).or_else(|error| {
            // Also gives back what a failed request for much memory has gathered.
            self.trim(0)?;
            if matches!(error, Error::OutOfMemory(_)) {
                self.allocate(size, stream)
            } else {
                Err(error)
            }
        });
        let address = match address {
            Err(Error::OutOfMemory(_)) => {
                self.trim(0)?;
                return Err(Error::OutOfMemory(format!(
                    "device {device} has no {size} bytes of memory left; free some, or use smaller operands"
                )));
            }
            other => other?,
        };
        let free = move || {
            if may_call_cuda_in_drop()
                && let Ok(_context) = ContextGuard::enter(device)
            {
                // SAFETY: allocated above on this stream, which outlives the memory, and freed once.
                let _ = unsafe { call!(driver::MEM_FREE_ASYNC, address, stream) };
            }
        };
        let block = MemoryPointer::new(address, size, Some(Box::new(free)));
        Ok(block.in_order_of(stream, device, in_graph))
    }
}
