//! Products of matrices: request → problem → plan → execute.

mod block_scaling;
mod check;
mod cpu;
mod cublaslt;
mod epilog;
mod geometry;
mod problem;
mod request;
mod types;

use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::operation::{Call, Engine, Execution, Operation, Plan, PlanCache, RecentPlans};

pub use cublaslt::FoundAlgorithm;
pub use epilog::{AuxKind, Epilog};
pub use problem::{InputRole, MatmulOperand, MatmulProblem, OutputRole};
pub use request::{AlgorithmSearch, MatmulRequest};
pub use types::{ChosenTypes, ComputeType, MatmulTypes};

/// The product of matrices.
#[derive(Debug)]
pub struct Matmul;

/// A planned product of matrices.
pub type MatmulPlan = Plan<Matmul>;

/// Returns what cuBLASLt found for a product on a GPU, the best algorithm first.
#[must_use]
pub fn algorithms(plan: &MatmulPlan) -> &[FoundAlgorithm] {
    match plan.engine() {
        Some(MatmulEngine::Cublaslt(engine)) => engine.algorithms(),
        _ => &[],
    }
}

/// Returns how many matrices an execution copies to a layout that cuBLASLt takes.
#[must_use]
pub fn copies(plan: &MatmulPlan) -> usize {
    match plan.engine() {
        Some(MatmulEngine::Cublaslt(engine)) => engine.copies(),
        _ => 0,
    }
}

/// What an execution of a product takes besides its operands: complex numbers, of which real
/// products use the real part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatmulArguments {
    /// What the product is multiplied by.
    pub alpha: [f64; 2],
    /// What `c` is multiplied by. If it is 0, the elements of `c` do not matter, NaN included.
    pub beta: [f64; 2],
}

impl MatmulArguments {
    /// Whether the elements of `c` do not matter.
    #[must_use]
    pub fn ignores_addend(&self) -> bool {
        self.beta.iter().all(|&part| part == 0.0)
    }
}

impl Default for MatmulArguments {
    /// The product alone.
    fn default() -> Self {
        Self { alpha: [1.0, 0.0], beta: [0.0, 0.0] }
    }
}

/// What computes a product.
#[derive(Debug)]
pub enum MatmulEngine {
    /// On the CPU.
    Cpu(Box<dyn Engine<Arguments = MatmulArguments>>),
    /// On a GPU.
    Cublaslt(Box<cublaslt::CublasltMatmul>),
}

impl Operation for Matmul {
    type Request = MatmulRequest;
    type Problem = MatmulProblem;
    type Engine = MatmulEngine;
    type Arguments = MatmulArguments;

    fn plan(problem: &MatmulProblem, execution: Execution) -> Result<MatmulEngine> {
        match execution {
            Execution::Cpu { threads } => {
                Ok(MatmulEngine::Cpu(Box::new(cpu::CpuMatmul::new(problem, threads)?)))
            }
            Execution::Cuda { device } => Ok(MatmulEngine::Cublaslt(Box::new(
                cublaslt::CublasltMatmul::new(problem, device)?,
            ))),
            Execution::CudaMulti { .. } => Err(Error::InvalidValue(
                "device_ids names several devices, but matmul uses one; give device_id instead"
                    .into(),
            )),
        }
    }

    fn plan_cache() -> &'static PlanCache<Self> {
        thread_local! {
            static RECENT: RecentPlans<Matmul> = RecentPlans::default();
        }
        static PLANS: PlanCache<Matmul> = PlanCache::new(&RECENT);
        &PLANS
    }
}

impl Engine for MatmulEngine {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(engine) => engine.name(),
            Self::Cublaslt(engine) => engine.name(),
        }
    }

    fn workspace_size(&self) -> usize {
        match self {
            Self::Cpu(_) => 0,
            Self::Cublaslt(engine) => engine.workspace_size(),
        }
    }

    fn host_memory(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.host_memory(),
            Self::Cublaslt(engine) => engine.host_memory(),
        }
    }

    fn library_calls(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.library_calls(),
            Self::Cublaslt(engine) => engine.library_calls(),
        }
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees what both engines require.
        unsafe {
            match self {
                Self::Cpu(engine) => engine.execute(context, call),
                Self::Cublaslt(engine) => engine.execute(context, call),
            }
        }
    }
}
