//! Products by cuBLAS instead of cuBLASLt: `cublasGemmEx` and `cublasGemmStridedBatchedEx`.
//!
//! They choose among their kernels when they are called, by rules of their own and with some
//! kernels that cuBLASLt does not have, such as those for a batch of products with a vector. So
//! they are one more algorithm of a plain product, which takes the same matrices.

use gpumath_sys::generated::cublas;

use super::super::FoundAlgorithm;
use super::super::geometry::Matrix;
use super::super::problem::MatmulProblem;
use super::super::types::ComputeType;
use super::codes::data_type;
use super::route::Route;
use super::split_sums::can_lose_products;
use super::ways::Entries;
use crate::error::{Error, Result};
use crate::loader;
use crate::status::call;
use crate::tensor::DType;

/// What stands for a `cublasLtMatmulAlgo_t` of these functions. cuBLASLt has no such number.
const CODE: u64 = u64::from_le_bytes(*b"cublas\0\xff");

/// The number for these entries of a batch.
pub(super) const fn code(entries: Entries) -> [u64; 8] {
    [CODE, matches!(entries, Entries::Apart) as u64, 0, 0, 0, 0, 0, 0]
}

/// Whether an algorithm stands for one of these functions.
pub(super) fn is_code(algorithm: &[u64; 8]) -> bool {
    algorithm[0] == CODE
}

/// `CUBLAS_GEMM_DEFAULT`
const BY_HEURISTIC: i32 = -1;

/// The arguments of a call, beside addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemm {
    data_type: i32,
    compute_type: i32,
    /// Whether the left and the right factor are transposed: `cublasOperation_t`.
    operations: [i32; 2],
    /// m, n and k.
    extents: [i64; 3],
    /// Of the left factor, the right one and the result, from one column and from one entry of the
    /// batch to the next.
    steps: [i64; 3],
    strides: [i64; 3],
    batch: i64,
    workspace: usize,
    entries: Entries,
    dtype: DType,
    /// Whether cuBLAS may multiply float32 with less precision.
    has_tensor_cores: bool,
}

impl Gemm {
    /// Describes the product of a route with such entries and so many bytes of workspace; `None` if
    /// cuBLAS does not compute it, is not there, or is not wanted.
    pub(super) fn of(
        problem: &MatmulProblem,
        (route, entries): (&Route, Entries),
        workspace: usize,
    ) -> Option<Self> {
        let types = &problem.types;
        let is_known = match types.compute {
            ComputeType::F32 | ComputeType::F32Pedantic => matches!(
                types.a,
                DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Complex64
            ),
            ComputeType::F32Fast16F | ComputeType::F32Fast16Bf | ComputeType::F32FastTf32 => {
                matches!(types.a, DType::Float32 | DType::Complex64)
            }
            ComputeType::F64 | ComputeType::F64Pedantic => {
                matches!(types.a, DType::Float64 | DType::Complex128)
            }
            _ => false,
        };
        let is_of_one_type = types.b == types.a && types.result == types.a;
        if !(is_known && is_of_one_type && problem.is_plain() && problem.search.is_free()) {
            return None;
        }
        let (left, right) = route.factors();
        let order = [left, right, Matrix::Result];
        let [Some(first), Some(second), Some(result)] = order.map(|matrix| route.columns(matrix))
        else {
            return None;
        };
        let operations = [left, right].map(|matrix| route.operation(matrix, problem.conjugate));
        let depth = if operations[0] == 0 { first.count } else { first.length };
        // cuBLAS does not say which algorithm it takes, and some leave out products of such a sum.
        if can_lose_products(depth, types.a.size()) {
            return None;
        }
        let gemm = Self {
            data_type: data_type(types.a).ok()?,
            compute_type: types.compute.code(),
            operations,
            extents: [result.length, result.count, depth],
            steps: [first.step, second.step, result.step],
            strides: order.map(|matrix| route.batch.strides[matrix as usize]),
            batch: route.batch.extent,
            workspace,
            entries,
            dtype: types.a,
            has_tensor_cores: !matches!(types.compute, ComputeType::F32 | ComputeType::F32Pedantic),
        };
        let is_wanted = match problem.search.algorithm {
            Some(algorithm) => algorithm == code(entries),
            None => problem.search.limit > 1 || gemm.is_first(),
        };
        let is_there = || {
            loader::function(&cublas::GEMM_EX_64).is_ok()
                && loader::function(&cublas::GEMM_STRIDED_BATCHED_EX_64).is_ok()
        };
        (is_wanted && is_there()).then_some(gemm)
    }

    /// Whether it is expected to take less time than cuBLASLt's first algorithm. The limits are
    /// those of products on an H200, on a grid and between its points:
    /// `benchmarks/host/matmul_grid.py`.
    pub(super) fn is_first(&self) -> bool {
        let [m, n, k] = self.extents;
        let is_batch = self.batch > 1;
        let are_vectors = is_batch && (m == 1 || n == 1);
        let sums = m.saturating_mul(n);
        let results = sums.saturating_mul(self.batch);
        let longest = m.max(n);
        let is_deep = !is_batch && k >= 16384 && sums <= 1 << 16;
        let is_of_type = match self.dtype {
            DType::Float16 | DType::BFloat16 => {
                (2..=16).contains(&k) && sums >= 1 << 24 || is_batch && k > 1 && k <= longest / 4
            }
            DType::Float32 if self.has_tensor_cores => {
                is_batch && k > 4 || (17..=128).contains(&k) && results >= 1 << 22
            }
            DType::Complex64 => {
                let least = match (is_batch, k) {
                    (true, 512..) => 1 << 15,
                    (false, 512..) => 1 << 17,
                    _ => 1 << 18,
                };
                let is_middle = (17..=2048).contains(&k) && (least..1 << 22).contains(&results);
                let is_flat = is_batch && k <= longest / 8 && results <= 1 << 24;
                is_middle || is_flat || !is_batch && k >= 4096 && sums <= 1 << 13
            }
            DType::Complex128 if is_batch => {
                k <= 16 && longest >= 4096 || results <= 1 << 17 && k > results / 256
            }
            DType::Complex128 => sums <= 1 << 16 && sums.saturating_mul(k) >= 1 << 22,
            _ => false,
        };
        are_vectors || is_deep || is_of_type
    }

    /// What it is among the algorithms of a plan.
    pub(super) fn algorithm(&self) -> FoundAlgorithm {
        FoundAlgorithm::other(code(self.entries), self.workspace)
    }

    /// Enqueues the product of matrices at these addresses: of the left factor, the right one and
    /// the result.
    ///
    /// # Safety
    /// - `handle` is set up by [`with_cublas`](crate::handle::with_cublas).
    /// - The matrices are in memory of its device, and valid until the work is done.
    /// - `alpha` and `beta` are of the type that cuBLAS takes for such a product.
    pub(super) unsafe fn enqueue(
        &self,
        handle: usize,
        [left, right, result]: [usize; 3],
        alpha: &[u64; 2],
        beta: &[u64; 2],
    ) -> Result<()> {
        let Self { data_type, compute_type, operations: [op_left, op_right], .. } = *self;
        let ([m, n, k], steps, strides) = (self.extents, self.steps, self.strides);
        let alpha = std::ptr::from_ref(alpha) as usize;
        let beta = std::ptr::from_ref(beta) as usize;
        if self.batch == 1 {
            // SAFETY: the library reads `alpha` and `beta` during the call; the caller guarantees
            // the rest.
            return unsafe {
                call!(
                    cublas::GEMM_EX_64,
                    handle,
                    op_left,
                    op_right,
                    m,
                    n,
                    k,
                    alpha,
                    left,
                    data_type,
                    steps[0],
                    right,
                    data_type,
                    steps[1],
                    beta,
                    result,
                    data_type,
                    steps[2],
                    compute_type,
                    BY_HEURISTIC
                )
            };
        }
        // SAFETY: as above.
        unsafe {
            call!(
                cublas::GEMM_STRIDED_BATCHED_EX_64,
                handle,
                op_left,
                op_right,
                m,
                n,
                k,
                alpha,
                left,
                data_type,
                steps[0],
                strides[0],
                right,
                data_type,
                steps[1],
                strides[1],
                beta,
                result,
                data_type,
                steps[2],
                strides[2],
                self.batch,
                compute_type,
                BY_HEURISTIC
            )
        }
    }
}

/// The error for a request for this algorithm where it is none.
pub(super) fn refusal() -> Error {
    Error::InvalidValue(
        "the algorithm is cuBLAS's own choice, which is not for this product; plan it without \
         naming an algorithm"
            .into(),
    )
}
