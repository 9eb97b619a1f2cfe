//! Products on a GPU that one kernel of gpumath's own computes.
//!
//! cuBLASLt needs copies of operands that have no stride of 1, and its kernels are made for large
//! matrices. A kernel that takes all strides needs less time for small matrices, for matrices of
//! small depth, and for a matrix and a vector or a few. It is one of the algorithms of such a
//! product: the first one where it is expected to be the fastest.

use super::geometry::{Geometry, MATRICES, Matrix};
use super::problem::MatmulProblem;
use super::types::ComputeType;
use super::{FoundAlgorithm, MatmulArguments, MatmulEngine};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::kernels::{self, ProductCall, StridedProduct, Way};
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
        let is_computed = matches!(
            problem.types.compute,
            ComputeType::F32
                | ComputeType::F32Pedantic
                | ComputeType::F32Fast16F
                | ComputeType::F32Fast16Bf
                | ComputeType::F32FastTf32
                | ComputeType::F64
                | ComputeType::F64Pedantic
                | ComputeType::I32
                | ComputeType::I32Pedantic
        );
        if !problem.is_plain() || !is_computed || !problem.search.is_free() {
            return None;
        }
        let geometry = problem.geometry().folded(problem);
        let call = ProductCall::of(&of_geometry(problem, &geometry))?;
        if call.way() == Way::Small && call.work() > MOST_SMALL_WORK {
            return None;
        }
        let algorithms = vec![FoundAlgorithm::other(CODE, 0)];
        let has_tensor_cores =
            !matches!(problem.types.compute, ComputeType::F32 | ComputeType::F32Pedantic);
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

/// Describes the product with these extents, strides and this batch.
fn of_geometry(problem: &MatmulProblem, geometry: &Geometry) -> StridedProduct {
    let of = |strides: &[i64; MATRICES]| {
        [Matrix::A, Matrix::B, Matrix::Result].map(|matrix| strides[matrix as usize])
    };
    StridedProduct {
        dtype: problem.types.a,
        result: problem.types.result,
        rows: geometry.rows,
        columns: geometry.columns,
        depth: geometry.depth,
        strides: [Matrix::A, Matrix::B, Matrix::Result].map(|matrix| geometry.strides(matrix)),
        conjugate: problem.conjugate,
        batch: BatchDims::merged(
            geometry
                .batch
                .iter()
                .map(|dim| BatchDim { extent: dim.extent, strides: of(&dim.strides) }),
        ),
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
        let (Some(context), Some(stream), &[a, b], &[result]) =
            (context, call.stream, call.inputs, call.outputs)
        else {
            return Err(Error::InvalidState(
                "a kernel for products needs a GPU, a stream, two operands and a result".into(),
            ));
        };
        // SAFETY: the caller guarantees that operands and result have the problem's layouts.
        unsafe {
            kernels::multiply(context, [a, b, result], &self.call, call.arguments.alpha, stream)
        }
    }
}
