//! Which of cuBLASLt's algorithms is the first one, where its own choice was measured to be slow.
//!
//! The rules are those of products on an H200 and an H100, on a grid and between its points:
//! `benchmarks/host/matmul_grid.py`.

use std::ops::RangeInclusive;

use gpumath_sys::generated::cublaslt;

use super::super::FoundAlgorithm;
use super::super::geometry::Matrix;
use super::super::problem::MatmulProblem;
use super::super::types::ComputeType;
use super::route::Route;
use crate::loader;
use crate::status::call;
use crate::tensor::DType;

/// Algorithms to choose among.
pub(super) const CANDIDATES: i32 = 32;

/// `CUBLASLT_ALGO_CONFIG_ID`, and the algorithms for products of a vector and a vector and for
/// short sums of float32.
const ID: i32 = 0;
const OUTER: i32 = 12;
const FLAT: i32 = 20;
/// `CUBLASLT_ALGO_CONFIG_SPLITK_NUM`
pub(super) const SPLIT_COUNT: i32 = 2;
/// `CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME`
pub(super) const REDUCTION_SCHEME: i32 = 3;
/// With fewer results it was faster than tiles of matrices.
const OUTER_RESULTS: i64 = 1 << 22;
/// With as many results, it writes sums of so many products in half to all of the time of others:
/// of 8 where lines of the result begin at multiples of 16 bytes, and of 16 elsewhere.
const FLAT_RESULTS: i64 = 1 << 24;
const FLAT_SUMS: [i64; 2] = [8, 16];

/// Shorter sums are not worth to be split and added up by another kernel, and no sum is worth to be
/// split into more parts.
const SHORT_SUM: i64 = 64;
const MOST_PARTS: i32 = 40;

/// Sums of int8 of such lengths, of so few rows or of one column, are not worth to be split either.
const FEW_ROWS: i64 = 8;
const MIDDLE_SUM: RangeInclusive<i64> = 128..=1024;

/// Nor are longer ones, if blocks of 64×64 results fill the 132 multiprocessors of an H200 once.
const LONG_SUM: i64 = 2048;
const BLOCK: i64 = 64;
const FILLING_BLOCKS: RangeInclusive<i64> = 120..=132;

/// What another algorithm is preferred for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    /// The algorithm of this number.
    Id(i32),
    /// No workspace, which would have the sums of all parts.
    NoWorkspace,
    /// What cuBLASLt chooses if it may use no workspace.
    ChosenWithoutWorkspace,
    /// At most so many parts of a sum.
    Parts(i32),
}

impl Preference {
    /// Returns the preference for a product; `None` for cuBLASLt's own.
    pub(super) fn of(problem: &MatmulProblem, route: &Route) -> Option<Self> {
        if !problem.search.is_free() {
            return None;
        }
        let result = route.columns(Matrix::Result)?;
        let results = result.length.saturating_mul(result.count);
        let results = results.saturating_mul(route.batch.extent);
        let [rows, columns, depth] = problem.extents();
        let dtype = problem.types.a;
        let is_small = matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32);
        let is_single = dtype == DType::Float32 && problem.types.compute == ComputeType::F32;
        let flat_sum = FLAT_SUMS[usize::from(result.step % 4 != 0)];
        let is_flat = is_single && depth <= flat_sum && results >= FLAT_RESULTS;
        let is_split_late = matches!(dtype, DType::Float32 | DType::Complex64);
        let is_plain = problem.is_plain();
        let is_int8 = dtype == DType::Int8 && is_plain && route.batch.extent == 1;
        let (shorter, longer) = (rows.min(columns), rows.max(columns));
        let is_filling = (BLOCK / 2..=BLOCK).contains(&shorter)
            && FILLING_BLOCKS.contains(&(longer / BLOCK))
            && depth >= LONG_SUM;
        let are_few = (rows <= FEW_ROWS || columns == 1) && MIDDLE_SUM.contains(&depth);
        if is_int8 && is_filling {
            Some(Self::ChosenWithoutWorkspace)
        } else if is_int8 && are_few {
            Some(Self::NoWorkspace)
        } else if is_plain && depth == 1 && is_small && results < OUTER_RESULTS {
            Some(Self::Id(OUTER))
        } else if is_plain && depth > 1 && is_flat {
            Some(Self::Id(FLAT))
        } else if depth <= SHORT_SUM && is_split_late {
            Some(Self::NoWorkspace)
        } else if is_plain && dtype == DType::Float64 {
            Some(Self::Parts(MOST_PARTS))
        } else {
            None
        }
    }

    /// Moves the first algorithm that is as preferred before the others.
    pub(super) fn apply(self, found: &mut [FoundAlgorithm]) {
        let preferred = found.iter().position(|algorithm| match self {
            Self::Id(id) => setting(algorithm, ID) == Some(id),
            Self::NoWorkspace => algorithm.workspace_size == 0,
            Self::ChosenWithoutWorkspace => true,
            Self::Parts(most) => setting(algorithm, SPLIT_COUNT).is_none_or(|parts| parts <= most),
        });
        if let Some(position) = preferred {
            found[..=position].rotate_right(1);
        }
    }
}

/// Returns a setting of an algorithm.
pub(super) fn setting(algorithm: &FoundAlgorithm, attribute: i32) -> Option<i32> {
    loader::function(&cublaslt::MATMUL_ALGO_CONFIG_GET_ATTRIBUTE).ok()?;
    let (mut value, mut written) = (0_i32, 0_usize);
    // SAFETY: the library reads an algorithm, and writes a number of four bytes and how many bytes
    // these were.
    let read = unsafe {
        call!(
            cublaslt::MATMUL_ALGO_CONFIG_GET_ATTRIBUTE,
            algorithm.algorithm.as_ptr() as usize,
            attribute,
            &raw mut value as usize,
            size_of::<i32>() as u64,
            &raw mut written as usize
        )
    };
    read.ok().map(|()| value)
}

/// Changes a setting of an algorithm; `None` if the library refuses.
pub(super) fn change_setting(
    algorithm: &mut FoundAlgorithm,
    attribute: i32,
    value: i32,
) -> Option<()> {
    loader::function(&cublaslt::MATMUL_ALGO_CONFIG_SET_ATTRIBUTE).ok()?;
    // SAFETY: the library changes an algorithm, and reads a number of four bytes.
    let changed = unsafe {
        call!(
            cublaslt::MATMUL_ALGO_CONFIG_SET_ATTRIBUTE,
            algorithm.algorithm.as_mut_ptr() as usize,
            attribute,
            &raw const value as usize,
            size_of::<i32>() as u64
        )
    };
    changed.ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::super::route::{Demands, Entries};
    use super::*;
    use crate::matmul::{AlgorithmSearch, Epilog, MatmulRequest};
    use crate::operation::{Execution, Request};
    use crate::tensor::{Layout, MemoryLocation, TensorView};

    /// The preference for a batch of products of `[rows, columns, depth]`, in C order.
    fn preference(
        request: &MatmulRequest,
        dtype: DType,
        batch: i64,
        [rows, columns, depth]: [i64; 3],
    ) -> Option<Preference> {
        let device = MemoryLocation::Device(0);
        let views = [[batch, rows, depth], [batch, depth, columns]].map(|shape| TensorView {
            ptr: 0x1_0000,
            dtype,
            layout: Layout::contiguous(&shape),
            device,
            readonly: false,
        });
        let execution = Execution::Cuda { device: 0 };
        let problem = request.problem(&views.each_ref(), execution).unwrap();
        Preference::of(
            &problem,
            &Route::of(&problem, Demands::Documented, Entries::Joined).unwrap(),
        )
    }

    #[test]
    fn what_is_preferred_for_which_products() {
        use DType::{Complex64, Complex128, Float16, Float32, Float64, Int8};
        use Preference::{ChosenWithoutWorkspace, Id, NoWorkspace, Parts};
        let (outer, flat, parts) = (Some(Id(OUTER)), Some(Id(FLAT)), Some(Parts(MOST_PARTS)));
        let plain = MatmulRequest::default();
        for (dtype, batch, shape, expected) in [
            (Float16, 1, [2048, 2047, 1], outer),
            (Float32, 1, [2048, 2047, 1], outer),
            // As many results as are computed faster in tiles: in one matrix, or in several.
            (Float16, 1, [2048, 2048, 1], None),
            (Float16, 4, [1024, 1024, 1], None),
            (Float16, 3, [1024, 1024, 1], outer),
            (Float32, 1, [2048, 2048, 1], Some(NoWorkspace)),
            // Sums, short ones and others.
            (Float16, 1, [500, 300, 2], None),
            (Float32, 1, [500, 300, 64], Some(NoWorkspace)),
            (Complex64, 1, [500, 300, 64], Some(NoWorkspace)),
            (Float32, 1, [4096, 4096, 8], flat),
            (Float32, 1, [4096, 4096, 9], Some(NoWorkspace)),
            (Float32, 1, [4096, 4097, 16], flat),
            (Float32, 1, [4096, 4097, 17], Some(NoWorkspace)),
            (Float32, 1, [4096, 4095, 16], Some(NoWorkspace)),
            (Float32, 1, [500, 300, 65], None),
            (Complex64, 1, [500, 300, 65], None),
            (Complex128, 1, [500, 300, 64], None),
            (Float64, 1, [50, 30, 64], parts),
            (Float64, 7, [50, 30, 9000], parts),
            // Sums of int8 of a few rows, or in blocks that fill the GPU once.
            (Int8, 1, [8, 8192, 1000], Some(NoWorkspace)),
            (Int8, 1, [8192, 1, 1000], Some(NoWorkspace)),
            (Int8, 1, [16, 8192, 1000], None),
            (Int8, 1, [64, 8192, 4096], Some(ChosenWithoutWorkspace)),
            (Int8, 1, [8192, 64, 4096], Some(ChosenWithoutWorkspace)),
            (Int8, 1, [64, 12288, 4096], None),
            (Int8, 4, [64, 8192, 4096], None),
        ] {
            let found = preference(&plain, dtype, batch, shape);
            assert_eq!(found, expected, "{dtype} {batch} {shape:?}");
        }
        // An epilog leaves the short sums, and a choice of the user's leaves nothing.
        let relu = MatmulRequest { epilog: Epilog::Relu, ..MatmulRequest::default() };
        assert_eq!(preference(&relu, Float16, 1, [500, 300, 1]), None);
        assert_eq!(preference(&relu, Float32, 1, [500, 300, 1]), Some(NoWorkspace));
        assert_eq!(preference(&relu, Float64, 1, [500, 300, 9]), None);
        let search = AlgorithmSearch { sm_count_target: 8, ..AlgorithmSearch::default() };
        let chosen = MatmulRequest { search, ..MatmulRequest::default() };
        for dtype in [Float16, Float32, Float64] {
            assert_eq!(preference(&chosen, dtype, 1, [50, 30, 1]), None);
        }
    }

    #[test]
    fn the_first_one_that_is_preferred_is_the_first_of_all() {
        let of = |size: usize| FoundAlgorithm::other([size as u64; 8], size);
        let sizes = |preference: Preference, sizes: [usize; 4]| {
            let mut found = sizes.map(of);
            preference.apply(&mut found);
            found.map(|algorithm| algorithm.workspace_size)
        };
        assert_eq!(sizes(Preference::NoWorkspace, [9, 7, 0, 0]), [0, 9, 7, 0]);
        assert_eq!(sizes(Preference::NoWorkspace, [9, 7, 8, 1]), [9, 7, 8, 1]);
        assert_eq!(sizes(Preference::ChosenWithoutWorkspace, [9, 7, 0, 8]), [9, 7, 0, 8]);
    }
}
