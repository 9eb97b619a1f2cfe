//! One transform without a batch, spread over several devices by cuFFT Xt.
//!
//! cuFFT works in place, on parts of its own in the memory of each device. In natural order each
//! device has some indices of the slowest axis. A transform of two or three axes leaves each device
//! with some indices of the second axis instead ("shuffled"), and C2R starts from that. Rows of
//! real numbers are as far apart as rows of complex ones.
//!
//! The parts are copied by gpumath, because cuFFT's own copies take host memory only. The order
//! before and after a transform of two or three axes is documented; just the order after one axis
//! is known to cuFFT alone.
//!
//! The parts are cuFFT's (`cufftXtMalloc`), and the work areas are gpumath's. Both are allocated
//! for each execution, so that a cached plan holds none of them. cuFFT leaves another device
//! current, so a context is pushed around its calls even if it is current already. It works on
//! streams of its own, so an execution waits for all work of the devices.

use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::cufft;

use super::cufft::{PLANNING, explain_internal_error};
use super::cufft_xt_handle::CufftXtHandle;
use super::cufft_xt_memory::Descriptor;
use super::peer_access::{self, PeerAccessGuard};
use super::plan::FftArguments;
use super::problem::{FftProblem, Precision, TransformKind};
use crate::device::{ContextGuard, Device, Devices, Stream, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, Elements};
use crate::loader;
use crate::memory::{PitchedMemory, copy_pitched_async_in};
use crate::operation::{Call, Engine};
use crate::tensor::{Layout, MemoryLocation};

/// `CUFFT_XT_FORMAT_INPLACE`, `CUFFT_XT_FORMAT_INPLACE_SHUFFLED`
const NATURAL: i32 = 2;
const SHUFFLED: i32 = 3;

/// A plan of cuFFT Xt for one transform.
#[derive(Debug)]
pub(super) struct CufftXtPlan {
    handle: CufftXtHandle,
    kind: TransformKind,
    precision: Precision,
    /// Points of the complex side along each axis, slowest first.
    extents: Vec<usize>,
    /// Points of the real side along the last axis; of the complex one for C2C.
    last: usize,
    /// Bytes of the work area on each device.
    work_sizes: Vec<usize>,
    /// Bytes of device memory, on all devices together, that planning took.
    device_memory: usize,
    /// One stream for each device.
    streams: Vec<Stream>,
    /// Held by an execution, because the work areas are state of the plan.
    turn: Mutex<()>,
}

impl CufftXtPlan {
    /// Plans a transform without a batch, on devices that exist. Blocks while another thread makes
    /// a plan, and until no execution on several devices runs.
    pub(super) fn new(problem: &FftProblem, devices: Devices) -> Result<Self> {
        Self::make(problem, devices)
            .map_err(|error| explain_internal_error(error, devices.ordinals()))
    }

    fn make(problem: &FftProblem, devices: Devices) -> Result<Self> {
        let mut axes = problem.axes.clone();
        axes.sort_unstable();
        let points = |layout: &Layout| -> Vec<usize> {
            axes.iter().map(|&axis| layout.shape[axis as usize] as usize).collect()
        };
        let (input, output) = (points(&problem.input), points(&problem.output));
        let (extents, reals) = match problem.kind {
            TransformKind::C2R => (input, output),
            TransformKind::C2C | TransformKind::R2C => (output, input),
        };
        let n: Vec<i32> = reals
            .iter()
            .map(|&extent| {
                i32::try_from(extent).map_err(|_: std::num::TryFromIntError| {
                    Error::InvalidValue(format!(
                        "cuFFT cannot spread {extent} points along one axis over devices: {} is \
                         the most; leave device_ids out",
                        i32::MAX
                    ))
                })
            })
            .collect::<Result<_>>()?;
        // The library is loaded before the lock is taken, because the search may have to wait for
        // Python.
        loader::function(&cufft::CREATE)?;
        let _context = ContextGuard::enter_pushed(devices.first())?;
        let handle = CufftXtHandle::new(devices)?;
        let _planning = PLANNING.lock();
        let free = Device::free_memory(devices.ordinals())?;
        let work_sizes = peer_access::create(|| handle.plan(problem, &n))?;
        let device_memory = free.saturating_sub(Device::free_memory(devices.ordinals())?);
        Ok(Self {
            handle,
            kind: problem.kind,
            precision: problem.precision,
            last: reals.last().copied().unwrap_or(1),
            extents,
            work_sizes,
            device_memory,
            streams: devices
                .ordinals()
                .iter()
                .map(|&each| Stream::new(each))
                .collect::<Result<_>>()?,
            turn: Mutex::new(()),
        })
    }

    /// Copies the whole array to the parts or from them. Blocks until the copies are done, also
    /// after an error, because they use memory that the caller may free.
    ///
    /// # Safety
    /// - The array has the layout of the plan's input or output, whichever the format belongs to.
    /// - The parts are those of a descriptor of the plan.
    unsafe fn exchange(
        &self,
        whole: WholeArray,
        parts: &Descriptor,
        format: i32,
        direction: Exchange,
    ) -> Result<()> {
        let streams = &self.streams;
        let enqueue = || {
            for index in 0..streams.len() {
                let (part, size, ordinal) = parts.part(index);
                let copy = self.part_copy(index, format);
                let stream = streams.iter().find(|stream| stream.device() == ordinal);
                let Some(stream) = stream.filter(|_| size >= self.part_size_in(index, format))
                else {
                    return Err(Error::InvalidState(format!(
                        "cuFFT gave {size} bytes on device {ordinal} for part {index}, which needs \
                         {} bytes on one of the devices {:?}; use one device",
                        self.part_size_in(index, format),
                        self.handle.devices.ordinals()
                    )));
                };
                let WholeArray { address, location } = whole;
                let whole =
                    PitchedMemory { address: address + copy.offset, pitch: copy.pitch, location };
                let location = MemoryLocation::Device(ordinal);
                let part = PitchedMemory { address: part, pitch: copy.part_pitch, location };
                let (to, from) = match direction {
                    Exchange::ToParts => (part, whole),
                    Exchange::FromParts => (whole, part),
                };
                let context = ContextGuard::enter(ordinal)?;
                let size = (copy.width, copy.rows);
                // SAFETY: the caller guarantees that the array has the rows, and the part is large
                // enough for them. The streams outlive the work, which is waited for below.
                unsafe { copy_pitched_async_in(&context, to, from, size, stream.stream_ref()) }?;
            }
            Ok(())
        };
        let enqueued = enqueue();
        let done = Stream::synchronize_all(streams);
        enqueued.and(done)
    }

    /// Enqueues that every part is multiplied by the factor, if there is one, together with what is
    /// between its rows.
    ///
    /// # Safety
    /// The parts are those of a descriptor of the plan, which lives until the streams have been
    /// synchronized with.
    unsafe fn scale(&self, parts: &Descriptor, format: i32, factor: Option<f64>) -> Result<()> {
        let Some(factor) = factor else { return Ok(()) };
        let streams = &self.streams;
        let dtype = self.precision.complex();
        for index in 0..streams.len() {
            let (part, size, ordinal) = parts.part(index);
            let count = size.min(self.part_size_in(index, format)) / dtype.size();
            let elements = Elements::of(&Layout::contiguous(&[count as i64]))?;
            for stream in streams.iter().filter(|stream| stream.device() == ordinal) {
                let context = ContextGuard::enter(ordinal)?;
                // SAFETY: cuFFT aligns its parts, and this one has room for `count` complex
                // numbers. The caller guarantees that it lives until the streams have been
                // synchronized with.
                unsafe {
                    let stream = stream.stream_ref();
                    kernels::scale(&context, part, dtype, &elements, factor, stream)
                }?;
            }
        }
        Ok(())
    }

    /// Blocks until all work of all devices is done, because cuFFT has streams of its own.
    fn synchronize(&self) -> Result<()> {
        self.handle
            .devices
            .ordinals()
            .iter()
            .try_for_each(|&ordinal| Device::new(ordinal)?.synchronize())
    }

    /// Returns how a device's part lies in the whole array.
    fn part_copy(&self, index: usize, format: i32) -> PartCopy {
        let complex = self.precision.complex().size();
        let axes = &self.extents;
        let devices = self.handle.devices.ordinals().len();
        if format == SHUFFLED {
            // Always complex: all indices of the first axis, and some of the second.
            let inner = axes[2..].iter().product::<usize>() * complex;
            let (start, count) = partition(axes[1], devices, index);
            let width = count * inner;
            return PartCopy {
                offset: start * inner,
                pitch: axes[1] * inner,
                part_pitch: width,
                width,
                rows: axes[0],
            };
        }
        let (start, count) = partition(axes[0], devices, index);
        let (last, others) =
            axes.split_last().map_or((1, &[][..]), |(&last, others)| (last, others));
        let row = last * complex;
        // One axis alone is one row, of which each device has some points.
        if others.is_empty() {
            let width = count * complex;
            let offset = start * complex;
            return PartCopy { offset, pitch: width, part_pitch: width, width, rows: 1 };
        }
        let rows = others[1..].iter().product::<usize>();
        let width = match self.kind {
            TransformKind::C2C => row,
            TransformKind::R2C | TransformKind::C2R => self.last * self.precision.real().size(),
        };
        PartCopy {
            offset: start * rows * width,
            pitch: width,
            part_pitch: row,
            width,
            rows: count * rows,
        }
    }

    /// Returns the bytes of a part in one order.
    fn part_size_in(&self, index: usize, format: i32) -> usize {
        let copy = self.part_copy(index, format);
        copy.part_pitch * copy.rows
    }

    /// Returns the bytes of a part, which cuFFT makes large enough for both orders.
    fn part_size(&self, index: usize) -> usize {
        let natural = self.part_size_in(index, NATURAL);
        if self.extents.len() == 1 {
            return natural;
        }
        natural.max(self.part_size_in(index, SHUFFLED))
    }
}

impl Engine for CufftXtPlan {
    type Arguments = FftArguments;

    fn name(&self) -> &'static str {
        "cufft"
    }

    fn workspace_size(&self) -> usize {
        let parts = if self.extents.len() == 1 { 2 } else { 1 };
        let part = |index| self.part_size(index) * parts + self.work_sizes[index];
        (0..self.work_sizes.len()).map(part).max().unwrap_or(0)
    }

    fn device_memory(&self) -> usize {
        self.device_memory
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, FftArguments>,
    ) -> Result<()> {
        let ((input, output), location) = (call.only_addresses()?, call.location);
        let FftArguments { direction, factor } = call.arguments;
        call.stream.map_or(Ok(()), StreamRef::synchronize)?;
        let devices = self.handle.devices;
        // cuFFT leaves other devices current than it found. The context comes before the locks,
        // because a forked child may find them taken.
        let _context = ContextGuard::enter_pushed(devices.first())?;
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _peers = PeerAccessGuard::new(devices, location)?;
        let first = if self.kind == TransformKind::C2R { SHUFFLED } else { NATURAL };
        let data = self.handle.allocate(first)?;
        let _areas = self.handle.lend_work_areas(&self.work_sizes)?;
        let (input, output) =
            (WholeArray { address: input, location }, WholeArray { address: output, location });
        // SAFETY: the caller guarantees that input and output have the plan's layouts. The
        // descriptors were allocated for the plan, and the work areas are lent until the end of the
        // function.
        unsafe {
            self.exchange(input, &data, first, Exchange::ToParts)?;
            self.handle.execute(&data, direction, self.kind, self.precision)?;
            self.synchronize()?;
            if self.extents.len() == 1 {
                // Only cuFFT knows the order in which the transform of one axis leaves its result.
                let natural = self.handle.allocate(NATURAL)?;
                self.handle.copy(&natural, &data)?;
                self.synchronize()?;
                self.scale(&natural, NATURAL, factor)?;
                return self.exchange(output, &natural, NATURAL, Exchange::FromParts);
            }
            let last = if self.kind == TransformKind::C2R { NATURAL } else { SHUFFLED };
            self.scale(&data, last, factor)?;
            self.exchange(output, &data, last, Exchange::FromParts)
        }
    }
}

/// The whole array, contiguous on a device or in host memory.
#[derive(Clone, Copy, Debug)]
struct WholeArray {
    address: usize,
    location: MemoryLocation,
}

/// The direction of a copy between the whole array and the parts.
#[derive(Clone, Copy, Debug)]
enum Exchange {
    ToParts,
    FromParts,
}

/// The rows of a part, and where they are in the whole array. All fields but `rows` are in bytes.
#[derive(Debug, PartialEq, Eq)]
struct PartCopy {
    /// From the start of the whole array to the first row.
    offset: usize,
    /// From row to row of the whole array.
    pitch: usize,
    /// From row to row of the part.
    part_pitch: usize,
    /// Of a row.
    width: usize,
    /// Number of rows.
    rows: usize,
}

/// Returns the start and the size of one of `parts` parts of `total`. If `total` is not a multiple
/// of their number, the first parts get one more.
pub(super) fn partition(total: usize, parts: usize, index: usize) -> (usize, usize) {
    let (each, more) = (total / parts, total % parts);
    (each * index + more.min(index), each + usize::from(index < more))
}

#[cfg(test)]
#[path = "cufft_xt_tests.rs"]
mod tests;
