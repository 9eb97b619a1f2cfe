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

use super::{MemoryPointer, Space, copy, is_known};
use crate::cpu::parallel::share;
use crate::device::{ContextGuard, Event, RelaxedCapture, Stream, Wait, order, synchronize};
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
const MAX_RINGS: usize = 4;

/// Copies `size` bytes of host memory to a device, in the order of `stream`. Ordinary memory has been read on return; of
/// memory that CUDA knows the copy is only enqueued.
///
/// # Safety
/// As for [`copy`].
pub(crate) unsafe fn copy_from_host(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    let _context = ContextGuard::enter(device)?;
    let Some(ring) = ring_for(source, size, device) else {
        // SAFETY: handed on as they are.
        return unsafe { copy(destination, source, size, device, stream) };
    };
    // The driver waits here too. The copies can then go to the ring's stream, whatever `stream` is to other threads.
    // SAFETY: the caller vouches for the stream, and for the ranges.
    unsafe {
        synchronize(stream, device)?;
        ring.run(source, size, |buffers, chunks| ring.fill(buffers, chunks, source, destination))?;
        order(ring.stream.handle(), stream, device)
            .or_else(|error| ring.synchronize().and(Err(error)))
    }
}

/// Copies `size` bytes of a device to host memory, in the order of `stream`. Ordinary memory has been written on return;
/// to memory that CUDA knows the copy is only enqueued.
///
/// # Safety
/// As for [`copy`].
pub(crate) unsafe fn copy_to_host(
    destination: usize,
    source: usize,
    size: usize,
    device: i32,
    stream: usize,
) -> Result<()> {
    let _context = ContextGuard::enter(device)?;
    let Some(ring) = ring_for(destination, size, device) else {
        // SAFETY: handed on as they are.
        return unsafe { copy(destination, source, size, device, stream) };
    };
    // SAFETY: the caller vouches for the stream, and for the ranges.
    unsafe {
        synchronize(stream, device)?;
        ring.run(destination, size, |buffers, chunks| {
            ring.empty(buffers, chunks, destination, source)
        })
    }
}

/// A ring, if one is worth while for these bytes and can be had.
fn ring_for(host: usize, size: usize, device: i32) -> Option<Borrowed> {
    if size < LEAST || (is_known(host) && is_known(host + size - 1)) {
        return None;
    }
    Borrowed::new(device)
}

/// The pinned buffers that one copy at a time uses, and the stream on which they are copied.
struct Ring {
    memory: MemoryPointer,
    /// One a buffer: the last copy from or to it.
    events: Vec<Event>,
    stream: Stream,
    threads: NonZeroUsize,
}

impl Ring {
    fn new(device: i32) -> Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = NonZeroUsize::new(cores.min(MAX_THREADS)).unwrap_or(NonZeroUsize::MIN);
        let count = BUFFERS_EACH * threads.get();
        let _relaxed = RelaxedCapture::enter()?;
        let stream = Stream::new(device)?;
        let events = (0..count).map(|_| Event::new(device, false)).collect::<Result<_>>()?;
        // SAFETY: the stream is dropped after the memory.
        let memory = unsafe { Space::Pinned.allocate(count * BUFFER, device, stream.handle()) }?;
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
    fn fill(
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
    fn empty(
        &self,
        buffers: Range<usize>,
        chunks: &Chunks,
        destination: usize,
        source: usize,
    ) -> Result<()> {
        let finish = |(chunk, buffer): (Range<usize>, usize)| {
            self.wait(buffer)?;
            // SAFETY: as in `fill`; the device has written the buffer.
            unsafe {
                copy_bytes(destination + chunk.start, self.address(buffer), chunk.len());
            }
            Ok(())
        };
        let mut last = None;
        for (chunk, buffer) in chunks.draw_all().zip(buffers.cycle()) {
            let (pinned, size) = (self.address(buffer), chunk.len());
            // SAFETY: as in `fill`; what the buffer had before has been copied out.
            unsafe { self.enqueue(buffer, pinned, source + chunk.start, size) }?;
            last.replace((chunk, buffer)).map_or(Ok(()), &finish)?;
        }
        last.map_or(Ok(()), finish)
    }

    fn address(&self, buffer: usize) -> usize {
        self.memory.address() + buffer * BUFFER
    }

    /// # Safety
    /// As for [`copy`].
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
            copy(destination, source, size, device, stream)?;
            self.events[buffer].record(stream)
        }
    }

    /// Waits until the device is done with a buffer.
    fn wait(&self, buffer: usize) -> Result<()> {
        let wait = Wait::start();
        while !wait.round(|| self.events[buffer].query())? {}
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

/// The rings of a device: those that nobody uses now, and how many there are in all.
#[derive(Default)]
struct Rings {
    free: Vec<Ring>,
    made: usize,
}

/// A forked child has no business here, since it cannot make a context current.
static RINGS: Mutex<BTreeMap<i32, Rings>> = Mutex::new(BTreeMap::new());

/// A ring that goes back when this is dropped. The device may then still read buffers; their events tell.
struct Borrowed {
    ring: ManuallyDrop<Ring>,
}

impl Borrowed {
    fn new(device: i32) -> Option<Self> {
        let free = with_rings(device, |rings| {
            let free = rings.free.pop();
            if free.is_none() {
                (rings.made < MAX_RINGS).then(|| rings.made += 1)?;
            }
            Some(free)
        })?;
        let ring = free.map_or_else(|| Ring::new(device), Ok);
        if ring.is_err() {
            // There is no pinned memory. An error of another kind comes again from the driver's own copy.
            with_rings(device, |rings| rings.made -= 1);
        }
        ring.ok().map(|ring| Self { ring: ManuallyDrop::new(ring) })
    }
}

impl Deref for Borrowed {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.ring
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: the ring is taken once, here.
        let ring = unsafe { ManuallyDrop::take(&mut self.ring) };
        with_rings(ring.stream.device(), |rings| rings.free.push(ring));
    }
}

/// Gives back the pinned memory that no copy uses now.
pub fn release_staging() {
    let mut rings = RINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let free: Vec<Ring> = rings
        .values_mut()
        .flat_map(|rings| {
            rings.made -= rings.free.len();
            std::mem::take(&mut rings.free)
        })
        .collect();
    drop(rings);
    drop(free);
}

fn with_rings<T>(device: i32, change: impl FnOnce(&mut Rings) -> T) -> T {
    let mut rings = RINGS.lock().unwrap_or_else(PoisonError::into_inner);
    change(rings.entry(device).or_default())
}
