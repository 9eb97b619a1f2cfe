//! The engine on NVIDIA GPUs.

use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::cufft;
use gpumath_sys::table::Symbol;

use super::callback::{Attached, Callbacks, Place};
use super::passes::{BufferRole, Pass, Passes};
use super::problem::{Direction, Precision, Problem, TransformKind};
use super::workspace::WorkspaceLayout;
use crate::device::{ContextGuard, Device, may_call_cuda_in_drop};
use crate::error::{Error, Result, Status};
use crate::kernels::{self, Elements};
use crate::loader;
use crate::memory::{self, ALIGNMENT};
use crate::tensor::DType;

const SUCCESS: i32 = 0;
const ALLOC_FAILED: i32 = 2;
const INTERNAL_ERROR: i32 = 5;

/// More bytes than cuFFT's code takes.
const ENOUGH_MEMORY: usize = 256 << 20;

/// One planning call at a time: cuFFT's own caches are not made for more.
pub(super) static PLANNING: Mutex<()> = Mutex::new(());

/// Bytes of device memory that are free on all of these devices together. What planning takes is the difference.
pub(super) fn free_memory(devices: &[i32]) -> Result<usize> {
    devices.iter().map(|&device| Ok(Device::new(device)?.memory_info()?.0)).sum()
}

/// cuFFT's status for what must not happen is also the one for finding no memory for its code.
pub(super) fn explain_internal_error(error: Error, devices: &[i32]) -> Error {
    let Error::Status(status) = &error else { return error };
    if status.library != "cufft" || status.code != INTERNAL_ERROR {
        return error;
    }
    for &device in devices {
        if let Ok(free) = free_memory(&[device])
            && free < ENOUGH_MEMORY
        {
            return Error::OutOfMemory(format!(
                "{}: cuFFT failed inside, and device {device} has {free} bytes of memory left ({})",
                status.function, status.context
            ));
        }
    }
    error
}

/// The plans of a problem, and where they work.
#[derive(Debug)]
pub(crate) struct CufftPlan {
    device: i32,
    passes: Vec<(CufftHandle, Pass)>,
    calls: usize,
    /// Bytes of an element of the input and of the output.
    sizes: (usize, usize),
    /// Bytes that the plans share to work in.
    work_size: usize,
    /// Bytes of device memory that making the plans took.
    device_memory: usize,
    /// What a factor is applied to.
    result: Box<(DType, Elements)>,
    /// What else is in the workspace.
    areas: WorkspaceLayout,
    /// Held while an execution is enqueued: stream and work area are properties of the plans.
    bound: Mutex<Bound>,
}

/// What the plans' stream and work area are set to.
#[derive(Debug, Default)]
struct Bound {
    stream: Option<usize>,
    work_area: usize,
}

impl CufftPlan {
    pub(crate) fn new(problem: &Problem, device: i32) -> Result<Self> {
        check_half(problem)?;
        let passes = Passes::of(problem)?;
        Callbacks::check(problem, &passes.passes)?;
        let sizes = (problem.input_dtype().size(), problem.output_dtype().size());
        let calls = passes.calls();
        let areas = WorkspaceLayout::of(problem, &passes);
        let result = Box::new((problem.output_dtype(), Elements::of(&problem.output)?));
        // Before the library is looked for: without a GPU, its absence is not what has to be told.
        let _context = ContextGuard::enter(device)?;
        // Loads the library outside the lock: the search may have to wait for Python.
        loader::function(&cufft::XT_MAKE_PLAN_MANY)?;
        Callbacks::prepare(problem)?;
        let _planning = PLANNING.lock().unwrap_or_else(PoisonError::into_inner);
        let free = free_memory(&[device])?;
        let mut work_size = 0;
        let mut planned = Vec::with_capacity(passes.passes.len());
        let last = passes.passes.len().saturating_sub(1);
        for (index, pass) in passes.passes.into_iter().enumerate() {
            let place = Place { is_first: index == 0, is_last: index == last };
            let (handle, size) = CufftHandle::plan(&pass, problem, place, device)?;
            work_size = work_size.max(size);
            planned.push((handle, pass));
        }
        let device_memory = free.saturating_sub(free_memory(&[device])?);
        Ok(Self {
            device,
            passes: planned,
            calls,
            sizes,
            work_size,
            device_memory,
            result,
            areas,
            bound: Mutex::default(),
        })
    }

    pub(crate) fn device(&self) -> i32 {
        self.device
    }

    pub(crate) fn device_memory(&self) -> usize {
        self.device_memory
    }

    pub(crate) fn workspace_size(&self) -> usize {
        self.areas.size(self.work_size)
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// # Safety
    /// As for `FftPlan::execute`.
    pub(crate) unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
        stream: usize,
        workspace: usize,
    ) -> Result<()> {
        self.check_alignment(input, output, workspace)?;
        let _context = ContextGuard::enter(self.device)?;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        self.bind(&mut bound, stream, workspace)?;
        let bounce = workspace + self.areas.bounce_start(self.work_size);
        let mut copy = 0;
        if let Some((copied, start)) = self.areas.copy(self.work_size) {
            let start = workspace + start;
            copy = start + copied.front;
            // SAFETY: the range is that of the input's layout, and the workspace has room for it.
            unsafe {
                memory::copy_async(
                    start,
                    input.wrapping_sub(copied.front),
                    copied.size,
                    self.device,
                    stream,
                )
            }?;
        }
        for (handle, pass) in &self.passes {
            let address = |buffer| match buffer {
                BufferRole::Input => (input, self.sizes.0),
                BufferRole::Scratch => (copy, self.sizes.0),
                BufferRole::Output => (output, self.sizes.1),
            };
            let (from, from_size) = address(pass.input.buffer);
            let (to, to_size) = address(pass.output.buffer);
            for &(from_offset, to_offset) in &pass.offsets {
                let from = from.wrapping_add_signed(from_offset as isize * from_size as isize);
                let to = to.wrapping_add_signed(to_offset as isize * to_size as isize);
                // SAFETY: the offsets are inside the layouts that the plan was made for, and the workspace has room
                // for a slice.
                unsafe {
                    let copy = |destination, source, size| {
                        memory::copy_async(destination, source, size, self.device, stream)
                    };
                    match (pass.kind, pass.bounce) {
                        (TransformKind::R2C, Some(span)) => {
                            copy(bounce, from, span as usize * from_size)?;
                            handle.execute(bounce, to, direction)?;
                        }
                        (_, Some(span)) => {
                            if pass.keeps_gaps {
                                copy(bounce, to, span as usize * to_size)?;
                            }
                            handle.execute(from, bounce, direction)?;
                            copy(to, bounce, span as usize * to_size)?;
                        }
                        (_, None) => handle.execute(from, to, direction)?,
                    }
                }
            }
        }
        if let Some(factor) = factor {
            let (dtype, elements) = &*self.result;
            // SAFETY: the output has the problem's layout and type, and the caller vouches for it and the stream.
            unsafe { kernels::scale(output, *dtype, elements, factor, self.device, stream) }?;
        }
        Ok(())
    }

    /// Sets stream and work area where they differ from the last execution's.
    fn bind(&self, bound: &mut Bound, stream: usize, work_area: usize) -> Result<()> {
        if bound.stream != Some(stream) {
            bound.stream = None;
            for (handle, _) in &self.passes {
                handle.set_stream(stream)?;
            }
            bound.stream = Some(stream);
        }
        if self.work_size > 0 && bound.work_area != work_area {
            bound.work_area = 0;
            for (handle, _) in &self.passes {
                handle.set_work_area(work_area)?;
            }
            bound.work_area = work_area;
        }
        Ok(())
    }

    /// cuFFT itself answers "invalid value" to these.
    fn check_alignment(&self, input: usize, output: usize, workspace: usize) -> Result<()> {
        let needed = self.sizes.0.max(self.sizes.1);
        let input = if self.areas.copy(0).is_some() { 0 } else { input };
        let bounces = |(_, pass): &(CufftHandle, Pass)| {
            pass.kind == TransformKind::C2R && pass.bounce.is_some()
        };
        let output = if self.passes.iter().any(bounces) { 0 } else { output };
        for (name, address, alignment) in [
            ("input", input, needed),
            ("output", output, needed),
            ("workspace", workspace, ALIGNMENT),
        ] {
            if address % alignment != 0 {
                return Err(Error::InvalidValue(format!(
                    "the {name}'s address {address:#x} is not a multiple of {alignment}, as cuFFT needs it here; copy \
                     it first, or plan for the operand that has it"
                )));
            }
        }
        Ok(())
    }
}

fn check_half(problem: &Problem) -> Result<()> {
    if problem.precision != Precision::Half {
        return Ok(());
    }
    for position in 0..problem.axes.len() {
        let extent = problem.extent(position);
        if extent & (extent - 1) != 0 {
            return Err(Error::InvalidValue(format!(
                "in half precision cuFFT transforms powers of two only, and axis {} has {extent} points; convert the \
                 operand to single precision",
                problem.axes[position]
            )));
        }
    }
    Ok(())
}

/// An owned `cufftHandle`.
#[derive(Debug)]
struct CufftHandle {
    plan: i32,
    device: i32,
    kind: TransformKind,
    precision: Precision,
    /// cuFFT has its addresses until the plan is destroyed.
    attached: Attached,
}

impl CufftHandle {
    /// Plans one pass; also gives the bytes of work area that it needs. The device's context is current.
    fn plan(pass: &Pass, problem: &Problem, place: Place, device: i32) -> Result<(Self, usize)> {
        let precision = problem.precision;
        let mut plan = 0_i32;
        let create = loader::function(&cufft::CREATE)?;
        // SAFETY: the address is that of a live i32.
        check(cufft::CREATE.symbol(), unsafe { create(&raw mut plan as usize) }, String::new)?;
        let mut handle =
            Self { plan, device, kind: pass.kind, precision, attached: Attached::default() };
        let set_auto_allocation = loader::function(&cufft::SET_AUTO_ALLOCATION)?;
        // SAFETY: the plan is alive.
        let status = unsafe { set_auto_allocation(plan, 0) };
        check(cufft::SET_AUTO_ALLOCATION.symbol(), status, String::new)?;
        handle.attached = Callbacks::attach(problem, place, plan)?;
        let (complex, real) = cuda_types(precision);
        let (from, to) = match pass.kind {
            TransformKind::C2C => (complex, complex),
            TransformKind::R2C => (real, complex),
            TransformKind::C2R => (complex, real),
        };
        let mut work_size = 0_usize;
        // cuFFT wants these arrays to be writable.
        let (mut n, mut input, mut output) =
            (pass.extents.clone(), pass.input.embed.clone(), pass.output.embed.clone());
        let make_plan = loader::function(&cufft::XT_MAKE_PLAN_MANY)?;
        // SAFETY: the arrays have as many elements as there are extents, and the last address is that of a live
        // usize.
        let status = unsafe {
            make_plan(
                plan,
                n.len() as i32,
                n.as_mut_ptr() as usize,
                input.as_mut_ptr() as usize,
                pass.input.stride,
                pass.input.distance,
                from,
                output.as_mut_ptr() as usize,
                pass.output.stride,
                pass.output.distance,
                to,
                pass.batch,
                &raw mut work_size as usize,
                complex,
            )
        };
        check(cufft::XT_MAKE_PLAN_MANY.symbol(), status, || {
            format!(
                "{:?} of {:?} points, batch {}, {precision:?} precision, device {device}{}",
                pass.kind,
                pass.extents.as_slice(),
                pass.batch,
                problem.callbacks.describe(status)
            )
        })?;
        Ok((handle, work_size))
    }

    fn set_stream(&self, stream: usize) -> Result<()> {
        let set_stream = loader::function(&cufft::SET_STREAM)?;
        // SAFETY: the plan is alive, and `CufftPlan::execute`'s caller vouches for the stream.
        check(cufft::SET_STREAM.symbol(), unsafe { set_stream(self.plan, stream) }, String::new)
    }

    fn set_work_area(&self, address: usize) -> Result<()> {
        let set_work_area = loader::function(&cufft::SET_WORK_AREA)?;
        // SAFETY: the plan is alive, and `CufftPlan::execute`'s caller vouches for the workspace.
        let status = unsafe { set_work_area(self.plan, address) };
        check(cufft::SET_WORK_AREA.symbol(), status, String::new)
    }

    /// # Safety
    /// The addresses are those of memory that the plan's layouts fit into.
    unsafe fn execute(&self, input: usize, output: usize, direction: Direction) -> Result<()> {
        // The functions for one type each take less time than the one for all, which half precision has alone.
        let (with_direction, without) = match (self.precision, self.kind) {
            (Precision::Half, _) => (Some(&cufft::XT_EXEC), None),
            (Precision::Single, TransformKind::C2C) => (Some(&cufft::EXEC_C2C), None),
            (Precision::Single, TransformKind::R2C) => (None, Some(&cufft::EXEC_R2C)),
            (Precision::Single, TransformKind::C2R) => (None, Some(&cufft::EXEC_C2R)),
            (Precision::Double, TransformKind::C2C) => (Some(&cufft::EXEC_Z2Z), None),
            (Precision::Double, TransformKind::R2C) => (None, Some(&cufft::EXEC_D2Z)),
            (Precision::Double, TransformKind::C2R) => (None, Some(&cufft::EXEC_Z2D)),
        };
        let mut answer = Ok(());
        if let Some(row) = with_direction {
            let exec = loader::function(row)?;
            // SAFETY: as the caller vouches.
            let status = unsafe { exec(self.plan, input, output, direction.sign()) };
            answer = check(row.symbol(), status, String::new);
        }
        if let Some(row) = without {
            let exec = loader::function(row)?;
            // SAFETY: as the caller vouches.
            answer = check(row.symbol(), unsafe { exec(self.plan, input, output) }, String::new);
        }
        answer
    }
}

impl Drop for CufftHandle {
    fn drop(&mut self) {
        if !may_call_cuda_in_drop() {
            return;
        }
        if let (Ok(_context), Ok(destroy)) =
            (ContextGuard::enter(self.device), loader::function(&cufft::DESTROY))
        {
            // SAFETY: the plan is owned and not used again. A failure leaves nothing that could be mended here.
            let _ = unsafe { destroy(self.plan) };
        }
    }
}

pub(super) fn check(
    function: &'static Symbol,
    code: i32,
    context: impl FnOnce() -> String,
) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        ALLOC_FAILED => Err(Error::OutOfMemory(format!(
            "{}: cuFFT could not allocate memory for its plan ({})",
            function.c_name,
            context()
        ))),
        _ => Err(Error::Status(Box::new(Status {
            library: "cufft",
            function: function.c_name,
            code,
            context: context(),
        }))),
    }
}

/// The `cudaDataType`s of the complex and of the real numbers.
const fn cuda_types(precision: Precision) -> (i32, i32) {
    match precision {
        Precision::Half => (6, 2),
        Precision::Single => (4, 0),
        Precision::Double => (5, 1),
    }
}
