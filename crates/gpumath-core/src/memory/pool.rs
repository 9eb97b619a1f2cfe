//! The stream-ordered pool that serves operands whose library has no pool of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gpumath_sys::generated::driver;

use super::manager::BaseCUDAMemoryManager;
use super::pointer::MemoryPointer;
use crate::device::{ContextGuard, RelaxedCapture, StreamRef, may_call_cuda_in_drop};
use crate::error::{Error, Result};
use crate::process::PerProcess;
use crate::status::call;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`
const PINNED: i32 = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`
const LOCATION_DEVICE: i32 = 1;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`
const RELEASE_THRESHOLD: i32 = 4;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`
const READ_AND_WRITE: i32 = 3;
/// Bytes of free memory that a pool keeps when its device is synchronized with; the rest is freed
/// for other users.
const KEPT_BYTES: u64 = 256 << 20;

/// `CUmemPoolProps`
#[repr(C)]
struct PoolProperties {
    allocation_type: i32,
    handle_types: i32,
    location_type: i32,
    location_id: i32,
    security_attributes: usize,
    /// Bytes; 0 lets the pool grow up to the device's memory. Before CUDA 12.2 these are reserved
    /// zeros.
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

/// The pools created so far, by device.
static POOLS: PerProcess<Mutex<BTreeMap<i32, Arc<StreamOrderedPool>>>> = PerProcess::new();

/// A memory pool of one device, gpumath's own, which keeps some of the freed memory for the next
/// request.
///
/// The pool is never destroyed, because memory from it may outlive every object that knows the
/// pool.
#[derive(Debug)]
pub struct StreamOrderedPool {
    handle: usize,
    device: i32,
    /// One bit for each other device that was granted access.
    peers: AtomicU64,
}

impl StreamOrderedPool {
    /// Returns the pool of a device, which the first call creates.
    pub fn of(device: i32) -> Result<Arc<Self>> {
        let mut pools = POOLS.lock();
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
        // SAFETY: the driver writes one handle to `handle` and reads `properties`, live values of
        // the declared types.
        unsafe {
            call!(driver::MEM_POOL_CREATE, &raw mut handle as usize, &raw const properties as usize)
        }?;
        let mut threshold = KEPT_BYTES;
        // SAFETY: the attribute is a 64-bit number, which the driver reads from `threshold`, a live
        // `u64`.
        unsafe {
            call!(
                driver::MEM_POOL_SET_ATTRIBUTE,
                handle,
                RELEASE_THRESHOLD,
                &raw mut threshold as usize
            )
        }?;
        Ok(Self { handle, device, peers: AtomicU64::new(0) })
    }

    /// Allocates in the order of `stream`, in the context of the pool's device.
    fn allocate_in(
        &self,
        _context: &ContextGuard,
        size: usize,
        stream: StreamRef,
    ) -> Result<usize> {
        let mut address = 0_usize;
        // SAFETY: the driver writes one address to `address`, a live `usize`; `StreamRef::new`'s
        // caller guarantees that the stream is valid.
        unsafe {
            call!(
                driver::MEM_ALLOC_FROM_POOL_ASYNC,
                &raw mut address as usize,
                size as _,
                self.handle,
                stream.handle()
            )
        }?;
        Ok(address)
    }

    /// Frees memory that the pool keeps for later requests, except for `keep` bytes.
    pub fn trim(&self, keep: usize) -> Result<()> {
        // SAFETY: the handle is valid, because the pool is never destroyed.
        unsafe { call!(driver::MEM_POOL_TRIM_TO, self.handle, keep as _) }
    }
}

/// Returns the pool of a device, if it was created.
fn known(device: i32) -> Option<Arc<StreamOrderedPool>> {
    POOLS.lock().get(&device).cloned()
}

/// Frees the memory that gpumath's pool of a device keeps for later requests.
pub fn trim(device: i32) -> Result<()> {
    known(device).map_or(Ok(()), |pool| pool.trim(0))
}

/// Grants `peer` access to the memory of the pool of `device`, so that copies go from one device to
/// the other directly. If the hardware does not allow that, the error is ignored, because such
/// copies still go through host memory.
pub(crate) fn grant_peer_access(device: i32, peer: i32) {
    if let Some(pool) = known(device)
        && let Some(bit) = 1_u64.checked_shl(peer as u32)
        && pool.peers.fetch_or(bit, Ordering::Relaxed) & bit == 0
    {
        let access =
            Access { location_type: LOCATION_DEVICE, location_id: peer, flags: READ_AND_WRITE };
        // SAFETY: the handle is valid, because the pool is never destroyed; the driver reads
        // `access`, a live value of the declared type.
        let _ = unsafe {
            call!(driver::MEM_POOL_SET_ACCESS, pool.handle, &raw const access as usize, 1)
        };
    }
}

impl BaseCUDAMemoryManager for StreamOrderedPool {
    fn memalloc(&self, size: usize, stream: StreamRef) -> Result<MemoryPointer> {
        if size == 0 {
            return Ok(MemoryPointer::new(0, 0, None));
        }
        let device = self.device;
        if stream.device() != device {
            return Err(Error::InvalidValue(format!(
                "the stream is of device {}, but the pool of device {device}; give a stream of \
                 that",
                stream.device()
            )));
        }
        let context = ContextGuard::enter(device)?;
        let in_graph =
            !stream.is_legacy_default() && stream.capture_status_in(&context)?.is_capturing();
        let address = self.allocate_in(&context, size, stream).or_else(|error| {
            // This also frees what the pool has gathered for a failed request for much memory.
            self.trim(0)?;
            if matches!(error, Error::OutOfMemory(_)) {
                self.allocate_in(&context, size, stream)
            } else {
                Err(error)
            }
        });
        let address = match address {
            Err(Error::OutOfMemory(_)) => {
                self.trim(0)?;
                return Err(Error::OutOfMemory(format!(
                    "device {device} has no {size} bytes of memory left; free some, or use smaller \
                     operands"
                )));
            }
            other => other?,
        };
        let free = move || {
            if may_call_cuda_in_drop()
                && let Ok(_context) = ContextGuard::enter(device)
            {
                // SAFETY: `address` was allocated above and is freed once; `StreamRef::new`'s
                // caller guarantees that the stream outlives the memory.
                let _ = unsafe { call!(driver::MEM_FREE_ASYNC, address, stream.handle()) };
            }
        };
        let block = MemoryPointer::new(address, size, Some(Box::new(free)));
        Ok(block.in_order_of(stream, in_graph))
    }
}
