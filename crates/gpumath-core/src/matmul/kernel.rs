//! Products on a GPU that one kernel of gpumath's own computes.
//!
//! cuBLASLt needs copies of operands that have no stride of 1, and its kernels are made for large
//! matrices. A kernel that takes all strides needs less time for small matrices, for matrices of
//! small depth, and for a matrix and a vector or a few. Except for matrices of small depth, it also
//! adds a bias and applies RELU or GELU. It is one of the algorithms of such a product: the first
//! one where it is expected to be the fastest.

use super::geometry::{Geometry, MATRICES, Matrix};
use super::problem::{InputRole, MatmulProblem};
use super::types::ComputeType;
use super::{Epilog, FoundAlgorithm, MatmulArguments, MatmulEngine};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::kernels::{self, Function, ProductCall, StridedProduct, Way};
use crate::operation::{Call, Engine};
use crate::tensor::{BatchDim, BatchDims};

/// What stands for a `cublasLtMatmulAlgo_t` of this kernel. cuBLASLt has no such number.
pub(super) const CODE: [u64; 8] = [u64::from_le_bytes(*b"gpumath\xff"), 0, 0, 0, 0, 0, 0, 0];

/// Above this the kernel for small matrices is slower than any of cuBLASLt's.
const MOST_SMALL_WORK: i64 = 1 << 27;

/// A product by a kernel.
#[derive(Debug)]
pub(super) struct KernelMatmul {
    call: ProductCall,
    /// Whether cuBLASLt may multiply float32 with less precision.
    has_tensor_cores: bool,
    /// Whether cuBLAS takes less time for the product: see [`Geometry::are_scaled_vectors`].
    are_scaled_vectors: bool,
    /// This kernel, and what cuBLASLt found.
    algorithms: Vec<FoundAlgorithm>,
}

impl KernelMatmul {
    /// Plans the product; `None` if the kernels do not take it.
    pub(super) fn new(problem: &MatmulProblem) -> Option<Self> {
        let compute = problem.types.compute;
        let is_computed =
            compute.is_floating() || matches!(compute, ComputeType::I32 | ComputeType::I32Pedantic);
        if !is_computed || !problem.search.is_free() {
            return None;
        }
        let function = function_of(problem)?;
        // The rows of one large product would have other elements of the bias.
        let mut geometry = problem.geometry();
        if !problem.epilog.has_bias() {
            geometry = geometry.folded(problem);
        }
        let call = ProductCall::of(&of_geometry(problem, &geometry, function))?;
        if call.way() == Way::Small && call.work() > MOST_SMALL_WORK {
            return None;
        }
        let algorithms = vec![FoundAlgorithm::other(CODE, 0)];
        let has_tensor_cores = !matches!(compute, ComputeType::F32 | ComputeType::F32Pedantic);
        let are_scaled_vectors = problem.geometry().are_scaled_vectors(problem.types.a);
        Some(Self { call, has_tensor_cores, are_scaled_vectors, algorithms })
    }

    /// Whether the kernel is expected to be the fastest algorithm, where cuBLASLt needs copies of
    /// so many bytes.
    pub(super) fn is_first(&self, copied: usize) -> bool {
        let is_slower = self.are_scaled_vectors && copied == 0;
        !is_slower && self.call.is_faster(copied, self.has_tensor_cores)
    }

    /// Takes other algorithms behind this one, `limit` in all.
    pub(super) fn with_others(mut self, others: &[FoundAlgorithm], limit: usize) -> Self {
        self.algorithms.extend(others.iter().take(limit.saturating_sub(1)));
        self
    }
}

/// What the kernel does with sums, after it added a bias; `None` if there is more to be done.
fn function_of(problem: &MatmulProblem) -> Option<Function> {
    let function = match problem.epilog {
        Epilog::None | Epilog::Bias => Function::Identity,
        Epilog::Relu | Epilog::ReluBias => Function::Relu,
        Epilog::Gelu | Epilog::GeluBias => Function::Gelu,
        _ => return None,
    };
    let bias = problem.epilog.has_bias().then_some(InputRole::Bias);
    let bias_dtype = problem.matrix_dtypes()[Matrix::Vector as usize];
    let is_all = problem.has_inputs(bias.into_iter())
        && bias_dtype.is_none_or(|dtype| dtype == problem.types.result)
        && problem.outputs.len() == 1
        && problem.block_scaling.is_none();
    is_all.then_some(function)
}

/// The matrices of the kernel, in its order.
const KERNEL_MATRICES: [Matrix; 4] = [Matrix::A, Matrix::B, Matrix::Result, Matrix::Vector];

/// Describes the product with these extents, strides and this batch.
fn of_geometry(problem: &MatmulProblem, geometry: &Geometry, function: Function) -> StridedProduct {
    let of = |strides: &[i64; MATRICES]| KERNEL_MATRICES.map(|matrix| strides[matrix as usize]);
    StridedProduct {
        dtype: problem.types.a,
        result: problem.types.result,
        rows: geometry.rows,
        columns: geometry.columns,
        depth: geometry.depth,
        strides: KERNEL_MATRICES.map(|matrix| geometry.strides(matrix)),
        conjugate: problem.conjugate,
        batch: BatchDims::merged(
            geometry
                .batch
                .iter()
                .map(|dim| BatchDim { extent: dim.extent, strides: of(&dim.strides) }),
        ),
        has_bias: problem.epilog.has_bias(),
        function,
        alignment: problem.alignment,
    }
}

impl MatmulEngine for KernelMatmul {
    fn algorithms(&self) -> &[FoundAlgorithm] {
        &self.algorithms
    }
}

impl Engine for KernelMatmul {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        "gpumath"
    }

    fn workspace_size(&self) -> usize {
        0
    }

    fn host_memory(&self) -> usize {
        size_of::<Self>() + self.algorithms.len() * size_of::<FoundAlgorithm>()
    }

    fn library_calls(&self) -> usize {
        0
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        let (Some(context), Some(stream), &[a, b, ref bias @ ..], &[result]) =
            (context, call.stream, call.inputs, call.outputs)
        else {
            return Err(Error::InvalidState(
                "a kernel for products needs a GPU, a stream, two operands and a result".into(),
            ));
        };
        let addresses = [a, b, result, bias.first().copied().unwrap_or_default()];
        // SAFETY: the caller guarantees that operands and result have the problem's layouts.
        unsafe { kernels::multiply(context, addresses, &self.call, call.arguments.alpha, stream) }
    }
}
