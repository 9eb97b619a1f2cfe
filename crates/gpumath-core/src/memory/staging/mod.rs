//! Copies between ordinary (pageable) host memory and a device by way of pinned buffers.
//!
//! The driver stages such copies too, on one thread, which is slower than the bus. Here several threads fill or empty
//! buffers while the device copies others. That also shares out the page faults of memory that is used for the first
//! time.

mod chunks;

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::ops::{Deref, Range};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{MemoryKind, MemoryPointer, copy_async, is_cuda_memory};
use crate::cpu::parallel::share;
use crate::device::{ContextGuard, Event, PollingWait, RelaxedCapture, Stream, order, synchronize};
use crate::error::Result;
use chunks::Chunks;

/// Bytes below which the driver copies by itself.
const LEAST: usize = 2 << 20;
/// Bytes of a buffer: a huge page, which two threads should not both touch first.
const BUFFER: usize = 2 << 20;
const LEAST_CHUNK: usize = 256 << 10;
const MAX_THREADS: usize = 8;
/// While a thread works on one of its buffers, the device works on the other.
const BUFFERS_EACH: usize = 2;
/// Bounds the pinned memory of a device. More copies at once leave the staging to the driver.
const MAX_BUFFER_SETS: usize = 4;

/// Copies `size` bytes of host memory to a device, in the order of `stream`. Ordinary memory has been read on return; of
/// memory that CUDA knows the copy is only enqueued.
///
/// # Safety
/// As for [`copy_async`].
pub(crate) unsafe fn copy_from_host(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    let _context = ContextGuard::enter(device)?;
    let Some(buffers) = buffers_for(source, size, device) else {
        // SAFETY: handed on as they are.
        return unsafe { copy_async(destination, source, size, device, stream) };
    };
    // The driver waits here too. The copies can then go to the buffers's stream, whatever `stream` is to other threads.
    // SAFETY: the caller vouches for the stream, and for the ranges.
    unsafe {
        synchronize(stream, device)?;
        buffers.run(source, size, |indices, chunks| {
            buffers.copy_chunks_to_device(indices, chunks, source, destination)
        })?;
        order(buffers.stream.handle(), stream, device)
            .or_else(|error| buffers.synchronize().and(Err(error)))
    }
}

/// Copies `size` bytes of a device to host memory, in the order of `stream`. Ordinary memory has been written on return;
/// to memory that CUDA knows the copy is only enqueued.
///
/// # Safety
/// As for [`copy_async`].
pub(crate) unsafe fn copy_to_host(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    let _context = ContextGuard::enter(device)?;
    let Some(buffers) = buffers_for(destination, size, device) else {
        // SAFETY: handed on as they are.
        return unsafe { copy_async(destination, source, size, device, stream) };
    };
    // SAFETY: the caller vouches for the stream, and for the ranges.
    unsafe {
        synchronize(stream, device)?;
        buffers.run(destination, size, |indices, chunks| {
            buffers.copy_chunks_to_host(indices, chunks, destination, source)
        })
    }
}

/// A buffers, if one is worth while for these bytes and can be had.
fn buffers_for(host: usize, size: usize, device: i32) -> Option<PooledStagingBuffers> {
    if size < LEAST || (is_cuda_memory(host) && is_cuda_memory(host + size - 1)) {
        return None;
    }
    PooledStagingBuffers::new(device)
}

/// The pinned buffers that one copy at a time uses, and the stream on which they are copied.
struct StagingBuffers {
    memory: MemoryPointer,
    /// One a buffer: the last copy from or to it.
    events: Vec<Event>,
    stream: Stream,
    threads: NonZeroUsize,
}

impl StagingBuffers {
    fn new(device: i32) -> Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = NonZeroUsize::new(cores.min(MAX_THREADS)).unwrap_or(NonZeroUsize::MIN);
        let count = BUFFERS_EACH * threads.get();
        let _relaxed = RelaxedCapture::enter()?;
        let stream = Stream::new(device)?;
        let events = (0..count).map(|_| Event::new(device, false)).collect::<Result<_>>()?;
        // SAFETY: the stream is dropped after the memory.
        let memory =
            unsafe { MemoryKind::Pinned.allocate(count * BUFFER, device, stream.handle()) }?;
        Ok(Self { memory, events, stream, threads })
    }

    /// Has `work` done by several threads at once, each with buffers of its own, until the chunks are used up. After an
    /// error the device no longer copies.
    fn run(
        &self,
        host: usize,
        size: usize,
        work: impl Fn(Range<usize>, &Chunks) -> Result<()> + Sync,
    ) -> Result<()> {
        let chunks = Chunks::new(host, size, (size / self.events.len()).clamp(LEAST_CHUNK, BUFFER));
        let work = |thread: usize| {
            let first = thread * BUFFERS_EACH;
            let work = || {
                let _context = ContextGuard::enter(self.stream.device())?;
                // Another thread may be capturing a stream of its own.
                let _relaxed = RelaxedCapture::enter()?;
                work(first..first + BUFFERS_EACH, &chunks)
            };
            work().inspect_err(|_| chunks.stop())
        };
        let mut done =
            share(self.threads, self.threads.get(), |mut threads| threads.try_for_each(&work));
        if done.is_err() && chunks.are_untouched() {
            // No helper could be started.
            done = work(0);
        }
        done.or_else(|error| self.synchronize().and(Err(error)))
    }

    /// Copies chunks of host memory to buffers, and enqueues the copies of these to the device.
    fn copy_chunks_to_device(
        &self,
        buffers: Range<usize>,
        chunks: &Chunks,
        source: usize,
        destination: usize,
    ) -> Result<()> {
        for (chunk, buffer) in chunks.draw_all().zip(buffers.cycle()) {
            self.wait(buffer)?;
            let (pinned, size) = (self.address(buffer), chunk.len());
            // SAFETY: the chunk is inside the ranges that the caller vouches for; the buffer is as large as the largest
            // chunk, this thread's own, and no longer read by the device.
            unsafe {
                copy_bytes(pinned, source + chunk.start, size);
                self.enqueue(buffer, destination + chunk.start, pinned, size)?;
            }
        }
        Ok(())
    }

    /// Enqueues copies of chunks of device memory to buffers, and copies these to host memory.
    fn copy_chunks_to_host(
        &self,
        buffers: Range<usize>,
        chunks: &Chunks,
        destination: usize,
        source: usize,
    ) -> Result<()> {
        let finish = |(chunk, buffer): (Range<usize>, usize)| {
            self.wait(buffer)?;
            // SAFETY: as in `copy_chunks_to_device`; the device has written the buffer.
            unsafe {
                copy_bytes(destination + chunk.start, self.address(buffer), chunk.len());
            }
            Ok(())
        };
        let mut last = None;
        for (chunk, buffer) in chunks.draw_all().zip(buffers.cycle()) {
            let (pinned, size) = (self.address(buffer), chunk.len());
            // SAFETY: as in `copy_chunks_to_device`; what the buffer had before has been copied out.
            unsafe { self.enqueue(buffer, pinned, source + chunk.start, size) }?;
            last.replace((chunk, buffer)).map_or(Ok(()), &finish)?;
        }
        last.map_or(Ok(()), finish)
    }

    fn address(&self, buffer: usize) -> usize {
        self.memory.address() + buffer * BUFFER
    }

    /// # Safety
    /// As for [`copy_async`].
    unsafe fn enqueue(
        &self,
        buffer: usize,
        destination: usize,
        source: usize,
        size: usize,
    ) -> Result<()> {
        let (device, stream) = (self.stream.device(), self.stream.handle());
        // SAFETY: the caller vouches for the ranges, and the stream is alive.
        unsafe {
            copy_async(destination, source, size, device, stream)?;
            self.events[buffer].record(stream)
        }
    }

    /// Waits until the device is done with a buffer.
    fn wait(&self, buffer: usize) -> Result<()> {
        let wait = PollingWait::start();
        while !wait.poll_round(|| self.events[buffer].query())? {}
        Ok(())
    }

    /// Waits until the device is done with all buffers.
    fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is alive.
        unsafe { synchronize(self.stream.handle(), self.stream.device()) }
    }
}

/// # Safety
/// Both ranges are valid and do not overlap.
unsafe fn copy_bytes(destination: usize, source: usize, size: usize) {
    // SAFETY: the caller vouches for the ranges.
    unsafe { std::ptr::copy_nonoverlapping(source as *const u8, destination as *mut u8, size) }
}

/// The pool of a device: those that nobody uses now, and how many there are in all.
#[derive(Default)]
struct StagingPool {
    free: Vec<StagingBuffers>,
    made: usize,
}

/// A forked child has no business here, since it cannot make a context current.
static POOLS: Mutex<BTreeMap<i32, StagingPool>> = Mutex::new(BTreeMap::new());

/// A buffers that goes back when this is dropped. The device may then still read buffers; their events tell.
struct PooledStagingBuffers {
    buffers: ManuallyDrop<StagingBuffers>,
}

impl PooledStagingBuffers {
    fn new(device: i32) -> Option<Self> {
        let free = with_pool(device, |pool| {
            let free = pool.free.pop();
            if free.is_none() {
                (pool.made < MAX_BUFFER_SETS).then(|| pool.made += 1)?;
            }
            Some(free)
        })?;
        let buffers = free.map_or_else(|| StagingBuffers::new(device), Ok);
        if buffers.is_err() {
            // There is no pinned memory. An error of another kind comes again from the driver's own copy.
            with_pool(device, |pool| pool.made -= 1);
        }
        buffers.ok().map(|buffers| Self { buffers: ManuallyDrop::new(buffers) })
    }
}

impl Deref for PooledStagingBuffers {
    type Target = StagingBuffers;

    fn deref(&self) -> &StagingBuffers {
        &self.buffers
    }
}

impl Drop for PooledStagingBuffers {
    fn drop(&mut self) {
        // SAFETY: the buffers is taken once, here.
        let buffers = unsafe { ManuallyDrop::take(&mut self.buffers) };
        with_pool(buffers.stream.device(), |pool| pool.free.push(buffers));
    }
}

/// Gives back the pinned memory that no copy uses now.
pub fn free_idle_staging_buffers() {
    let mut pool = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let free: Vec<StagingBuffers> = pool
        .values_mut()
        .flat_map(|pool| {
            pool.made -= pool.free.len();
            std::mem::take(&mut pool.free)
        })
        .collect();
    drop(pool);
    drop(free);
}

fn with_pool<T>(device: i32, change: impl FnOnce(&mut StagingPool) -> T) -> T {
    let mut pool = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    change(pool.entry(device).or_default())
}
