//! Products of matrices: request → problem → plan → execute.

mod block_scaling;
mod check;
mod cpu;
mod cublaslt;
mod epilog;
mod epilog_apart;
mod epilog_choice;
mod geometry;
mod kernel;
mod problem;
mod request;
mod types;

use crate::error::{Error, Result};
use crate::operation::{Engine, Execution, Operation, Plan, PlanCache, RecentPlans};
use crate::tensor::DType;

use self::epilog_apart::{EpilogApart, SumsOrder};

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

/// Returns what else can be named instead of a `cublasLtMatmulAlgo_t` for the product of this plan:
/// for each other way to plan it, the first algorithm there. Some may be refused, and the epilog as
/// a step of its own may be among the plan's algorithms. Empty on the CPU.
///
/// # Errors
/// `InvalidValue` if the matrices of the product, or copies of them, are too large.
pub fn codes_of_other_ways(plan: &MatmulPlan) -> Result<Vec<[u64; 8]>> {
    match plan.execution() {
        Execution::Cuda { .. } if plan.engine().is_some() => {
            let mut codes = cublaslt::codes_of_other_ways(plan.problem())?;
            codes.extend(epilog_apart::codes(plan.problem()));
            Ok(codes)
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns how many matrices an execution copies to a layout that cuBLASLt takes.
#[must_use]
pub fn copies(plan: &MatmulPlan) -> usize {
    plan.engine().map_or(0, |engine| engine.copies())
}

/// What an execution of a product takes besides its operands: complex numbers. They must be real
/// for real products, and integers for products in integers.
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

    /// Returns `InvalidValue` if a number is none of the type that it would be converted to.
    fn check(self, scale: DType) -> Result<()> {
        for (name, [real, imaginary]) in [("alpha", self.alpha), ("beta", self.beta)] {
            if imaginary != 0.0 && !scale.is_complex() {
                return Err(Error::InvalidValue(format!(
                    "{name} is {real}{imaginary:+}j, but the product is of real numbers; give a \
                     real number, or convert the operands to a complex type"
                )));
            }
            let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
            let is_integer = real.fract() == 0.0 && range.contains(&real);
            if scale == DType::Int32 && !is_integer {
                return Err(Error::InvalidValue(format!(
                    "{name} is {real}, but the product is computed in int32, so an integer of 32 \
                     bits is needed; give one, or another result_type, for which float32 is used"
                )));
            }
        }
        Ok(())
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

/// Plans a product on a GPU: by the algorithm that the request names, else by the one that is
/// expected to be the fastest.
fn plan_cuda(problem: &MatmulProblem, device: i32) -> Result<Box<dyn MatmulEngine>> {
    if let Some(order) = problem.search.algorithm.as_ref().and_then(SumsOrder::of_code) {
        return Ok(Box::new(EpilogApart::new(problem, order, device)?));
    }
    let found = plan_at_once(problem, device);
    let first = match &found {
        _ if problem.search.algorithm.is_some() || problem.epilog == Epilog::None => return found,
        Ok(engine) => engine.algorithms().first(),
        Err(error) if is_refusal(error) => None,
        Err(_) => return found,
    };
    let limit = problem.search.limit.max(1) as usize;
    match EpilogApart::instead_of(problem, first, device) {
        Ok(Some(apart)) => {
            let others = found.as_ref().map_or(&[][..], |engine| engine.algorithms());
            Ok(Box::new(apart.with_others(others, limit)))
        }
        // What was found before is not worse, or its refusal says more.
        _ => found,
    }
}

/// Plans a product together with its epilog.
fn plan_at_once(problem: &MatmulProblem, device: i32) -> Result<Box<dyn MatmulEngine>> {
    let kernel = kernel::KernelMatmul::new(problem);
    let limit = problem.search.limit.max(1) as usize;
    match (kernel, problem.search.algorithm) {
        (Some(kernel), Some(kernel::CODE)) => Ok(Box::new(kernel)),
        (None, Some(kernel::CODE)) => Err(Error::InvalidValue(
            "the algorithm is a kernel of gpumath's own, which is not for this product; plan it \
             without naming an algorithm"
                .into(),
        )),
        (Some(kernel), None) => {
            let is_first =
                cublaslt::copied_bytes(problem).map_or(true, |copied| kernel.is_first(copied));
            if is_first && limit == 1 {
                return Ok(Box::new(kernel));
            }
            match cublaslt::CublasltMatmul::new(problem, device) {
                // It may copy more than was expected.
                Ok(found) if kernel.is_first(found.copied_bytes()) => {
                    Ok(Box::new(kernel.with_others(found.algorithms(), limit)))
                }
                Ok(found) => Ok(Box::new(found.with_kernel(kernel.algorithms()[0], limit))),
                Err(error) if is_refusal(&error) => Ok(Box::new(kernel)),
                Err(error) => Err(error),
            }
        }
        _ => Ok(Box::new(cublaslt::CublasltMatmul::new(problem, device)?)),
    }
}

/// Whether an error says that there is no cuBLASLt, or that it has nothing for a product, such as
/// one of a depth of 2^31. Other errors say that something failed.
fn is_refusal(error: &Error) -> bool {
    /// `CUBLAS_STATUS_INVALID_VALUE` and `CUBLAS_STATUS_NOT_SUPPORTED`
    const REFUSALS: [i32; 2] = [7, 15];
    match error {
        Error::LibraryNotFound(_) | Error::FunctionNotFound(_) | Error::InvalidValue(_) => true,
        Error::Status(status) => status.library == "cublasLt" && REFUSALS.contains(&status.code),
        _ => false,
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
            Execution::Cuda { device } => plan_cuda(problem, device),
            Execution::CudaMulti { .. } => Err(Error::InvalidValue(
                "device_ids names several devices, but matmul uses one; give device_id instead"
                    .into(),
            )),
        }
    }

    fn check_arguments(problem: &MatmulProblem, arguments: MatmulArguments) -> Result<()> {
        arguments.check(problem.types.scale)
    }

    fn plan_cache() -> &'static PlanCache<Self> {
        thread_local! {
            static RECENT: RecentPlans<Matmul> = RecentPlans::default();
        }
        static PLANS: PlanCache<Matmul> = PlanCache::new(&RECENT);
        &PLANS
    }
}
