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

use crate::error::{Error, Result};
use crate::operation::{Engine, Execution, Operation, Plan, PlanCache, RecentPlans};

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
    plan.engine().map_or(&[], |engine| engine.algorithms())
}

/// Returns how many matrices an execution copies to a layout that cuBLASLt takes.
#[must_use]
pub fn copies(plan: &MatmulPlan) -> usize {
    plan.engine().map_or(0, |engine| engine.copies())
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
pub trait MatmulEngine: Engine<Arguments = MatmulArguments> {
    /// What cuBLASLt found, the best one first.
    fn algorithms(&self) -> &[FoundAlgorithm] {
        &[]
    }

    /// How many matrices an execution copies to a layout that the library takes.
    fn copies(&self) -> usize {
        0
    }
}

impl MatmulEngine for cpu::CpuMatmul {}

impl MatmulEngine for cublaslt::CublasltMatmul {
    fn algorithms(&self) -> &[FoundAlgorithm] {
        self.algorithms()
    }

    fn copies(&self) -> usize {
        self.copies()
    }
}

impl Operation for Matmul {
    type Request = MatmulRequest;
    type Problem = MatmulProblem;
    type Engine = Box<dyn MatmulEngine>;
    type Arguments = MatmulArguments;

    fn plan(problem: &MatmulProblem, execution: Execution) -> Result<Self::Engine> {
        match execution {
            Execution::Cpu { threads } => Ok(Box::new(cpu::CpuMatmul::new(problem, threads)?)),
            Execution::Cuda { device } => {
                Ok(Box::new(cublaslt::CublasltMatmul::new(problem, device)?))
            }
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
