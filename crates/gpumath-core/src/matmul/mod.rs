//! Products of two matrices: problem → plan → execute.

mod cpu;
mod cublaslt;
mod problem;

use crate::error::{Error, Result};
use crate::operation::{Engine, Execution, Operation, Plan, PlanCache, RecentPlans};

pub use problem::{MatmulProblem, MatmulRequest};

/// The product of two matrices.
#[derive(Debug)]
pub struct Matmul;

/// A planned product of two matrices.
pub type MatmulPlan = Plan<Matmul>;

impl Operation for Matmul {
    type Request = MatmulRequest;
    type Problem = MatmulProblem;
    type Engine = Box<dyn Engine<Arguments = ()>>;
    type Arguments = ();

    fn plan(problem: &MatmulProblem, execution: Execution) -> Result<Self::Engine> {
        match execution {
            Execution::Cpu { threads } => Ok(Box::new(cpu::CpuMatmul::new(problem, threads))),
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
