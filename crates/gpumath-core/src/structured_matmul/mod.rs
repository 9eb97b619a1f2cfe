//! Products of matrices with a structure, and lists of products: problem → plan → execute.
//!
//! `out = alpha * a @ b + beta * c`, where `a` and `b` are general, symmetric, Hermitian,
//! triangular or diagonal matrices, batches of them in further dimensions, and lists of products
//! of different shapes. What BLAS calls gemm, symm, hemm and trmm, and cuBLAS dgmm.

mod cpu;
mod cuda;
mod problem;
mod request;
mod scalars;

use crate::error::{Error, Result};
use crate::operation::{Engine, Execution, Operation, Plan, PlanCache, RecentPlans};

pub use crate::cpu_blas::{SmallFactor, Structure, Triangle, are_small, multiply_small};
pub use problem::StructuredMatmulProblem;
pub use request::{Qualifier, StructuredMatmulRequest};
pub use scalars::Scalars;

/// The product of matrices with a structure.
#[derive(Debug)]
pub struct StructuredMatmul;

/// A planned product of matrices with a structure.
pub type StructuredMatmulPlan = Plan<StructuredMatmul>;

impl Operation for StructuredMatmul {
    type Request = StructuredMatmulRequest;
    type Problem = StructuredMatmulProblem;
    type Engine = Box<dyn Engine<Arguments = Scalars>>;
    type Arguments = Scalars;

    fn plan(problem: &StructuredMatmulProblem, execution: Execution) -> Result<Self::Engine> {
        match execution {
            Execution::Cpu { threads } => Ok(Box::new(cpu::CpuEngine::new(problem, threads)?)),
            Execution::Cuda { device } => match cuda::GeneralEngine::new(problem, execution)? {
                Some(engine) => Ok(Box::new(engine)),
                None => Ok(Box::new(cuda::CublasEngine::new(problem, device)?)),
            },
            Execution::CudaMulti { .. } => Err(Error::InvalidValue(
                "device_ids names several devices, but matmul uses one; give device_id instead"
                    .into(),
            )),
        }
    }

    fn check_arguments(problem: &StructuredMatmulProblem, scalars: Scalars) -> Result<()> {
        scalars.check(problem.dtype)
    }

    fn plan_cache() -> &'static PlanCache<Self> {
        thread_local! {
            static RECENT: RecentPlans<StructuredMatmul> = RecentPlans::default();
        }
        static PLANS: PlanCache<StructuredMatmul> = PlanCache::new(&RECENT);
        &PLANS
    }
}
