//! A problem made ready to run on one engine.

use std::num::NonZeroUsize;
use std::slice;
use std::sync::{Arc, OnceLock};

use super::cufft::CufftPlan;
use super::multi_gpu::MultiPlan;
use super::problem::{Direction, Problem, TransformKind};
use super::request::Request;
use super::transform::Transform;
use crate::cache;
use crate::cpu::CpuLibrary;
use crate::cpu::fft::CpuFft;
use crate::device::{
    CaptureStatus, ContextGuard, Device, Devices, StreamRef, drop_released, keep_with_graph,
};
use crate::error::{Error, Result};
use crate::loader;
use crate::memory;
use crate::tensor::{MemoryLocation, TensorView};

/// Where a transform runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// On the CPU, with this many threads.
    Cpu {
        /// Number of threads, the calling one included.
        threads: NonZeroUsize,
    },
    /// On a CUDA device, with cuFFT.
    Cuda {
        /// Device ordinal.
        device: i32,
    },
    /// On several CUDA devices, with cuFFT. Operands are in host memory or on one of the devices.
    CudaMulti {
        /// The devices.
        devices: Devices,
    },
}

impl Execution {
    /// The CUDA device, the first of several, or `None` for the CPU.
    #[must_use]
    pub const fn device(self) -> Option<i32> {
        match self {
            Self::Cpu { .. } => None,
            Self::Cuda { device } => Some(device),
            Self::CudaMulti { devices } => Some(devices.first()),
        }
    }

    /// The devices if there are several.
    #[must_use]
    pub const fn devices(self) -> Option<Devices> {
        match self {
            Self::CudaMulti { devices } => Some(devices),
            Self::Cpu { .. } | Self::Cuda { .. } => None,
        }
    }

    /// All the CUDA devices.
    fn ordinals(&self) -> &[i32] {
        match self {
            Self::Cpu { .. } => &[],
            Self::Cuda { device } => slice::from_ref(device),
            Self::CudaMulti { devices } => devices.ordinals(),
        }
    }

    /// Whether it is on the GPU whose memory an operand is in.
    fn is_at(self, operand: MemoryLocation) -> bool {
        self.device().is_some_and(|device| MemoryLocation::Device(device) == operand)
    }
}

/// An answer of [`FftPlan::find`].
#[derive(Debug)]
pub enum Found {
    /// It is planned.
    Plan(Arc<FftPlan>),
    /// It has to be.
    Problem(Box<Problem>),
}

/// A planned transform. It holds no workspace, so that any number of plans can be kept.
#[derive(Debug)]
pub struct FftPlan {
    problem: Problem,
    execution: Execution,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    /// An empty batch: nothing is to be computed.
    Nothing,
    Cpu(Box<CpuFft>),
    Cufft(Box<CufftPlan>),
    Multi(Box<MultiPlan>),
}

impl Engine {
    fn of(problem: &Problem, execution: Execution) -> Result<Self> {
        let empty = problem.input.is_empty();
        if execution.device().is_none() && !problem.callbacks.is_empty() {
            return Err(Error::InvalidValue(
                "prolog and epilog work on a GPU only, and this transform runs on the CPU; use execution=\"cuda\", or \
                 apply the functions to the operand and to the result"
                    .into(),
            ));
        }
        Ok(match execution {
            Execution::Cpu { .. } if empty => Self::Nothing,
            Execution::Cpu { threads } => {
                Self::Cpu(Box::new(CpuFft::new(problem, threads, cpu_library()?)?))
            }
            Execution::Cuda { device } if empty => Device::new(device).map(|_| Self::Nothing)?,
            Execution::Cuda { device } => Self::Cufft(Box::new(CufftPlan::new(problem, device)?)),
            Execution::CudaMulti { devices } if empty => devices.check().map(|()| Self::Nothing)?,
            Execution::CudaMulti { devices } => {
                Self::Multi(Box::new(MultiPlan::new(problem, devices)?))
            }
        })
    }
}

impl FftPlan {
    /// Plans `problem`. Where memory is short, once more without what gpumath itself keeps: this thread's other plans,
    /// and free memory in its pool.
    pub fn new(problem: Problem, execution: Execution) -> Result<Self> {
        drop_released();
        match Self::make(problem.clone(), execution) {
            Err(Error::OutOfMemory(_)) => {
                cache::drop_plans();
                execution.ordinals().iter().try_for_each(|&device| memory::trim(device))?;
                Self::make(problem, execution)
            }
            made => made,
        }
    }

    fn make(problem: Problem, execution: Execution) -> Result<Self> {
        let engine = Engine::of(&problem, execution)?;
        Ok(Self { problem, execution, engine })
    }

    /// The problem that `request` poses for `operand`, where it runs on `execution`.
    pub fn problem_of(
        request: &Request,
        operand: &TensorView,
        execution: Execution,
    ) -> Result<Problem> {
        let mut problem = request.problem(operand)?;
        if !execution.is_at(operand.device) {
            // The CPU does not mind, and what is copied to the GPU is aligned there.
            (problem.unaligned, problem.output_unaligned) = (false, false);
        }
        Ok(problem)
    }

    /// What `request` asks about `operand`: the plan of this thread's cache, or, if there is none, the problem to plan.
    pub fn find(request: &Request, operand: &TensorView, execution: Execution) -> Result<Found> {
        // Where a result is given, it matters how the two share memory.
        let is_simple = request.output.is_none();
        if is_simple && let Some(plan) = cache::find_recent(request, operand, execution) {
            return Ok(Found::Plan(plan));
        }
        let key = (Self::problem_of(request, operand, execution)?, execution);
        let Some(plan) = cache::find(&key) else { return Ok(Found::Problem(Box::new(key.0))) };
        if is_simple {
            cache::remember(request.clone(), operand.clone(), execution, Arc::clone(&plan));
        }
        Ok(Found::Plan(plan))
    }

    /// The plan of this thread's cache, made first if it is not there.
    pub fn cached(problem: Problem, execution: Execution) -> Result<Arc<Self>> {
        cache::get_or_insert((problem, execution), |(problem, execution)| {
            Self::new(problem.clone(), *execution)
        })
    }

    /// Whether it was made for operands like this one: of the same layout, element type and, where cuFFT reads them,
    /// alignment.
    #[must_use]
    pub fn accepts(&self, operand: &TensorView) -> bool {
        operand.dtype == self.problem.input_dtype()
            && operand.layout.is_equivalent(&self.problem.input)
            && self.is_aligned_alike(operand)
    }

    pub(crate) fn is_aligned_alike(&self, operand: &TensorView) -> bool {
        let unaligned = self.execution.is_at(operand.device) && self.problem.is_unaligned(operand);
        unaligned == self.problem.unaligned
    }

    /// What is transformed, and where it runs: all that a plan depends on.
    #[must_use]
    pub fn key(&self) -> (&Problem, Execution) {
        (&self.problem, self.execution)
    }

    /// What is transformed.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where it runs.
    #[must_use]
    pub fn execution(&self) -> Execution {
        self.execution
    }

    /// Name of the engine: `"cufft"`, `"embedded"`, that of a library with FFTW's interface, or `"none"` for an empty
    /// batch.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        match &self.engine {
            Engine::Nothing => "none",
            Engine::Cpu(plan) => plan.engine_name(),
            Engine::Cufft(_) | Engine::Multi(_) => "cufft",
        }
    }

    /// Bytes of device memory that [`Self::execute`] needs; 0 on the CPU. On several devices, the bytes that an
    /// execution allocates itself on that which it takes most of.
    #[must_use]
    pub fn workspace_size(&self) -> usize {
        match &self.engine {
            Engine::Cufft(plan) => plan.workspace_size(),
            Engine::Multi(plan) => plan.memory_size(),
            Engine::Cpu(_) | Engine::Nothing => 0,
        }
    }

    /// Bytes of device memory that making the plan took, on all its devices together: cuFFT's tables and code. What
    /// others allocated there at the same time counts too.
    #[must_use]
    pub fn device_memory(&self) -> usize {
        match &self.engine {
            Engine::Cufft(plan) => plan.device_memory(),
            Engine::Multi(plan) => plan.device_memory(),
            Engine::Cpu(_) | Engine::Nothing => 0,
        }
    }

    /// How many calls of the engine one execution makes.
    #[must_use]
    pub fn library_calls(&self) -> usize {
        match &self.engine {
            Engine::Cufft(plan) => plan.calls(),
            Engine::Multi(plan) => plan.calls(),
            Engine::Cpu(_) => 1,
            Engine::Nothing => 0,
        }
    }

    /// Transforms, and multiplies the result if there is a factor. Never allocates device memory and, on CUDA, never waits
    /// for the GPU. On the CPU, `stream` is ignored. If the stream is being captured into a graph, the plan lives as long
    /// as that; `capture` is the stream's status if the caller knows it.
    ///
    /// # Safety
    /// - Input and output have the layouts and types of [`Self::problem`], and are valid until the work is done: host
    ///   memory for the CPU, and memory of the device for CUDA.
    /// - They are equal exactly if the problem is in place, and do not overlap otherwise.
    /// - `workspace` is the address of [`Self::workspace_size`] bytes of device memory, aligned to 256 bytes, that nothing
    ///   else uses before the work on `stream`, a stream of the device, is done.
    pub unsafe fn execute(
        self: &Arc<Self>,
        transform: Transform,
        stream: StreamRef,
        capture: Option<CaptureStatus>,
        workspace: usize,
    ) -> Result<()> {
        let Transform { input, output, direction, factor } = transform;
        self.check_direction(direction)?;
        match &self.engine {
            Engine::Nothing => Ok(()),
            // SAFETY: the caller's guarantees are those that the function asks for.
            Engine::Cpu(plan) => unsafe { plan.execute(input, output, direction, factor) },
            Engine::Multi(_) => Err(Error::InvalidState(
                "this plan is one for several devices, which run() executes".into(),
            )),
            Engine::Cufft(plan) => {
                if workspace == 0 && plan.workspace_size() > 0 {
                    return Err(Error::InvalidValue(format!(
                        "this plan needs a workspace of {} bytes, and none was given",
                        plan.workspace_size()
                    )));
                }
                let context = ContextGuard::enter(plan.device())?;
                keep_with_graph(&context, stream, capture, || Box::new(Arc::clone(self)))?;
                // SAFETY: the caller's guarantees are those that the function asks for.
                unsafe { plan.execute(&context, transform, stream, workspace) }
            }
        }
    }

    /// Transforms as [`Self::execute`] does, but on several devices. Blocks until the work on `stream` is done, and until
    /// the result is there. In host memory, `stream` is ignored.
    ///
    /// # Safety
    /// As for [`Self::execute`], but input and output are at `location`, and `stream` is a stream of that device.
    pub unsafe fn execute_multi(
        &self,
        transform: Transform,
        location: MemoryLocation,
        stream: StreamRef,
    ) -> Result<()> {
        self.check_direction(transform.direction)?;
        match &self.engine {
            // SAFETY: the caller's guarantees are those that the function asks for.
            Engine::Multi(plan) => unsafe { plan.execute(transform, location, stream) },
            Engine::Nothing => Ok(()),
            Engine::Cpu(_) | Engine::Cufft(_) => Err(Error::InvalidState(
                "this plan is one for a single device, which execute() runs".into(),
            )),
        }
    }

    fn check_direction(&self, direction: Direction) -> Result<()> {
        let only = match self.problem.kind {
            TransformKind::C2C => return Ok(()),
            TransformKind::R2C => Direction::Forward,
            TransformKind::C2R => Direction::Inverse,
        };
        if direction == only {
            return Ok(());
        }
        Err(Error::InvalidValue(format!(
            "a {:?} transform is always {only:?}; direction {direction:?} was asked for",
            self.problem.kind
        )))
    }
}

/// The library with FFTW's interface that CPU plans use, if any. Chosen once: the first plan settles it for the process.
fn cpu_library() -> Result<Option<Arc<CpuLibrary>>> {
    static CHOSEN: OnceLock<Option<Arc<CpuLibrary>>> = OnceLock::new();
    if let Some(chosen) = CHOSEN.get() {
        return Ok(chosen.clone());
    }
    let paths = loader::search_paths();
    let prefix = paths.prefix.iter().map(|prefix| prefix.join("lib"));
    let packages = paths.package_folders.iter().map(|folder| folder.join("nvpl").join("lib"));
    let chosen = CpuLibrary::selected(&prefix.chain(packages).collect::<Vec<_>>())?;
    Ok(CHOSEN.get_or_init(|| chosen).clone())
}
