//! Fourier transforms as an [`Operation`]: where one is planned, and what an execution takes.

use std::sync::Arc;

use super::cpu::{CpuFft, CpuLibrary};
use super::cufft::CufftPlan;
use super::multi_gpu;
use super::problem::{Direction, FftProblem};
use super::request::FftRequest;
use crate::error::{Error, Result};
use crate::loader::cpu_library::cpu_library_folders;
use crate::operation::{Engine, Execution, Operation, Plan, PlanCache, RecentPlans};
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
    ///
    /// A factor belongs to an execution, not to a plan: a callback of cuFFT's would cost a compiler
    /// and a plan of its own, and a transform without a factor costs nothing. On a GPU the factor
    /// is a kernel of gpumath's own.
    pub factor: Option<f64>,
}

impl Operation for Fft {
    type Request = FftRequest;
    type Problem = FftProblem;
    type Engine = Box<dyn Engine<Arguments = FftArguments>>;
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

    fn plan(problem: &FftProblem, execution: Execution) -> Result<Self::Engine> {
        Ok(match execution {
            Execution::Cpu { threads } => Box::new(CpuFft::new(problem, threads, cpu_library()?)?),
            Execution::Cuda { device } => Box::new(CufftPlan::new(problem, device)?),
            Execution::CudaMulti { devices } => multi_gpu::plan(problem, devices)?,
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
