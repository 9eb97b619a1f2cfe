//! Transforms on several devices of one process.
//!
//! A batch is shared out: each device transforms some of it with a plan of its own. One transform alone is spread over the
//! devices by cuFFT Xt.

use super::callback::largest_factor_is_at_most;
use super::cufft::CufftPlan;
use super::cufft_xt::{CufftXtPlan, partition, synchronize_all};
use super::peer_access::PeerAccessGuard;
use super::problem::{Direction, Precision, Problem, TransformKind};
use crate::device::{Devices, Stream, synchronize};
use crate::error::{Error, Result};
use crate::memory::{
    BaseCUDAMemoryManager, MemoryPointer, PitchedMemory, StreamOrderedPool, copy_pitched_async,
};
use crate::tensor::{Dims, Layout};

/// What cuFFT's documentation asks of each axis of a transform that is spread.
const MIN_EXTENT: i64 = 32;
const MAX_PRIME: i64 = 127;

/// A transform ready to run on several devices. It holds no memory of theirs but what cuFFT's plans take.
#[derive(Debug)]
pub(crate) struct MultiPlan {
    method: MultiGpuMethod,
    devices: Devices,
    /// One for each device that takes part.
    streams: Vec<Stream>,
}

#[derive(Debug)]
enum MultiGpuMethod {
    BatchSplit(Vec<BatchPart>),
    CufftXt(CufftXtPlan),
}

impl MultiPlan {
    pub(crate) fn new(problem: &Problem, devices: Devices) -> Result<Self> {
        let batch = check(problem, devices)?;
        devices.check()?;
        let method = if batch > 1 {
            MultiGpuMethod::BatchSplit(BatchPart::all(problem, batch as usize, devices)?)
        } else {
            MultiGpuMethod::CufftXt(CufftXtPlan::new(problem, devices)?)
        };
        let count = match &method {
            MultiGpuMethod::BatchSplit(parts) => parts.len(),
            MultiGpuMethod::CufftXt(_) => devices.ordinals().len(),
        };
        let streams = devices.ordinals()[..count]
            .iter()
            .map(|&ordinal| Stream::new(ordinal))
            .collect::<Result<_>>()?;
        Ok(Self { method, devices, streams })
    }

    /// Bytes of device memory, on all devices together, that making the plans took.
    pub(crate) fn device_memory(&self) -> usize {
        match &self.method {
            MultiGpuMethod::CufftXt(spread) => spread.device_memory(),
            MultiGpuMethod::BatchSplit(parts) => {
                parts.iter().map(|part| part.plan.device_memory()).sum()
            }
        }
    }

    /// Bytes that an execution takes on the device that it takes most of.
    pub(crate) fn memory_size(&self) -> usize {
        match &self.method {
            MultiGpuMethod::CufftXt(spread) => spread.memory_size(),
            MultiGpuMethod::BatchSplit(parts) => {
                parts.iter().map(BatchPart::memory_size).max().unwrap_or(0)
            }
        }
    }

    /// How many calls of cuFFT one execution makes.
    pub(crate) fn calls(&self) -> usize {
        match &self.method {
            MultiGpuMethod::CufftXt(_) => 1,
            MultiGpuMethod::BatchSplit(parts) => parts.iter().map(|part| part.plan.calls()).sum(),
        }
    }

    /// Transforms when the work on `stream` is done, and waits for the result. `place` is the device that has input and
    /// output, or `None` if they are in host memory.
    ///
    /// # Safety
    /// As for `FftPlan::execute`, but for where the memory is; `stream` is a valid stream handle of `place`.
    pub(crate) unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        place: Option<i32>,
        direction: Direction,
        factor: Option<f64>,
        stream: usize,
    ) -> Result<()> {
        if let Some(device) = place {
            // SAFETY: the caller vouches for the stream.
            unsafe { synchronize(stream, device) }?;
        }
        match &self.method {
            // SAFETY: handed on as they are.
            MultiGpuMethod::CufftXt(spread) => unsafe {
                spread.execute((input, place), (output, place), direction, factor, &self.streams)
            },
            MultiGpuMethod::BatchSplit(parts) => {
                let _connected =
                    place.map(|_| PeerAccessGuard::new(self.devices, place)).transpose()?;
                let mut memory = Vec::with_capacity(parts.len());
                let mut enqueue = || {
                    for (part, stream) in parts.iter().zip(&self.streams) {
                        // SAFETY: handed on as they are.
                        memory.push(unsafe {
                            part.begin((input, place), direction, factor, stream)
                        }?);
                    }
                    // Only now, since a copy to ordinary host memory waits for the device.
                    for ((part, stream), memory) in parts.iter().zip(&self.streams).zip(&memory) {
                        // SAFETY: handed on as they are.
                        unsafe { part.finish(memory, output, place, stream) }?;
                    }
                    Ok(())
                };
                let enqueued = enqueue();
                // Also after an error: the copies use memory that the caller may free.
                let done = synchronize_all(&self.streams);
                enqueued.and(done)
            }
        }
    }
}

/// Some of a batch, on one device.
#[derive(Debug)]
struct BatchPart {
    plan: CufftPlan,
    /// Bytes: where it starts in the array, and how many there are.
    input: (usize, usize),
    output: (usize, usize),
}

/// What a share works on. It is given back in the order of the device's stream.
struct BatchPartMemory {
    input: MemoryPointer,
    output: MemoryPointer,
    workspace: MemoryPointer,
}

impl BatchPart {
    fn all(problem: &Problem, batch: usize, devices: Devices) -> Result<Vec<Self>> {
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
                let own = Problem::new(
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

    /// Enqueues the copy of the input and the transform.
    ///
    /// # Safety
    /// As for [`MultiPlan::execute`]; the caller waits for the stream.
    unsafe fn begin(
        &self,
        (input, place): (usize, Option<i32>),
        direction: Direction,
        factor: Option<f64>,
        stream: &Stream,
    ) -> Result<BatchPartMemory> {
        let (device, handle) = (stream.device(), stream.handle());
        let pool = StreamOrderedPool::of(device)?;
        // SAFETY: the stream outlives the memory, which is dropped when it was waited for; the memory has room for what
        // goes there.
        unsafe {
            let memory = BatchPartMemory {
                input: pool.memalloc(self.input.1, handle)?,
                output: pool.memalloc(self.output.1, handle)?,
                workspace: pool.memalloc(self.plan.workspace_size(), handle)?,
            };
            let size = self.input.1;
            let from = PitchedMemory { address: input + self.input.0, pitch: size, place };
            let to =
                PitchedMemory { address: memory.input.address(), pitch: size, place: Some(device) };
            copy_pitched_async(to, from, size, 1, device, handle)?;
            self.plan.execute(
                memory.input.address(),
                memory.output.address(),
                direction,
                factor,
                handle,
                memory.workspace.address(),
            )?;
            Ok(memory)
        }
    }

    /// Enqueues the copy of the result.
    ///
    /// # Safety
    /// As for [`Self::begin`].
    unsafe fn finish(
        &self,
        memory: &BatchPartMemory,
        output: usize,
        place: Option<i32>,
        stream: &Stream,
    ) -> Result<()> {
        let (device, size) = (stream.device(), self.output.1);
        let from =
            PitchedMemory { address: memory.output.address(), pitch: size, place: Some(device) };
        let to = PitchedMemory { address: output + self.output.0, pitch: size, place };
        // SAFETY: the caller vouches for the output.
        unsafe { copy_pitched_async(to, from, size, 1, device, stream.handle()) }
    }
}

/// Refuses what several devices cannot do, before they are touched; otherwise gives the number of transforms.
fn check(problem: &Problem, devices: Devices) -> Result<i64> {
    let refuse = |reason: String| Err(Error::InvalidValue(reason));
    if !problem.callbacks.is_empty() {
        return refuse(
            "prolog and epilog work on one GPU only, and device_ids names several; leave it out, or apply the functions \
             to the operand and to the result"
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
            "several devices transform the last axes only, for R2C and C2R with the last of all as the last one",
        ));
    }
    for (name, layout) in [("its", &problem.input), ("out's", &problem.output)] {
        if !layout.is_equivalent(&Layout::contiguous(&layout.shape)) {
            return Err(problem.unsupported_layout(&format!(
                "several devices take C-contiguous arrays only, and {name} strides are {:?}",
                layout.strides.as_slice()
            )));
        }
    }
    let batch = problem.input.shape[..first].iter().product::<i64>();
    if batch == 1 {
        check_spread(problem, devices)?;
    }
    Ok(batch)
}

/// The documented limits of cuFFT Xt for a transform without a batch.
fn check_spread(problem: &Problem, devices: Devices) -> Result<()> {
    let (rank, count) = (problem.axes.len(), devices.ordinals().len());
    let extents: Vec<i64> = (0..rank).map(|position| problem.extent(position)).collect();
    let refuse = |limit: &str| {
        Err(Error::InvalidValue(format!(
            "cuFFT cannot spread one {:?} transform of {extents:?} points in {:?} precision over {count} devices: {limit}; \
             several transforms at once, as a batch, can have any sizes; or leave device_ids out",
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
                    "each axis needs at least {MIN_EXTENT} points, and above {longest} a number without prime factors \
                     above {MAX_PRIME}"
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
