//! Fourier transforms as an [`Operation`]: where one is planned, and what an execution takes.

use std::sync::Arc;

use super::cpu::{CpuFft, CpuLibrary};
use super::cufft::CufftPlan;
use super::multi_gpu::MultiPlan;
use super::problem::{Direction, FftProblem};
use super::request::FftRequest;
use super::transform::Transform;
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::loader::cpu_library::cpu_library_folders;
use crate::operation::{Call, Engine, Execution, Operation, Plan, PlanCache, RecentPlans};
use crate::process::SetOnce;

/// The Fourier transform.
#[derive(Debug)]
pub struct Fft;

/// A planned Fourier transform.
pub type FftPlan = Plan<Fft>;

/// What an execution of a transform takes besides its operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FftArguments {
    /// Sign of the exponent.
    pub direction: Direction,
    /// What the result is multiplied by; `None` leaves it as it is.
    pub factor: Option<f64>,
}

/// What computes a transform.
#[derive(Debug)]
pub enum FftEngine {
    /// On the CPU.
    Cpu(Box<CpuFft>),
    /// On one GPU.
    Cufft(Box<CufftPlan>),
    /// On several GPUs.
    MultiGpu(Box<MultiPlan>),
}

impl Operation for Fft {
    type Request = FftRequest;
    type Problem = FftProblem;
    type Engine = FftEngine;
    type Arguments = FftArguments;

    fn check_plan(problem: &FftProblem, execution: Execution) -> Result<()> {
        if execution.device().is_none() && !problem.callbacks.is_empty() {
            return Err(Error::InvalidValue(
                "prolog and epilog work on a GPU only, but this transform runs on the CPU; use \
                 execution=\"cuda\", or apply the functions to the operand and to the result"
                    .into(),
            ));
        }
        Ok(())
    }

    fn plan(problem: &FftProblem, execution: Execution) -> Result<FftEngine> {
        Ok(match execution {
            Execution::Cpu { threads } => {
                FftEngine::Cpu(Box::new(CpuFft::new(problem, threads, cpu_library()?)?))
            }
            Execution::Cuda { device } => {
                FftEngine::Cufft(Box::new(CufftPlan::new(problem, device)?))
            }
            Execution::CudaMulti { devices } => {
                FftEngine::MultiGpu(Box::new(MultiPlan::new(problem, devices)?))
            }
        })
    }

    fn check_arguments(problem: &FftProblem, arguments: FftArguments) -> Result<()> {
        let direction = arguments.direction;
        match problem.kind.only_direction() {
            Some(only) if direction != only => Err(Error::InvalidValue(format!(
                "direction is {direction:?}, but a {:?} transform is always {only:?}",
                problem.kind
            ))),
            _ => Ok(()),
        }
    }

    fn plan_cache() -> &'static PlanCache<Self> {
        thread_local! {
            static RECENT: RecentPlans<Fft> = RecentPlans::default();
        }
        static PLANS: PlanCache<Fft> = PlanCache::new(&RECENT);
        &PLANS
    }
}

impl Engine for FftEngine {
    type Arguments = FftArguments;

    /// `"cufft"`, `"embedded"`, or the name of a library with FFTW's interface.
    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(plan) => plan.engine_name(),
            Self::Cufft(_) | Self::MultiGpu(_) => "cufft",
        }
    }

    fn workspace_size(&self) -> usize {
        match self {
            Self::Cpu(_) => 0,
            Self::Cufft(plan) => plan.workspace_size(),
            Self::MultiGpu(plan) => plan.memory_size(),
        }
    }

    fn device_memory(&self) -> usize {
        match self {
            Self::Cpu(_) => 0,
            Self::Cufft(plan) => plan.device_memory(),
            Self::MultiGpu(plan) => plan.device_memory(),
        }
    }

    fn host_memory(&self) -> usize {
        match self {
            Self::Cpu(plan) => plan.host_memory(),
            Self::Cufft(_) | Self::MultiGpu(_) => 0,
        }
    }

    fn library_calls(&self) -> usize {
        match self {
            Self::Cpu(_) => 1,
            Self::Cufft(plan) => plan.calls(),
            Self::MultiGpu(plan) => plan.calls(),
        }
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, FftArguments>,
    ) -> Result<()> {
        let (&[input], &[output]) = (call.inputs, call.outputs) else {
            return Err(Error::InvalidValue("a transform has one operand and one result".into()));
        };
        let FftArguments { direction, factor } = call.arguments;
        let transform = Transform { input, output, direction, factor };
        // SAFETY: the caller guarantees that the operand and the result fit the problem, and that
        // the stream and the workspace are valid.
        unsafe {
            match (self, context, call.stream) {
                (Self::Cpu(plan), ..) => plan.execute(input, output, direction, factor),
                (Self::Cufft(plan), Some(context), Some(stream)) => {
                    plan.execute(context, transform, stream, call.workspace)
                }
                (Self::MultiGpu(plan), _, stream) => plan.execute(transform, call.location, stream),
                (Self::Cufft(_), ..) => {
                    Err(Error::InvalidState("a transform on a GPU needs a stream".into()))
                }
            }
        }
    }
}

/// The library with FFTW's interface that CPU plans use, if any. The first plan settles it for the
/// process.
fn cpu_library() -> Result<Option<Arc<CpuLibrary>>> {
    static CHOSEN: SetOnce<Option<Arc<CpuLibrary>>> = SetOnce::new();
    if let Some(chosen) = CHOSEN.get() {
        return Ok(chosen.clone());
    }
    let chosen = CpuLibrary::selected(&cpu_library_folders(&["nvpl/lib"]))?;
    Ok(CHOSEN.get_or_init(|| chosen).clone())
}
