//! Plans of cuFFT on one GPU.
//!
//! A plan here is the steps of a route (`route.rs`), with one cuFFT plan for each pass. It holds no
//! workspace: cuFFT's automatic allocation is off, and each execution sets the work area that it
//! was given. cuFFT refuses addresses that
//! are not aligned like complex numbers, so they are checked before.

use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::cufft;

use super::callback::{AttachedCallbacks, Callbacks, PassPosition};
use super::passes::{BufferRole, Pass};
use super::plan::FftArguments;
use super::problem::{Direction, FftProblem, Precision, TransformKind};
use super::route::{Route, Step};
use crate::device::{ContextGuard, Device, may_call_cuda_in_drop};
use crate::error::{Error, Result};
use crate::kernels::{self, Elements, TiledCopy};
use crate::loader;
use crate::memory::ALIGNMENT;
use crate::operation::{Call, Engine};
use crate::process::PerProcess;
use crate::status::call;
use crate::tensor::{DType, Dims};

/// `CUFFT_INTERNAL_ERROR`
const INTERNAL_ERROR: i32 = 5;

/// Bytes of free memory that are surely enough for cuFFT's code.
const ENOUGH_MEMORY: usize = 256 << 20;

/// Points of a transform from which the memory that its plan takes is measured.
const MEASURED_POINTS: i64 = 1 << 12;

/// Bytes that a plan of fewer points takes of device memory, with cuFFT 12.0: up to five times as
/// many for large prime factors.
const SMALL_PLAN: usize = 64 << 10;

/// Held while a plan is made. cuFFT's own caches are not made for several planning threads.
pub(super) static PLANNING: PerProcess<Mutex<()>> = PerProcess::new();

/// Turns cuFFT's `INTERNAL_ERROR` into `OutOfMemory` if one of the devices has little memory left.
/// cuFFT returns that status where it finds no memory for its code, too.
pub(super) fn explain_internal_error(error: Error, devices: &[i32]) -> Error {
    let Error::Status(status) = &error else { return error };
    if status.library != "cufft" || status.code != INTERNAL_ERROR {
        return error;
    }
    for &device in devices {
        if let Ok(free) = Device::free_memory(&[device])
            && free < ENOUGH_MEMORY
        {
            return Error::OutOfMemory(format!(
                "{status}; device {device} has only {free} bytes of memory left"
            ));
        }
    }
    error
}

/// The cuFFT plans of a problem.
#[derive(Debug)]
pub(super) struct CufftPlan {
    steps: Vec<PlannedStep>,
    /// Bytes of an element of the input and of the output.
    sizes: (usize, usize),
    /// Bytes of the work area that the plans share.
    work_size: usize,
    /// Bytes of device memory that planning took.
    device_memory: usize,
    /// Type and elements of the output, which a factor is applied to.
    result: Box<(DType, Elements)>,
    /// Where the operand's copy and the result's memory begin in the workspace, behind the work
    /// area, and where the workspace ends.
    staged: [usize; 2],
    workspace_size: usize,
    /// The stream and work area that the cuFFT plans are set to. They are state of the plans, so
    /// this lock is held while an execution is enqueued.
    bound: Mutex<Binding>,
}

/// One step of an execution, from one buffer to another.
#[derive(Debug)]
struct PlannedStep {
    from: BufferRole,
    to: BufferRole,
    work: StepWork,
}

#[derive(Debug)]
enum StepWork {
    Transform(CufftHandle),
    Copy(TiledCopy),
}

/// A stream and a work area.
#[derive(Debug, Default)]
struct Binding {
    /// Handle of the stream; `None` if the plans may be set to different ones.
    stream: Option<usize>,
    /// Address of the work area; 0 if the plans may be set to different ones.
    work_area: usize,
}

impl CufftPlan {
    /// Plans `problem` on a device. Blocks while another thread makes a plan.
    pub(super) fn new(problem: &FftProblem, device: i32) -> Result<Self> {
        Self::make(problem, device).map_err(|error| explain_internal_error(error, &[device]))
    }

    fn make(problem: &FftProblem, device: i32) -> Result<Self> {
        check_half(problem)?;
        let route = Route::of(problem, Some(device))?;
        Callbacks::check(problem)?;
        let sizes = (problem.input_dtype().size(), problem.output_dtype().size());
        let result = Box::new((problem.output_dtype(), Elements::of(&problem.output)?));
        // The context comes before the library, because without a GPU the error should not be about
        // the library.
        let context = ContextGuard::enter(device)?;
        // The library is loaded before the lock is taken, because the search may have to wait for
        // Python.
        loader::function(&cufft::XT_MAKE_PLAN_MANY)?;
        Callbacks::prepare(problem)?;
        let _planning = PLANNING.lock();
        let free = free_memory_before(problem, &route, device)?;
        let mut work_size = 0;
        let mut steps = Vec::with_capacity(route.steps.len());
        let (mut index, count) = (0, route.passes().count());
        for step in &route.steps {
            let (from, to, work) = match step {
                Step::Copy(copy) => {
                    let tiled = TiledCopy::of(&copy.to.1, &copy.from.1, copy.size)?;
                    (copy.from.0, copy.to.0, StepWork::Copy(tiled))
                }
                Step::Transform(pass) => {
                    index += 1;
                    let position = PassPosition { is_first: index == 1, is_last: index == count };
                    let (handle, size) = CufftHandle::plan(&context, pass, problem, position)?;
                    work_size = work_size.max(size);
                    (pass.input.buffer, pass.output.buffer, StepWork::Transform(handle))
                }
            };
            steps.push(PlannedStep { from, to, work });
        }
        let device_memory = match free {
            Some(free) => free.saturating_sub(Device::free_memory(&[device])?),
            None => SMALL_PLAN * count,
        };
        let (staged, workspace_size) = route.workspace(work_size);
        Ok(Self {
            steps,
            sizes,
            work_size,
            device_memory,
            result,
            staged,
            workspace_size,
            bound: Mutex::default(),
        })
    }

    fn handles(&self) -> impl Iterator<Item = &CufftHandle> {
        self.steps.iter().filter_map(|step| match &step.work {
            StepWork::Transform(handle) => Some(handle),
            StepWork::Copy(_) => None,
        })
    }

    /// Sets the stream and the work area of the plans where they differ from the last execution's.
    fn bind(&self, bound: &mut Binding, stream: usize, work_area: usize) -> Result<()> {
        if bound.stream != Some(stream) {
            bound.stream = None;
            for handle in self.handles() {
                handle.set_stream(stream)?;
            }
            bound.stream = Some(stream);
        }
        if self.work_size > 0 && bound.work_area != work_area {
            bound.work_area = 0;
            for handle in self.handles() {
                handle.set_work_area(work_area)?;
            }
            bound.work_area = work_area;
        }
        Ok(())
    }

    /// Refuses addresses to which cuFFT itself answers "invalid value".
    fn check_alignment(&self, input: usize, output: usize, workspace: usize) -> Result<()> {
        // Copies need only what every array of this type has.
        let complex = self.sizes.0.max(self.sizes.1);
        let needed = |role, size| {
            let is_transformed = self.steps.iter().any(|step| {
                matches!(step.work, StepWork::Transform(_)) && [step.from, step.to].contains(&role)
            });
            if is_transformed { complex } else { size }
        };
        for (name, address, alignment) in [
            ("input", input, needed(BufferRole::Input, self.sizes.0)),
            ("output", output, needed(BufferRole::Output, self.sizes.1)),
            ("workspace", workspace, ALIGNMENT),
        ] {
            if address % alignment != 0 {
                return Err(Error::InvalidValue(format!(
                    "the {name}'s address {address:#x} is not a multiple of {alignment}, as cuFFT \
                     needs it here; copy it first, or plan for the operand that has it"
                )));
            }
        }
        Ok(())
    }
}

impl Engine for CufftPlan {
    type Arguments = FftArguments;

    fn name(&self) -> &'static str {
        "cufft"
    }

    fn workspace_size(&self) -> usize {
        self.workspace_size
    }

    fn device_memory(&self) -> usize {
        self.device_memory
    }

    fn library_calls(&self) -> usize {
        self.handles().count()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, FftArguments>,
    ) -> Result<()> {
        let (Some(context), Some(stream)) = (context, call.stream) else {
            return Err(Error::InvalidState("a transform on a GPU needs a stream".into()));
        };
        let ((input, output), workspace) = (call.only_addresses()?, call.workspace);
        let FftArguments { direction, factor } = call.arguments;
        self.check_alignment(input, output, workspace)?;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        self.bind(&mut bound, stream.handle(), workspace)?;
        let address = |role| match role {
            BufferRole::Input => input,
            BufferRole::Output => output,
            BufferRole::StagedInput => workspace + self.staged[0],
            BufferRole::StagedOutput => workspace + self.staged[1],
        };
        for step in &self.steps {
            let (from, to) = (address(step.from), address(step.to));
            // SAFETY: the steps have the layouts of the problem, whose memory the caller guarantees
            // to be valid, and the workspace has room for the others.
            unsafe {
                match &step.work {
                    StepWork::Transform(handle) => handle.execute(from, to, direction)?,
                    StepWork::Copy(copy) => kernels::copy(context, to, from, copy, stream)?,
                }
            }
        }
        if let Some(factor) = factor {
            let (dtype, elements) = &*self.result;
            // SAFETY: the caller guarantees that the output has the problem's layout and type, and
            // the layouts of outputs are injective.
            unsafe { kernels::scale(context, output, *dtype, elements, factor, stream) }?;
        }
        Ok(())
    }
}

/// Asks how much memory is free, to see what a plan takes of it. Small plans are not measured,
/// because the driver's two answers take a fifteenth of the time in which such a plan is made.
fn free_memory_before(problem: &FftProblem, route: &Route, device: i32) -> Result<Option<usize>> {
    let is_small = |pass: &Pass| pass.extents.iter().product::<i64>() < MEASURED_POINTS;
    if problem.callbacks.names().is_none() && route.passes().all(is_small) {
        return Ok(None);
    }
    Device::free_memory(&[device]).map(Some)
}

/// Refuses extents that cuFFT does not transform in half precision.
fn check_half(problem: &FftProblem) -> Result<()> {
    if problem.precision != Precision::Half {
        return Ok(());
    }
    for position in 0..problem.axes.len() {
        let extent = problem.extent(position);
        if extent & (extent - 1) != 0 {
            return Err(Error::InvalidValue(format!(
                "in half precision cuFFT transforms powers of two only, but axis {} has {extent} \
                 points; convert the operand to single precision",
                problem.axes[position]
            )));
        }
    }
    Ok(())
}

/// An owned `cufftHandle`. Dropping it destroys the plan.
#[derive(Debug)]
struct CufftHandle {
    plan: i32,
    device: i32,
    kind: TransformKind,
    precision: Precision,
    /// Callbacks whose addresses cuFFT keeps until the plan is destroyed.
    attached: AttachedCallbacks,
}

impl CufftHandle {
    /// Plans one pass, in the context of the device. Also returns the bytes of work area that the
    /// plan needs.
    fn plan(
        context: &ContextGuard,
        pass: &Pass,
        problem: &FftProblem,
        position: PassPosition,
    ) -> Result<(Self, usize)> {
        let (precision, device) = (problem.precision, context.device());
        let mut plan = 0_i32;
        // SAFETY: cuFFT writes one handle to `plan`, a live `i32`.
        unsafe { call!(cufft::CREATE, &raw mut plan as usize) }?;
        let mut handle = Self {
            plan,
            device,
            kind: pass.kind,
            precision,
            attached: AttachedCallbacks::default(),
        };
        // SAFETY: `plan` was created above.
        unsafe { call!(cufft::SET_AUTO_ALLOCATION, plan, 0) }?;
        handle.attached = Callbacks::attach(problem, position, plan)?;
        let (complex, real) = cuda_types(precision);
        let (from, to) = match pass.kind {
            TransformKind::C2C => (complex, complex),
            TransformKind::R2C => (real, complex),
            TransformKind::C2R => (complex, real),
        };
        let mut work_size = 0_usize;
        // cuFFT's prototype takes these arrays as writable.
        let (mut n, mut input, mut output) =
            (pass.extents.clone(), pass.input.embed.clone(), pass.output.embed.clone());
        // Long real transforms take cuFFT less time where it is not told that there are no gaps.
        let is_packed = pass.input.is_packed && pass.output.is_packed;
        let embed = |embed: &mut Dims| if is_packed { 0 } else { embed.as_mut_ptr() as usize };
        let describe = |status| {
            format!(
                "{:?} of {:?} points, batch {}, {precision:?} precision, device {device}{}",
                pass.kind,
                pass.extents.as_slice(),
                pass.batch,
                problem.callbacks.describe(status)
            )
        };
        // SAFETY: `plan` was created above and not planned yet. Each array has as many elements as
        // there are extents, and cuFFT writes one size to `work_size`, a live `usize`.
        unsafe {
            call!(
                cufft::XT_MAKE_PLAN_MANY,
                plan,
                n.len() as i32,
                n.as_mut_ptr() as usize,
                embed(&mut input),
                pass.input.stride,
                pass.input.distance,
                from,
                embed(&mut output),
                pass.output.stride,
                pass.output.distance,
                to,
                pass.batch,
                &raw mut work_size as usize,
                complex;
                describe
            )
        }?;
        Ok((handle, work_size))
    }

    fn set_stream(&self, stream: usize) -> Result<()> {
        // SAFETY: `self` owns the plan, and `StreamRef::new`'s caller guarantees that the stream is
        // valid.
        unsafe { call!(cufft::SET_STREAM, self.plan, stream) }
    }

    fn set_work_area(&self, address: usize) -> Result<()> {
        // SAFETY: `self` owns the plan. It uses the work area only in executions, whose caller
        // guarantees that the workspace is valid.
        unsafe { call!(cufft::SET_WORK_AREA, self.plan, address) }
    }

    /// Enqueues the pass on the plan's stream.
    ///
    /// # Safety
    /// The memory at `input` and at `output` has the layouts of the pass and is valid until the
    /// work is done, as is the work area that was set.
    unsafe fn execute(&self, input: usize, output: usize, direction: Direction) -> Result<()> {
        use Precision::{Double, Half, Single};
        use TransformKind::{C2C, C2R, R2C};
        let (plan, sign) = (self.plan, direction.sign());
        // The functions for one type each take less time than the one for all types, which half
        // precision needs.
        // SAFETY: `self` owns the plan, and the caller guarantees that the memory fits it.
        unsafe {
            match (self.precision, self.kind) {
                (Half, _) => call!(cufft::XT_EXEC, plan, input, output, sign),
                (Single, C2C) => call!(cufft::EXEC_C2C, plan, input, output, sign),
                (Single, R2C) => call!(cufft::EXEC_R2C, plan, input, output),
                (Single, C2R) => call!(cufft::EXEC_C2R, plan, input, output),
                (Double, C2C) => call!(cufft::EXEC_Z2Z, plan, input, output, sign),
                (Double, R2C) => call!(cufft::EXEC_D2Z, plan, input, output),
                (Double, C2R) => call!(cufft::EXEC_Z2D, plan, input, output),
            }
        }
    }
}

impl Drop for CufftHandle {
    fn drop(&mut self) {
        if may_call_cuda_in_drop()
            && let Ok(_context) = ContextGuard::enter(self.device)
        {
            // A destructor cannot report the error, so it is ignored.
            // SAFETY: `self` owns the plan, which is not used after this.
            let _ = unsafe { call!(cufft::DESTROY, self.plan) };
        }
    }
}

/// Returns the `cudaDataType`s of the complex and of the real numbers.
const fn cuda_types(precision: Precision) -> (i32, i32) {
    match precision {
        Precision::Half => (6, 2),
        Precision::Single => (4, 0),
        Precision::Double => (5, 1),
    }
}
