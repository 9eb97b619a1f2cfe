//! Copies between ordinary (pageable) host memory and a device by way of pinned buffers.
//!
//! The driver stages such copies too, on one thread, which is slower than the bus. Here several
//! threads copy to or from buffers while the device copies others. That also shares out the page
//! faults of memory that is used for the first time.
//!
//! 1. A copy takes a set of buffers from the pool of its device. If the pool has none left, the
//!    driver's own copy is used instead. Nobody waits for a set that is in use, because the work
//!    that delays its user could be waiting for the one who waits.
//! 2. The set has a stream of its own, because the handle of the per-thread default stream means
//!    another stream in another thread. So the copy first blocks until the work on the caller's
//!    stream is done, and the caller's stream waits for the set's stream afterwards.
//! 3. Threads claim chunks of the host memory until none is left. Each thread has two buffers, so
//!    that the device works on one while the thread works on the other. An event for each buffer
//!    says when the device is done with it.
//! 4. The set returns to the pool when the copy returns. The device may then still be reading its
//!    buffers.

mod chunks;

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::ops::{Deref, Range};
use std::sync::Mutex;
use std::thread;

use super::{MemoryKind, MemoryPointer, copy_async_in, is_cuda_memory_in};
use crate::device::{
    ContextGuard, Event, PollingWait, RelaxedCapture, Stream, StreamRef, may_call_cuda_in_drop,
};
use crate::error::Result;
use crate::parallel::parallel_for;
use crate::process::PerProcess;
use chunks::Chunks;

/// Bytes below which the driver's own copy is used.
const LEAST: usize = 2 << 20;
/// Bytes of a buffer: those of a huge page, which two threads should not both touch first.
const BUFFER: usize = 2 << 20;
/// Bytes of a chunk at least.
const LEAST_CHUNK: usize = 256 << 10;
const MAX_THREADS: usize = 8;
/// Buffers of each thread: the device works on one while the thread works on the other.
const BUFFERS_EACH: usize = 2;
/// Buffer sets of a device at most, which bounds its pinned memory.
const MAX_BUFFER_SETS: usize = 4;

/// Copies `size` bytes of host memory to a device, in the order of `stream`. Blocks until ordinary
/// host memory has been read; from memory that CUDA knows, the copy is only enqueued.
///
/// # Safety
/// As for [`super::copy_async`].
pub(crate) unsafe fn copy_from_host(
    destination: usize,
    source: usize,
    size: usize,
    stream: StreamRef,
) -> Result<()> {
    let context = ContextGuard::enter(stream.device())?;
    let Some(buffers) = buffers_for(&context, source, size) else {
        // SAFETY: the caller's guarantees are those that the function asks for.
        return unsafe { copy_async_in(&context, destination, source, size, stream) };
    };
    // The driver's own copy blocks here too.
    stream.synchronize()?;
    buffers.run(source, size, |context, own, chunks| {
        // SAFETY: the caller guarantees that both ranges are valid, and `own` are buffers of one
        // thread only.
        unsafe { buffers.copy_chunks_to_device(context, own, chunks, source, destination) }
    })?;
    // SAFETY: the reference is used for this call only.
    let staging = unsafe { buffers.stream.stream_ref() };
    stream.order_after(staging).or_else(|error| buffers.stream.synchronize().and(Err(error)))
}

/// Copies `size` bytes of a device to host memory, in the order of `stream`. Blocks until ordinary
/// host memory has been written; to memory that CUDA knows, the copy is only enqueued.
///
/// # Safety
/// As for [`super::copy_async`].
pub(crate) unsafe fn copy_to_host(
    destination: usize,
    source: usize,
    size: usize,
    stream: StreamRef,
) -> Result<()> {
    let context = ContextGuard::enter(stream.device())?;
    let Some(buffers) = buffers_for(&context, destination, size) else {
        // SAFETY: the caller's guarantees are those that the function asks for.
        return unsafe { copy_async_in(&context, destination, source, size, stream) };
    };
    stream.synchronize()?;
    buffers.run(destination, size, |context, own, chunks| {
        // SAFETY: the caller guarantees that both ranges are valid, and `own` are buffers of one
        // thread only.
        unsafe { buffers.copy_chunks_to_host(context, own, chunks, destination, source) }
    })
}

/// Takes a set of buffers from the pool, if staging is worth while for these bytes of host memory
/// and a set can be had.
fn buffers_for(context: &ContextGuard, host: usize, size: usize) -> Option<PooledStagingBuffers> {
    if size < LEAST {
        return None;
    }
    if is_cuda_memory_in(context, host) && is_cuda_memory_in(context, host + size - 1) {
        return None;
    }
    PooledStagingBuffers::take(context.device())
}

/// The pinned buffers that one copy at a time uses, and the stream on which they are copied.
/// Dropping them blocks until the work on that stream is done.
struct StagingBuffers {
    memory: MemoryPointer,
    /// For each buffer, the last copy from or to it.
    events: Vec<Event>,
    /// Dropped after the memory, which is freed in its order.
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
        // SAFETY: `stream` is declared after `memory` in the structure, so it is dropped later.
        let memory = MemoryKind::Pinned.allocate(count * BUFFER, unsafe { stream.stream_ref() })?;
        Ok(Self { memory, events, stream, threads })
    }

    /// Runs `work` in several threads, each with buffers of its own, until the chunks are used up.
    /// Blocks until the threads are done; after an error, until the device no longer copies either.
    fn run(
        &self,
        host: usize,
        size: usize,
        work: impl Fn(&ContextGuard, Range<usize>, &Chunks) -> Result<()> + Sync,
    ) -> Result<()> {
        let chunks = Chunks::new(host, size, (size / self.events.len()).clamp(LEAST_CHUNK, BUFFER));
        let work = |thread: usize| {
            let first = thread * BUFFERS_EACH;
            let work = || {
                let context = ContextGuard::enter(self.stream.device())?;
                // Another thread may be capturing a stream of its own.
                let _relaxed = RelaxedCapture::enter()?;
                work(&context, first..first + BUFFERS_EACH, &chunks)
            };
            work().inspect_err(|_| chunks.stop())
        };
        let done = parallel_for(self.threads, self.threads.get(), |mut threads| {
            threads.try_for_each(&work)
        });
        done.or_else(|error| self.stream.synchronize().and(Err(error)))
    }

    /// Copies chunks of host memory to the buffers `own`, and enqueues the copies of these to the
    /// device. Blocks until the device is done with a buffer before it writes to that.
    ///
    /// # Safety
    /// - The chunks are parts of a range at `source`, which can be read, and of one at
    ///   `destination`, which is valid until the work on the set's stream is done.
    /// - No other thread uses the buffers `own`.
    unsafe fn copy_chunks_to_device(
        &self,
        context: &ContextGuard,
        own: Range<usize>,
        chunks: &Chunks,
        source: usize,
        destination: usize,
    ) -> Result<()> {
        for (chunk, buffer) in chunks.draw_all().zip(own.cycle()) {
            self.wait(context, buffer)?;
            let (pinned, size) = (self.address(buffer), chunk.len());
            // SAFETY: the caller guarantees that the chunk is valid on both sides, and that the
            // buffer is this thread's own. The buffer is as large as the largest chunk, and `wait`
            // ensured that the device no longer reads it.
            unsafe {
                copy_bytes(pinned, source + chunk.start, size);
                self.enqueue(context, buffer, destination + chunk.start, pinned, size)?;
            }
        }
        Ok(())
    }

    /// Enqueues copies of chunks of device memory to the buffers `own`, and copies these to host
    /// memory. Blocks until the device has written a buffer before it reads that.
    ///
    /// # Safety
    /// - The chunks are parts of a range at `destination`, which can be written, and of one at
    ///   `source`, which is valid until the work on the set's stream is done.
    /// - No other thread uses the buffers `own`.
    unsafe fn copy_chunks_to_host(
        &self,
        context: &ContextGuard,
        own: Range<usize>,
        chunks: &Chunks,
        destination: usize,
        source: usize,
    ) -> Result<()> {
        let finish = |(chunk, buffer): (Range<usize>, usize)| {
            self.wait(context, buffer)?;
            // SAFETY: the caller guarantees that the chunk can be written, and that the buffer is
            // this thread's own. `wait` ensured that the device has written the buffer.
            unsafe {
                copy_bytes(destination + chunk.start, self.address(buffer), chunk.len());
            }
            Ok(())
        };
        let mut last = None;
        for (chunk, buffer) in chunks.draw_all().zip(own.cycle()) {
            let (pinned, size) = (self.address(buffer), chunk.len());
            // SAFETY: the caller guarantees that the chunk is valid on the device, and that the
            // buffer is this thread's own. `finish` has copied what the buffer had before.
            unsafe { self.enqueue(context, buffer, pinned, source + chunk.start, size) }?;
            last.replace((chunk, buffer)).map_or(Ok(()), &finish)?;
        }
        last.map_or(Ok(()), finish)
    }

    fn address(&self, buffer: usize) -> usize {
        self.memory.address() + buffer * BUFFER
    }

    /// Enqueues a copy from or to a buffer, and records the buffer's event.
    ///
    /// # Safety
    /// As for [`super::copy_async`].
    unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        buffer: usize,
        destination: usize,
        source: usize,
        size: usize,
    ) -> Result<()> {
        // SAFETY: the caller guarantees that the ranges are valid. `Drop` of the memory
        // synchronizes with the stream, which `self` owns, so it outlives the copy.
        unsafe {
            let stream = self.stream.stream_ref();
            copy_async_in(context, destination, source, size, stream)?;
            self.events[buffer].record_in(context, stream)
        }
    }

    /// Blocks until the device is done with a buffer.
    fn wait(&self, context: &ContextGuard, buffer: usize) -> Result<()> {
        let wait = PollingWait::start();
        while !wait.poll_round(|| self.events[buffer].query_in(context))? {}
        Ok(())
    }
}

/// # Safety
/// - Both ranges are valid, and the one at `destination` can be written.
/// - They do not overlap.
unsafe fn copy_bytes(destination: usize, source: usize, size: usize) {
    // SAFETY: the caller's guarantees are those that the function asks for; bytes have no
    // alignment.
    unsafe { std::ptr::copy_nonoverlapping(source as *const u8, destination as *mut u8, size) }
}

/// The staging pool of one device: the idle buffer sets, and the number of sets that exist, idle or
/// in use.
#[derive(Default)]
struct StagingPool {
    idle: Vec<StagingBuffers>,
    count: usize,
}

/// The pools by device.
static POOLS: PerProcess<Mutex<BTreeMap<i32, StagingPool>>> = PerProcess::new();

/// A buffer set taken from the pool; dropping it returns the set. The device may still be reading
/// then, so the next user waits for a buffer's event before it overwrites that buffer.
struct PooledStagingBuffers {
    buffers: ManuallyDrop<StagingBuffers>,
}

impl PooledStagingBuffers {
    /// Takes an idle set, or creates one unless there are too many.
    fn take(device: i32) -> Option<Self> {
        let idle = with_pool(device, |pool| {
            let idle = pool.idle.pop();
            if idle.is_none() {
                (pool.count < MAX_BUFFER_SETS).then(|| pool.count += 1)?;
            }
            Some(idle)
        })?;
        let buffers = idle.map_or_else(|| StagingBuffers::new(device), Ok);
        if buffers.is_err() {
            // There is no pinned memory. The driver's own copy will report an error of another
            // kind.
            with_pool(device, |pool| pool.count -= 1);
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
        // SAFETY: the buffers are taken only here, and `drop` runs once.
        let buffers = unsafe { ManuallyDrop::take(&mut self.buffers) };
        with_pool(buffers.stream.device(), |pool| pool.idle.push(buffers));
    }
}

/// Frees the pinned buffers that no copy is using, on every device. Blocks until the work still
/// enqueued on their streams is done. Does nothing where destructors must not call CUDA, as in a
/// forked child.
pub fn free_idle_staging_buffers() {
    if !may_call_cuda_in_drop() {
        return;
    }
    let mut pools = POOLS.lock();
    let idle: Vec<StagingBuffers> = pools
        .values_mut()
        .flat_map(|pool| {
            pool.count -= pool.idle.len();
            std::mem::take(&mut pool.idle)
        })
        .collect();
    drop(pools);
    drop(idle);
}

fn with_pool<T>(device: i32, change: impl FnOnce(&mut StagingPool) -> T) -> T {
    let mut pools = POOLS.lock();
    change(pools.entry(device).or_default())
}
