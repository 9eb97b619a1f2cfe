//! One transform spread over several devices, by cuFFT Xt.
//!
//! cuFFT works in place, on parts of its own in the memory of each device. Natural order gives each device some of the
//! slowest axis, and a transform of two or three axes leaves each with some of the second axis instead ("shuffled"),
//! from which C2R starts. Where rows of real numbers go in or come out, they are as far apart as the complex ones.

use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::cufft;

use super::cufft::{PLANNING, check, free_memory};
use super::cufft_xt_memory::{Descriptor, WorkArea};
use super::peer_access::{self, PeerAccessGuard};
use super::problem::{Direction, Precision, Problem, TransformKind};
use crate::device::{ContextGuard, Device, Devices, Stream, synchronize};
use crate::error::{Error, Result};
use crate::kernels::{self, Elements};
use crate::loader;
use crate::memory::{PitchedMemory, copy_pitched_async};
use crate::tensor::Layout;

/// `CUFFT_XT_FORMAT_INPLACE`, `CUFFT_XT_FORMAT_INPLACE_SHUFFLED`
const NATURAL: i32 = 2;
const SHUFFLED: i32 = 3;
/// `CUFFT_COPY_DEVICE_TO_DEVICE`
const DEVICE_TO_DEVICE: i32 = 2;
/// Statuses with which cuFFT refuses what it cannot spread.
const REFUSALS: [i32; 3] = [4, 8, 16];

/// A plan of cuFFT Xt.
#[derive(Debug)]
pub(super) struct CufftXtPlan {
    handle: CufftXtHandle,
    kind: TransformKind,
    precision: Precision,
    /// Points of the complex side along each axis, slowest first.
    extents: Vec<usize>,
    /// Points of the real side along the last axis; of the complex one for C2C.
    last: usize,
    work_sizes: Vec<usize>,
    /// Bytes of device memory, on all devices together, that making the plan took.
    device_memory: usize,
    /// One execution at a time: the work areas are properties of the plan.
    turn: Mutex<()>,
}

impl CufftXtPlan {
    /// Plans a transform without a batch. The driver and the devices are there.
    pub(super) fn new(problem: &Problem, devices: Devices) -> Result<Self> {
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
                        "cuFFT cannot spread {extent} points along one axis over devices: {} is the most; leave \
                         device_ids out",
                        i32::MAX
                    ))
                })
            })
            .collect::<Result<_>>()?;
        // Loads the library outside the lock: the search may have to wait for Python.
        loader::function(&cufft::CREATE)?;
        let _context = ContextGuard::enter_pushed(devices.first())?;
        let handle = CufftXtHandle::new(devices)?;
        let _planning = PLANNING.lock().unwrap_or_else(PoisonError::into_inner);
        let free = free_memory(devices.ordinals())?;
        let work_sizes = peer_access::make(|| handle.plan(problem, &n))?;
        let device_memory = free.saturating_sub(free_memory(devices.ordinals())?);
        Ok(Self {
            handle,
            kind: problem.kind,
            precision: problem.precision,
            last: reals.last().copied().unwrap_or(1),
            extents,
            work_sizes,
            device_memory,
            turn: Mutex::new(()),
        })
    }

    pub(super) fn device_memory(&self) -> usize {
        self.device_memory
    }

    /// Bytes that an execution takes on the device that it takes most of.
    pub(super) fn memory_size(&self) -> usize {
        let parts = if self.extents.len() == 1 { 2 } else { 1 };
        let part = |index| self.part_size(index) * parts + self.work_sizes[index];
        (0..self.work_sizes.len()).map(part).max().unwrap_or(0)
    }

    /// Transforms, multiplies the result by the factor if there is one, and waits for it. `streams` are the devices' own.
    ///
    /// # Safety
    /// As for `MultiPlan::execute`.
    pub(super) unsafe fn execute(
        &self,
        input: (usize, Option<i32>),
        output: (usize, Option<i32>),
        direction: Direction,
        factor: Option<f64>,
        streams: &[Stream],
    ) -> Result<()> {
        let devices = self.handle.devices;
        // cuFFT leaves other devices current than it found. Before the locks, which a forked child may find taken.
        let _context = ContextGuard::enter_pushed(devices.first())?;
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _connected = PeerAccessGuard::new(devices, input.1)?;
        let first = if self.kind == TransformKind::C2R { SHUFFLED } else { NATURAL };
        let data = self.handle.allocate(first)?;
        let _areas = self.handle.lend_work_areas(&self.work_sizes)?;
        // SAFETY: the caller vouches for input and output, and the parts were allocated for the plan.
        unsafe {
            self.exchange(input, &data, first, true, streams)?;
            self.handle.execute(&data, direction, self.kind, self.precision)?;
            self.synchronize()?;
            if self.extents.len() == 1 {
                // Only cuFFT knows the order in which the transform of one axis leaves its result.
                let natural = self.handle.allocate(NATURAL)?;
                self.handle.copy(&natural, &data)?;
                self.synchronize()?;
                self.scale(&natural, NATURAL, factor, streams)?;
                return self.exchange(output, &natural, NATURAL, false, streams);
            }
            let last = if self.kind == TransformKind::C2R { NATURAL } else { SHUFFLED };
            self.scale(&data, last, factor, streams)?;
            self.exchange(output, &data, last, false, streams)
        }
    }

    /// Copies the whole array, at `address` on a device or in host memory, to the parts or from them, and waits.
    ///
    /// # Safety
    /// The array has one side of the plan; the parts are those of a descriptor of the plan.
    unsafe fn exchange(
        &self,
        (address, place): (usize, Option<i32>),
        parts: &Descriptor,
        format: i32,
        to_parts: bool,
        streams: &[Stream],
    ) -> Result<()> {
        let enqueue = || {
            for index in 0..streams.len() {
                let (part, size, ordinal) = parts.part(index);
                let copy = self.part_copy(index, format);
                let stream = streams.iter().find(|stream| stream.device() == ordinal);
                let Some(stream) = stream.filter(|_| size >= self.part_size_in(index, format))
                else {
                    return Err(Error::InvalidState(format!(
                        "cuFFT gave {size} bytes on device {ordinal} for part {index}, which needs {} bytes on one of \
                         the devices {:?}; use one device",
                        self.part_size_in(index, format),
                        self.handle.devices.ordinals()
                    )));
                };
                let whole =
                    PitchedMemory { address: address + copy.offset, pitch: copy.pitch, place };
                let part =
                    PitchedMemory { address: part, pitch: copy.part_pitch, place: Some(ordinal) };
                let (to, from) = if to_parts { (part, whole) } else { (whole, part) };
                // SAFETY: the part has room, and the array has the rows.
                unsafe {
                    copy_pitched_async(to, from, copy.width, copy.rows, ordinal, stream.handle())
                }?;
            }
            Ok(())
        };
        let enqueued = enqueue();
        // Also after an error: the copies use memory that the caller may free.
        let done = synchronize_all(streams);
        enqueued.and(done)
    }

    /// Enqueues that every part is multiplied by the factor, if there is one, together with what lies between its rows.
    ///
    /// # Safety
    /// The parts are those of a descriptor of the plan.
    unsafe fn scale(
        &self,
        parts: &Descriptor,
        format: i32,
        factor: Option<f64>,
        streams: &[Stream],
    ) -> Result<()> {
        let Some(factor) = factor else { return Ok(()) };
        let dtype = self.precision.complex();
        for index in 0..streams.len() {
            let (part, size, ordinal) = parts.part(index);
            let count = size.min(self.part_size_in(index, format)) / dtype.size();
            let elements = Elements::of(&Layout::contiguous(&[count as i64]))?;
            for stream in streams.iter().filter(|stream| stream.device() == ordinal) {
                // SAFETY: cuFFT's parts are aligned, have that many complex numbers, and live until the stream was
                // waited for.
                unsafe {
                    kernels::scale(part, dtype, &elements, factor, ordinal, stream.handle())
                }?;
            }
        }
        Ok(())
    }

    /// Waits for all work of all devices: cuFFT has streams of its own.
    fn synchronize(&self) -> Result<()> {
        self.handle
            .devices
            .ordinals()
            .iter()
            .try_for_each(|&ordinal| Device::new(ordinal)?.synchronize())
    }

    /// How a device's part lies in the whole array.
    fn part_copy(&self, index: usize, format: i32) -> PartCopy {
        let complex = self.precision.complex().size();
        let axes = &self.extents;
        let devices = self.handle.devices.ordinals().len();
        if format == SHUFFLED {
            // Always complex: all of the first axis, some of the second one.
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
        // One axis alone is a row of which each device gets some.
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

    /// Bytes of a part in one order.
    fn part_size_in(&self, index: usize, format: i32) -> usize {
        let copy = self.part_copy(index, format);
        copy.part_pitch * copy.rows
    }

    /// Bytes of a part, which cuFFT makes large enough for both orders.
    fn part_size(&self, index: usize) -> usize {
        let natural = self.part_size_in(index, NATURAL);
        if self.extents.len() == 1 {
            return natural;
        }
        natural.max(self.part_size_in(index, SHUFFLED))
    }
}

/// The rows of a part: in the whole array they start at `offset` and are `pitch` bytes apart.
#[derive(Debug, PartialEq, Eq)]
struct PartCopy {
    offset: usize,
    pitch: usize,
    part_pitch: usize,
    width: usize,
    rows: usize,
}

/// Start and number of what one of `parts` gets of `total`: the first ones get one more if it is not a multiple.
pub(super) fn partition(total: usize, parts: usize, index: usize) -> (usize, usize) {
    let (each, more) = (total / parts, total % parts);
    (each * index + more.min(index), each + usize::from(index < more))
}

/// Waits for every stream, whatever the others say.
pub(super) fn synchronize_all(streams: &[Stream]) -> Result<()> {
    let mut answer = Ok(());
    for stream in streams {
        // SAFETY: the stream is alive.
        answer = answer.and(unsafe { synchronize(stream.handle(), stream.device()) });
    }
    answer
}

/// An owned `cufftHandle` of several devices.
#[derive(Debug)]
struct CufftXtHandle {
    plan: i32,
    devices: Devices,
}

impl CufftXtHandle {
    fn new(devices: Devices) -> Result<Self> {
        let mut plan = 0_i32;
        let create = loader::function(&cufft::CREATE)?;
        // SAFETY: the address is that of a live i32.
        check(cufft::CREATE.symbol(), unsafe { create(&raw mut plan as usize) }, String::new)?;
        Ok(Self { plan, devices })
    }

    /// Plans, once and without work areas; gives their sizes.
    fn plan(&self, problem: &Problem, n: &[i32]) -> Result<Vec<usize>> {
        let (plan, mut ordinals) = (self.plan, self.devices.ordinals().to_vec());
        let context = || {
            format!(
                "one {:?} of {n:?} points, {:?} precision, devices {:?}",
                problem.kind,
                problem.precision,
                self.devices.ordinals()
            )
        };
        let set_auto_allocation = loader::function(&cufft::SET_AUTO_ALLOCATION)?;
        // SAFETY: the plan is alive.
        let status = unsafe { set_auto_allocation(plan, 0) };
        check(cufft::SET_AUTO_ALLOCATION.symbol(), status, String::new)?;
        let set_gpus = loader::function(&cufft::XT_SET_GPUS)?;
        // SAFETY: the plan is alive and not made yet; the array has as many ordinals as are said.
        let status =
            unsafe { set_gpus(plan, ordinals.len() as i32, ordinals.as_mut_ptr() as usize) };
        check(cufft::XT_SET_GPUS.symbol(), status, context)?;
        let mut work_sizes = vec![0_usize; ordinals.len()];
        let (work, kind) = (work_sizes.as_mut_ptr() as usize, plan_type(problem));
        let (row, status) = match *n {
            [x] => {
                let make = loader::function(&cufft::MAKE_PLAN1D)?;
                // SAFETY: the plan is alive and not made yet, and cuFFT writes one size for each device.
                (cufft::MAKE_PLAN1D.symbol(), unsafe { make(plan, x, kind, 1, work) })
            }
            [x, y] => {
                let make = loader::function(&cufft::MAKE_PLAN2D)?;
                // SAFETY: the plan is alive and not made yet, and cuFFT writes one size for each device.
                (cufft::MAKE_PLAN2D.symbol(), unsafe { make(plan, x, y, kind, work) })
            }
            [x, y, z] => {
                let make = loader::function(&cufft::MAKE_PLAN3D)?;
                // SAFETY: the plan is alive and not made yet, and cuFFT writes one size for each device.
                (cufft::MAKE_PLAN3D.symbol(), unsafe { make(plan, x, y, z, kind, work) })
            }
            _ => return Err(Error::InvalidValue(format!("{} axes at once", n.len()))),
        };
        if REFUSALS.contains(&status) {
            return Err(Error::InvalidValue(format!(
                "cuFFT refuses to plan {} (status {status}); give fewer devices, other lengths, or leave device_ids out",
                context()
            )));
        }
        check(row, status, context)?;
        Ok(work_sizes)
    }

    /// Memory for the data on all devices.
    fn allocate(&self, format: i32) -> Result<Descriptor> {
        let mut address = 0_usize;
        let malloc = loader::function(&cufft::XT_MALLOC)?;
        // SAFETY: the plan is alive, and the address is that of a live usize.
        let status = unsafe { malloc(self.plan, &raw mut address as usize, format) };
        check(cufft::XT_MALLOC.symbol(), status, || "its parts of the data".to_owned())?;
        Ok(Descriptor { address, device: self.devices.first() })
    }

    /// Gives the plan work areas until the answer is dropped. They are memory that peers can reach, which that of a pool
    /// is not by itself.
    fn lend_work_areas(&self, sizes: &[usize]) -> Result<Vec<WorkArea>> {
        let areas: Vec<WorkArea> = self
            .devices
            .ordinals()
            .iter()
            .zip(sizes)
            .map(|(&ordinal, &size)| WorkArea::new(ordinal, size))
            .collect::<Result<_>>()?;
        let mut addresses: Vec<usize> = areas.iter().map(|area| area.address).collect();
        let set_work_area = loader::function(&cufft::XT_SET_WORK_AREA)?;
        // SAFETY: the plan is alive, and there is one area of its size for each device.
        let status = unsafe { set_work_area(self.plan, addresses.as_mut_ptr() as usize) };
        check(cufft::XT_SET_WORK_AREA.symbol(), status, String::new)?;
        Ok(areas)
    }

    /// # Safety
    /// The descriptor is one of this plan, and work areas are lent.
    unsafe fn execute(
        &self,
        data: &Descriptor,
        direction: Direction,
        kind: TransformKind,
        precision: Precision,
    ) -> Result<()> {
        let (plan, at) = (self.plan, data.address);
        let double = precision == Precision::Double;
        if kind == TransformKind::C2C {
            let row = if double {
                &cufft::XT_EXEC_DESCRIPTOR_Z2Z
            } else {
                &cufft::XT_EXEC_DESCRIPTOR_C2C
            };
            let exec = loader::function(row)?;
            // SAFETY: as the caller vouches.
            return check(
                row.symbol(),
                unsafe { exec(plan, at, at, direction.sign()) },
                String::new,
            );
        }
        let row = match (kind, double) {
            (TransformKind::R2C, false) => &cufft::XT_EXEC_DESCRIPTOR_R2C,
            (TransformKind::R2C, true) => &cufft::XT_EXEC_DESCRIPTOR_D2Z,
            (_, false) => &cufft::XT_EXEC_DESCRIPTOR_C2R,
            (_, true) => &cufft::XT_EXEC_DESCRIPTOR_Z2D,
        };
        let exec = loader::function(row)?;
        // SAFETY: as the caller vouches.
        check(row.symbol(), unsafe { exec(plan, at, at) }, String::new)
    }

    /// # Safety
    /// Both are descriptors of this plan.
    unsafe fn copy(&self, to: &Descriptor, from: &Descriptor) -> Result<()> {
        let copy = loader::function(&cufft::XT_MEMCPY)?;
        // SAFETY: as the caller vouches.
        let status = unsafe { copy(self.plan, to.address, from.address, DEVICE_TO_DEVICE) };
        check(cufft::XT_MEMCPY.symbol(), status, String::new)
    }
}

/// The `cufftType`.
const fn plan_type(problem: &Problem) -> i32 {
    match (problem.kind, problem.precision) {
        (TransformKind::C2C, Precision::Double) => 0x69,
        (TransformKind::R2C, Precision::Double) => 0x6a,
        (TransformKind::C2R, Precision::Double) => 0x6c,
        (TransformKind::C2C, _) => 0x29,
        (TransformKind::R2C, _) => 0x2a,
        (TransformKind::C2R, _) => 0x2c,
    }
}

impl Drop for CufftXtHandle {
    fn drop(&mut self) {
        peer_access::destroy(self.plan, self.devices);
    }
}

#[cfg(test)]
#[path = "cufft_xt_tests.rs"]
mod tests;
