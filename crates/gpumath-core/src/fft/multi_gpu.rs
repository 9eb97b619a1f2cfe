//! Transforms on several devices of one process.
//!
//! A batch is split: each device transforms a part of it with an ordinary plan of its own. cuFFT Xt
//! would do that too, but with limits of sizes, and with other code than one device uses. One
//! transform alone is spread over the devices by cuFFT Xt (`cufft_xt.rs`).
//!
//! A call on several devices blocks until the result is there. `memory_size` is what an execution
//! allocates on the device where it allocates most, which a memory limit bounds.

use super::callback::largest_factor_is_at_most;
use super::cufft::CufftPlan;
use super::cufft_xt::{CufftXtPlan, partition};
use super::peer_access::PeerAccessGuard;
use super::plan::FftArguments;
use super::problem::{FftProblem, Precision, TransformKind};
use crate::device::{ContextGuard, Devices, Stream, StreamRef};
use crate::error::{Error, Result};
use crate::memory::{
    BaseCUDAMemoryManager, MemoryPointer, PitchedMemory, StreamOrderedPool, copy_from_host,
    copy_pitched_async_in, copy_to_host,
};
use crate::operation::{Call, Engine};
use crate::tensor::{Dims, Layout, MemoryLocation};

/// Limits in cuFFT's documentation for each axis of a transform that is spread: the least number of
/// points, and the largest prime factor of a long axis.
const MIN_EXTENT: i64 = 32;
const MAX_PRIME: i64 = 127;

/// Plans `problem` on the devices.
pub(super) fn plan(
    problem: &FftProblem,
    devices: Devices,
) -> Result<Box<dyn Engine<Arguments = FftArguments>>> {
    let batch = check(problem, devices)?;
    devices.check()?;
    Ok(if batch > 1 {
        Box::new(BatchSplit::new(problem, batch as usize, devices)?)
    } else {
        Box::new(CufftXtPlan::new(problem, devices)?)
    })
}

/// A batch of which each device transforms a part. It holds no device memory but that of cuFFT's
/// plans.
#[derive(Debug)]
struct BatchSplit {
    parts: Vec<BatchPart>,
    devices: Devices,
    /// One stream for each part.
    streams: Vec<Stream>,
}

impl BatchSplit {
    fn new(problem: &FftProblem, batch: usize, devices: Devices) -> Result<Self> {
        let parts = BatchPart::all(problem, batch, devices)?;
        let used = &devices.ordinals()[..parts.len()];
        let streams = used.iter().map(|&ordinal| Stream::new(ordinal)).collect::<Result<_>>()?;
        Ok(Self { parts, devices, streams })
    }
}

impl Engine for BatchSplit {
    type Arguments = FftArguments;

    fn name(&self) -> &'static str {
        "cufft"
    }

    fn workspace_size(&self) -> usize {
        self.parts.iter().map(BatchPart::memory_size).max().unwrap_or(0)
    }

    fn device_memory(&self) -> usize {
        self.parts.iter().map(|part| part.plan.device_memory()).sum()
    }

    fn library_calls(&self) -> usize {
        self.parts.iter().map(|part| part.plan.library_calls()).sum()
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, FftArguments>,
    ) -> Result<()> {
        let (input, output) = call.only_addresses()?;
        call.stream.map_or(Ok(()), StreamRef::synchronize)?;
        // Copies between devices are direct only with peer access.
        let _peers = match call.location {
            MemoryLocation::Host => None,
            location @ MemoryLocation::Device(_) => {
                Some(PeerAccessGuard::new(self.devices, location)?)
            }
        };
        let mut memory = Vec::with_capacity(self.parts.len());
        let mut enqueue = || {
            for (part, stream) in self.parts.iter().zip(&self.streams) {
                // SAFETY: the caller guarantees that the input is valid until this function
                // returns, which is after the stream's work is done.
                memory.push(unsafe { part.begin(input, call, stream) }?);
            }
            // Only now, because a copy to ordinary host memory blocks until it is done.
            for ((part, stream), memory) in self.parts.iter().zip(&self.streams).zip(&memory) {
                // SAFETY: the caller guarantees that the output is valid until this function
                // returns, which is after the stream's work is done.
                unsafe { part.finish(memory, output, call.location, stream) }?;
            }
            Ok(())
        };
        let enqueued = enqueue();
        // Also after an error, because the copies use memory that the caller may free.
        let done = Stream::synchronize_all(&self.streams);
        enqueued.and(done)
    }
}

/// A part of a batch, on one device.
#[derive(Debug)]
struct BatchPart {
    plan: CufftPlan,
    /// The start of the part in the input, and its size, in bytes.
    input: (usize, usize),
    /// The start of the part in the output, and its size, in bytes.
    output: (usize, usize),
}

/// The memory in which a part is transformed. Dropping it frees the memory in the order of the
/// device's stream.
struct BatchPartMemory {
    input: MemoryPointer,
    output: MemoryPointer,
    workspace: MemoryPointer,
}

impl BatchPart {
    fn all(problem: &FftProblem, batch: usize, devices: Devices) -> Result<Vec<Self>> {
        let count = devices.ordinals().len().min(batch);
        let first = problem.input.ndim() - problem.axes.len();
        let axes: Dims = problem.axes.iter().map(|&axis| axis - first as i64 + 1).collect();
        let sizes = (problem.input_dtype().size(), problem.output_dtype().size());
        (0..count)
            .map(|index| {
                let (start, rows) = partition(batch, count, index);
                let part = |layout: &Layout, size: usize| {
                    let mut shape = Dims::from_slice(&[rows as i64]);
                    shape.extend_from_slice(&layout.shape[first..]);
                    let row = layout.shape[first..].iter().product::<i64>() as usize * size;
                    (Layout::contiguous(&shape), (start * row, rows * row))
                };
                let (input_layout, input) = part(&problem.input, sizes.0);
                let (output_layout, output) = part(&problem.output, sizes.1);
                let (kind, precision) = (problem.kind, problem.precision);
                let own = FftProblem::new(
                    kind,
                    precision,
                    axes.clone(),
                    input_layout,
                    output_layout,
                    false,
                )?;
                Ok(Self { plan: CufftPlan::new(&own, devices.ordinals()[index])?, input, output })
            })
            .collect()
    }

    fn memory_size(&self) -> usize {
        self.input.1 + self.output.1 + self.plan.workspace_size()
    }

    /// Enqueues the copy of this part of the input, and its transform.
    ///
    /// # Safety
    /// - As for the engine's `execute`, with memory for the input at `input`.
    /// - The stream outlives the result, and the caller synchronizes with it before the input is
    ///   freed.
    unsafe fn begin(
        &self,
        input: usize,
        call: &Call<'_, FftArguments>,
        stream: &Stream,
    ) -> Result<BatchPartMemory> {
        let context = ContextGuard::enter(stream.device())?;
        let pool = StreamOrderedPool::of(stream.device())?;
        // SAFETY: the caller guarantees that the stream outlives the memory.
        let stream = unsafe { stream.stream_ref() };
        let memory = BatchPartMemory {
            input: pool.memalloc(self.input.1, stream)?,
            output: pool.memalloc(self.output.1, stream)?,
            workspace: pool.memalloc(self.plan.workspace_size(), stream)?,
        };
        let (start, size) = self.input;
        let location = call.location;
        let from = PitchedMemory { address: input + start, pitch: size, location };
        let to = memory_of(&memory.input, size, stream);
        let call = Call {
            inputs: &[memory.input.address()],
            outputs: &[memory.output.address()],
            stream: Some(stream),
            workspace: memory.workspace.address(),
            ..*call
        };
        // SAFETY: the caller guarantees that the input is valid. The memory has room for the part
        // and the plan's workspace, and is freed in the order of the stream.
        unsafe {
            if location == MemoryLocation::Host {
                copy_from_host(to.address, from.address, size, stream)?;
            } else {
                copy_pitched_async_in(&context, to, from, (size, 1), stream)?;
            }
            self.plan.execute(Some(&context), &call)?;
        }
        Ok(memory)
    }

    /// Enqueues the copy of this part of the result.
    ///
    /// # Safety
    /// - `memory` is the result of [`Self::begin`] with the same stream.
    /// - The output is valid at `location`, until the caller has synchronized with the stream.
    unsafe fn finish(
        &self,
        memory: &BatchPartMemory,
        output: usize,
        location: MemoryLocation,
        stream: &Stream,
    ) -> Result<()> {
        let context = ContextGuard::enter(stream.device())?;
        let (start, size) = self.output;
        let to = PitchedMemory { address: output + start, pitch: size, location };
        // SAFETY: the caller guarantees that the output is valid, and that `memory` has this part
        // of the result.
        unsafe {
            let stream = stream.stream_ref();
            let from = memory_of(&memory.output, size, stream);
            if location == MemoryLocation::Host {
                return copy_to_host(to.address, from.address, size, stream);
            }
            copy_pitched_async_in(&context, to, from, (size, 1), stream)
        }
    }
}

/// Describes a block on the stream's device as one row.
fn memory_of(block: &MemoryPointer, size: usize, stream: StreamRef) -> PitchedMemory {
    let location = MemoryLocation::Device(stream.device());
    PitchedMemory { address: block.address(), pitch: size, location }
}

/// Refuses what several devices cannot do, before they are used; otherwise returns the number of
/// transforms.
fn check(problem: &FftProblem, devices: Devices) -> Result<i64> {
    let refuse = |reason: String| Err(Error::InvalidValue(reason));
    if !problem.callbacks.is_empty() {
        return refuse(
            "prolog and epilog work on one GPU only, but device_ids names several; leave it out, \
             or apply the functions to the operand and to the result"
                .into(),
        );
    }
    let ndim = problem.input.ndim();
    let first = ndim - problem.axes.len();
    let are_last = problem.axes.iter().all(|&axis| axis as usize >= first);
    let is_halved_last = problem.kind == TransformKind::C2C
        || problem.axes.last().is_some_and(|&axis| axis as usize == ndim - 1);
    if !are_last || !is_halved_last {
        return Err(problem.unsupported_layout(
            "several devices transform the last axes only, for R2C and C2R with the last of all as \
             the last one",
        ));
    }
    for (name, layout) in [("its", &problem.input), ("out's", &problem.output)] {
        if !layout.is_equivalent(&Layout::contiguous(&layout.shape)) {
            return Err(problem.unsupported_layout(&format!(
                "several devices take C-contiguous arrays only, but {name} strides are {:?}",
                layout.strides.as_slice()
            )));
        }
    }
    let batch = problem.input.shape[..first].iter().product::<i64>();
    if batch == 1 {
        check_cufft_xt(problem, devices)?;
    }
    Ok(batch)
}

/// Refuses what exceeds the documented limits of cuFFT Xt for a transform without a batch.
fn check_cufft_xt(problem: &FftProblem, devices: Devices) -> Result<()> {
    let (rank, count) = (problem.axes.len(), devices.ordinals().len());
    let extents: Vec<i64> = (0..rank).map(|position| problem.extent(position)).collect();
    let refuse = |limit: &str| {
        Err(Error::InvalidValue(format!(
            "cuFFT cannot spread one {:?} transform of {extents:?} points in {:?} precision over \
             {count} devices: {limit}; several transforms at once, as a batch, can have any sizes; \
             or leave device_ids out",
            problem.kind, problem.precision
        )))
    };
    if problem.precision == Precision::Half {
        return refuse("it needs single or double precision");
    }
    match extents[..] {
        [extent] => {
            let least = match count {
                16 => 1024,
                8 => 128,
                2 | 4 => 64,
                _ => return refuse("along one axis it needs 2, 4, 8 or 16 devices"),
            };
            if problem.kind != TransformKind::C2C {
                return refuse(
                    "along one axis it transforms complex numbers to complex numbers only",
                );
            }
            if extent < least || extent & (extent - 1) != 0 {
                return refuse(&format!(
                    "along one axis it needs a power of two of at least {least} points"
                ));
            }
        }
        [_, _] | [_, _, _] => {
            let longest = if problem.precision == Precision::Double { 2048 } else { 4096 };
            let fits = |extent: i64| {
                extent >= MIN_EXTENT
                    && (extent <= longest || largest_factor_is_at_most(MAX_PRIME, extent))
            };
            if !extents.iter().all(|&extent| fits(extent)) {
                return refuse(&format!(
                    "each axis needs at least {MIN_EXTENT} points, and above {longest} a number \
                     without prime factors above {MAX_PRIME}"
                ));
            }
        }
        _ => return refuse("it transforms up to three axes"),
    }
    Ok(())
}

#[cfg(test)]
#[path = "multi_gpu_tests.rs"]
mod tests;
