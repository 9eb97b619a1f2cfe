//! For which products an epilog is expected to take less time as a step of its own. The rules are
//! from the times of 12,542 and of 14,719 products with 14 epilogs on H100s, of random extents,
//! layouts and five types, and of 38,055 such products on an H200.

use super::cublaslt::number_and_parts;
use super::epilog::AuxKind;
use super::geometry::Matrix;
use super::problem::MatmulProblem;
use super::types::ComputeType;
use super::{Epilog, FoundAlgorithm, kernel};
use crate::tensor::DType;

/// Numbers of cuBLASLt's algorithms for halves that are slow with an epilog, and those that are if
/// rows or columns of a factor are summed up.
const SLOW: [i32; 3] = [16, 41, 42];
const SLOW_SUMS: [i32; 4] = [16, 41, 42, 56];
/// An algorithm for halves that is never slow with bits or derivatives.
const FAST: i32 = 21;
/// An algorithm for halves that is slow with derivatives of many results, but not with bits.
const FAST_WITH_BITS: i32 = 66;
/// An algorithm for float32 that is slow with bits and derivatives, however few results there are.
const SLOW_WITH_AUX: i32 = 55;
/// Algorithms for float32 and float64 that are slow with bits, however few results there are.
const SLOW_WITH_BITS: [i32; 3] = [35, 36, 63];
/// An algorithm for float64 that is slow with all epilogs of many results, but for a bias alone.
const SLOW_OF_FLOAT64: i32 = 22;
/// From so many results on, most algorithms are slow with bits or derivatives.
const MANY_RESULTS: i64 = 1 << 22;
/// Likewise, for halves with bits.
const MANY_BITS: i64 = 1 << 18;
/// From so many products in a sum on, a faster kernel for the product gains more than the step
/// after it costs.
const LONG_SUM: i64 = 1024;

/// From so many products in a sum on, matrices of a batch that have the right factor in common take
/// much less time as one matrix, which they are by rows.
const SUM_OF_ONE_MATRIX: i64 = 512;
/// Numbers of cuBLASLt's algorithms that multiply the entries one by one, with the epilog, in as
/// little time as that.
const FAST_FOR_ENTRIES: [i32; 2] = [13, 66];

/// Whether the steps are expected to take the least time if the product is computed by rows, for
/// the first algorithm of cuBLASLt with the epilog.
pub(super) fn gains_by_rows(problem: &MatmulProblem, first: &FoundAlgorithm) -> bool {
    let Some((number, _)) = number_and_parts(first) else { return false };
    let [_, _, depth] = problem.extents();
    let batch = problem.geometry().batch;
    let has_common_factor = batch
        .iter()
        .all(|dim| dim.strides[Matrix::B as usize] == 0 && dim.strides[Matrix::A as usize] != 0);
    depth >= SUM_OF_ONE_MATRIX
        && !FAST_FOR_ENTRIES.contains(&number)
        && batch.count() > 1
        && has_common_factor
}

/// Why the steps may be faster than an algorithm of cuBLASLt with the epilog.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons {
    dtype: DType,
    number: i32,
    parts: i64,
    /// The algorithm is slow with this epilog.
    is_slow: bool,
    /// A kernel of gpumath's own may compute the product.
    gains_by_own: bool,
    /// Another algorithm may compute the product, whose sums are long.
    is_long: bool,
}

impl Reasons {
    /// `None` if there are none.
    pub(super) fn of(problem: &MatmulProblem, first: &FoundAlgorithm) -> Option<Self> {
        let (number, parts) = number_and_parts(first)?;
        let types = &problem.types;
        let is_half = matches!(types.a, DType::Float16 | DType::BFloat16);
        let is_exact = matches!(types.compute, ComputeType::F32 | ComputeType::F64);
        let [rows, columns, depth] = problem.extents();
        let sums_factor = matches!(problem.epilog, Epilog::Bgrada | Epilog::Bgradb);
        // cuBLASLt's kernels for vectors sum up faster.
        let is_vector = rows.min(columns) == 1 && types.a != DType::Float64;
        let is_slow = match (is_half, sums_factor) {
            (_, true) if is_vector => false,
            (true, true) => SLOW_SUMS.contains(&number),
            (true, false) => SLOW.contains(&number),
            (false, _) => sums_factor,
        };
        // Whether the steps are faster if a kernel of gpumath's own computes the product.
        let gains_by_own = match (is_half, sums_factor) {
            (_, true) => is_half && !is_vector,
            (true, false) => problem.epilog == Epilog::Drelu,
            (false, _) => problem.epilog.aux_input().or(problem.epilog.aux_output()).is_some(),
        };
        let is_long = !is_half && is_exact && depth >= LONG_SUM;
        let is_slow = is_slow || has_slow_aux(problem, number);
        let is_any = is_slow || gains_by_own || is_long;
        is_any.then_some(Self { dtype: types.a, number, parts, is_slow, gains_by_own, is_long })
    }

    /// Whether they hold for what computes the product alone.
    pub(super) fn hold(self, alone: Option<&FoundAlgorithm>) -> bool {
        let is_own = alone.is_some_and(|alone| alone.algorithm == kernel::CODE);
        let is_other = alone.and_then(number_and_parts).is_some_and(|(other, other_parts)| {
            let has_parts = other_parts > 1 && self.parts == 1;
            other != self.number && (self.dtype == DType::Float64 || has_parts)
        });
        self.is_slow || self.gains_by_own && is_own || self.is_long && is_other
    }
}

/// Whether an algorithm of cuBLASLt with this number takes more time for what the epilog reads or
/// writes besides the result than a kernel of its own does.
fn has_slow_aux(problem: &MatmulProblem, number: i32) -> bool {
    let is_half = problem.types.a.size() == 2;
    let has_derivative = problem.epilog.aux_input().is_some();
    let writes_bits = problem.epilog.aux_output() == Some(AuxKind::ReluBits);
    let [rows, columns, _] = problem.extents();
    let results = problem
        .shape
        .batch
        .iter()
        .fold(rows.saturating_mul(columns), |all, &extent| all.saturating_mul(extent));
    let are_many = results >= if is_half && writes_bits { MANY_BITS } else { MANY_RESULTS };
    let has_aux = has_derivative || writes_bits;
    match number {
        FAST if is_half => false,
        FAST_WITH_BITS if is_half => has_derivative && are_many,
        SLOW_WITH_AUX => has_aux,
        SLOW_OF_FLOAT64 if problem.types.a == DType::Float64 => {
            are_many && !matches!(problem.epilog, Epilog::Bias | Epilog::Bgrada | Epilog::Bgradb)
        }
        _ if SLOW_WITH_BITS.contains(&number) && writes_bits => true,
        _ => has_aux && are_many,
    }
}
