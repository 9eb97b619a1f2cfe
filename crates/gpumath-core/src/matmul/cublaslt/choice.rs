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
const CANDIDATES: i32 = 32;

/// `CUBLASLT_ALGO_CONFIG_ID`, and the algorithms for products of a vector and a vector and for
/// short sums of float32.
const ID: i32 = 0;
const OUTER: i32 = 12;
const FLAT: i32 = 20;
/// An algorithm for float64, and its tiles of 128×128 by `CUBLASLT_ALGO_CONFIG_TILE_ID`, which
/// cuBLASLt guesses where the right factor has columns of an odd length at multiples of 16 bytes.
/// What it guesses for columns at multiples of 8 bytes took 0.04 to 1.0 of the time of 15 such
/// products on an H100.
const WORDS: i32 = 36;
const TILE: i32 = 1;
const LARGE_TILE: i32 = 20;
/// Two algorithms for float64. For short sums and so many results, the second one with tiles of
/// 64×64 by `CUBLASLT_ALGO_CONFIG_TILE_ID` takes three quarters of the time of the first one.
const DOUBLE: i32 = 22;
const DOUBLE_IN_TILES: i32 = 35;
const MIDDLE_TILE: i32 = 15;
const DOUBLE_RESULTS: i64 = 1 << 24;
const DOUBLE_SUMS: RangeInclusive<i64> = 3..=8;
/// `CUBLASLT_ALGO_CONFIG_SPLITK_NUM`
pub(super) const SPLIT_COUNT: i32 = 2;
/// `CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME`
pub(super) const REDUCTION_SCHEME: i32 = 3;
/// `CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION`
pub(super) const CUSTOM_OPTION: i32 = 5;
/// With fewer results of float32 it was faster than tiles of matrices. Of halves it always was.
const OUTER_RESULTS: i64 = 1 << 22;
/// With as many results, it writes sums of so many products in half to all of the time of others:
/// of 8 where lines of the result begin at multiples of 16 bytes, and of 16 elsewhere.
const FLAT_RESULTS: i64 = 1 << 24;
const FLAT_SUMS: [i64; 2] = [8, 16];

/// Shorter sums are not worth to be split and added up by another kernel.
const SHORT_SUM: i64 = 64;

/// No sum of float64 is worth to be split into more parts.
const MOST_PARTS: i64 = 40;
/// Algorithms that are slow if they split sums into short parts: for float32, for float64, and for
/// vectors. The others are not.
const FOR_LONG_PARTS: [i32; 3] = [55, DOUBLE_IN_TILES, 14];
/// Algorithms for a vector or a few vectors, which are fast though they split no sums.
const FOR_VECTORS: [i32; 4] = [11, 13, 14, 16];
/// If results are so few that they keep a fiftieth of the GPU busy, or an eighth in complex64, sums
/// of so many products had better be split: into so many parts at least, of so many products each.
const SPLIT_SUM: i64 = 512;
const LEAST_PARTS: i64 = 8;
const LONG_PART: i64 = 64;
const FEW_WAVES: f32 = 0.02;
const FEW_WAVES_OF_COMPLEX: f32 = 0.125;
/// `CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE`, which rounds the sum of each part to the result's type.
const ROUNDED_PARTS: i32 = 4;
/// Among so many algorithms, one with other parts of sums or with another option is looked for.
pub(super) const FEW_CANDIDATES: i32 = 12;

/// Sums of int8 of such lengths, of so few rows or of one column, are not worth to be split either.
const FEW_ROWS: i64 = 8;
const MIDDLE_SUM: RangeInclusive<i64> = 128..=1024;

/// Nor are longer ones, if blocks of 64×64 results fill the 132 multiprocessors of an H200 once.
const LONG_SUM: i64 = 2048;
const BLOCK: i64 = 64;
const FILLING_BLOCKS: RangeInclusive<i64> = 120..=132;

/// What another algorithm is preferred for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Preference {
    /// The algorithm of this number.
    Id(i32),
    /// No workspace, which would have the sums of all parts.
    NoWorkspace,
    /// What cuBLASLt chooses if it may use no workspace.
    ChosenWithoutWorkspace,
    /// [`DOUBLE_IN_TILES`] instead of [`DOUBLE`].
    MiddleTiles,
    /// Sums that are split into a number of parts that gains time.
    Parts(Parts),
}

/// How many parts gain time if sums of so many products are split. cuBLASLt's own choice often
/// splits short sums into parts of a few products, and leaves long sums of a few results whole. By
/// the times of 20,825 products on an H100, with up to a dozen algorithms each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    depth: i64,
    /// The products of the shortest part: of any algorithm, and of [`FOR_LONG_PARTS`].
    shortest: [i64; 2],
    most: i64,
    /// Results are few if they fill the device's multiprocessors so many times at most.
    few_waves: f32,
}

impl Parts {
    /// `None` for types of which nothing is known.
    fn of(problem: &MatmulProblem) -> Option<Self> {
        let [_, _, depth] = problem.extents();
        let shortest = match (problem.types.a, problem.types.compute) {
            (DType::Float32, ComputeType::F32) => [2, 16],
            (DType::Float32, ComputeType::F32FastTf32) => [20; 2],
            (DType::Float64, ComputeType::F64 | ComputeType::F64Pedantic) => [32, 64],
            (DType::Float16, ComputeType::F32) => [32; 2],
            (DType::Complex64, ComputeType::F32) => [16, 24],
            (DType::BFloat16, ComputeType::F32) => [8, 24],
            _ => return None,
        };
        let most = if problem.types.a == DType::Float64 { MOST_PARTS } else { depth };
        let is_complex = problem.types.a.is_complex();
        let few_waves = if is_complex { FEW_WAVES_OF_COMPLEX } else { FEW_WAVES };
        Some(Self { depth, shortest, most, few_waves })
    }

    /// The position of the algorithm to use first, if one is better than the first one.
    fn best(self, found: &[Split]) -> Option<usize> {
        let first = found.first()?;
        if !self.are_long(first) {
            return found.iter().position(|split| self.are_long(split));
        }
        if !self.had_better_be_split(first) {
            return None;
        }
        let parts = LEAST_PARTS..=self.depth / LONG_PART;
        found.iter().position(|split| parts.contains(&split.parts) && !split.are_rounded)
    }

    /// Whether another algorithm may be better.
    fn is_improvable(self, split: &Split) -> bool {
        !self.are_long(split) || self.had_better_be_split(split)
    }

    /// Whether no part of a sum is too short.
    fn are_long(self, split: &Split) -> bool {
        let shortest = self.shortest[usize::from(FOR_LONG_PARTS.contains(&split.id))];
        split.parts <= (self.depth / shortest).min(self.most).max(1)
    }

    fn had_better_be_split(self, split: &Split) -> bool {
        split.parts == 1
            && self.depth >= SPLIT_SUM
            && split.waves <= self.few_waves
            && !FOR_VECTORS.contains(&split.id)
    }
}

/// How an algorithm splits sums.
#[derive(Clone, Copy, Debug)]
struct Split {
    id: i32,
    parts: i64,
    /// How many times it fills the device's multiprocessors.
    waves: f32,
    /// Whether the sum of each part is rounded to the result's type.
    are_rounded: bool,
}

impl Split {
    fn of(algorithm: &FoundAlgorithm) -> Self {
        Self {
            id: setting(algorithm, ID).unwrap_or_default(),
            parts: setting(algorithm, SPLIT_COUNT).unwrap_or_default().max(1).into(),
            waves: algorithm.waves,
            are_rounded: setting(algorithm, REDUCTION_SCHEME) == Some(ROUNDED_PARTS),
        }
    }
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
        let is_outer = depth == 1
            && match dtype {
                DType::Float16 | DType::BFloat16 => true,
                DType::Float32 => results < OUTER_RESULTS,
                _ => false,
            };
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
        } else if is_plain && is_outer {
            Some(Self::Id(OUTER))
        } else if is_plain && depth > 1 && is_flat {
            Some(Self::Id(FLAT))
        } else if is_plain
            && dtype == DType::Float64
            && DOUBLE_SUMS.contains(&depth)
            && results >= DOUBLE_RESULTS
        {
            Some(Self::MiddleTiles)
        } else if depth <= SHORT_SUM && is_split_late {
            Some(Self::NoWorkspace)
        } else {
            Parts::of(problem).map(Self::Parts)
        }
    }

    /// How many algorithms to choose among, where this is cuBLASLt's first one. More take more time
    /// to find.
    pub(super) fn candidates(self, first: Option<&FoundAlgorithm>) -> i32 {
        match self {
            Self::Parts(parts)
                if first.is_none_or(|first| !parts.is_improvable(&Split::of(first))) =>
            {
                1
            }
            Self::Parts(_) => FEW_CANDIDATES,
            Self::MiddleTiles if !first.is_some_and(|first| has_number(first, DOUBLE)) => 1,
            _ => CANDIDATES,
        }
    }

    /// Moves the first algorithm that is as preferred before the others.
    pub(super) fn apply(self, found: &mut [FoundAlgorithm]) {
        let preferred = match self {
            Self::Id(id) => found.iter().position(|algorithm| has_number(algorithm, id)),
            Self::NoWorkspace => found.iter().position(|algorithm| algorithm.workspace_size == 0),
            Self::ChosenWithoutWorkspace => Some(0),
            Self::MiddleTiles => {
                let is_first = found.first().is_some_and(|first| has_number(first, DOUBLE));
                let is_preferred = |algorithm: &FoundAlgorithm| {
                    has_number(algorithm, DOUBLE_IN_TILES)
                        && setting(algorithm, TILE) == Some(MIDDLE_TILE)
                };
                found.iter().position(|algorithm| is_first && is_preferred(algorithm))
            }
            Self::Parts(parts) => parts.best(&found.iter().map(Split::of).collect::<Vec<_>>()),
        };
        if let Some(position) = preferred {
            found[..=position].rotate_right(1);
        }
    }
}

/// Returns the number of an algorithm of cuBLASLt, and how many parts it splits sums into; `None`
/// for what is no algorithm of cuBLASLt.
pub(in super::super) fn number_and_parts(algorithm: &FoundAlgorithm) -> Option<(i32, i64)> {
    // What stands for other things ends with a byte of ones.
    let is_other = algorithm.algorithm[0] >> 56 == 0xff;
    let split = (!is_other).then(|| Split::of(algorithm))?;
    Some((split.id, split.parts))
}

/// Whether an algorithm is slow if columns of the right factor have an odd length and begin at
/// multiples of 16 bytes.
pub(super) fn are_odd_columns_slow(first: &FoundAlgorithm, problem: &MatmulProblem) -> bool {
    problem.types.a == DType::Float64
        && problem.search.is_free()
        && has_number(first, WORDS)
        && setting(first, TILE) == Some(LARGE_TILE)
}

/// Whether an algorithm is the one of this number.
fn has_number(algorithm: &FoundAlgorithm, id: i32) -> bool {
    setting(algorithm, ID) == Some(id)
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

    use super::super::ways::{Demands, Way};
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
        Preference::of(&problem, &Route::of(&problem, Demands::Documented, Way::USUAL).unwrap())
    }

    #[test]
    fn what_is_preferred_for_which_products() {
        use DType::{Complex64, Complex128, Float16, Float32, Float64, Int8};
        use Preference::{ChosenWithoutWorkspace, Id, MiddleTiles, NoWorkspace, Parts};
        let (outer, flat) = (Some(Id(OUTER)), Some(Id(FLAT)));
        let of = |depth, shortest, most, few_waves| {
            Some(Parts(super::Parts { depth, shortest, most, few_waves }))
        };
        let parts = |depth, shortest, most| of(depth, shortest, most, FEW_WAVES);
        let plain = MatmulRequest::default();
        for (dtype, batch, shape, expected) in [
            (Float16, 1, [2048, 2047, 1], outer),
            (Float32, 1, [2048, 2047, 1], outer),
            (Float16, 1, [2048, 2048, 1], outer),
            (Float32, 3, [1024, 1024, 1], outer),
            // As many results as are computed faster in tiles: in one matrix, or in several.
            (Float32, 1, [2048, 2048, 1], Some(NoWorkspace)),
            (Float32, 4, [1024, 1024, 1], Some(NoWorkspace)),
            // Sums, short ones and others.
            (Float16, 1, [500, 300, 2], parts(2, [32; 2], 2)),
            (Float32, 1, [500, 300, 64], Some(NoWorkspace)),
            (Complex64, 1, [500, 300, 64], Some(NoWorkspace)),
            (Float32, 1, [4096, 4096, 8], flat),
            (Float32, 1, [4096, 4096, 9], Some(NoWorkspace)),
            (Float32, 1, [4096, 4097, 16], flat),
            (Float32, 1, [4096, 4097, 17], Some(NoWorkspace)),
            (Float32, 1, [4096, 4095, 16], Some(NoWorkspace)),
            (Float32, 1, [500, 300, 65], parts(65, [2, 16], 65)),
            (Complex64, 1, [500, 300, 65], of(65, [16, 24], 65, FEW_WAVES_OF_COMPLEX)),
            (Complex128, 1, [500, 300, 64], None),
            (Float64, 1, [50, 30, 64], parts(64, [32, 64], 40)),
            // Short sums of very many results.
            (Float64, 1, [4096, 4096, 8], Some(MiddleTiles)),
            (Float64, 4, [4096, 1024, 3], Some(MiddleTiles)),
            (Float64, 1, [4096, 4096, 9], parts(9, [32, 64], 40)),
            (Float64, 1, [4096, 4095, 8], parts(8, [32, 64], 40)),
            (Float64, 7, [50, 30, 9000], parts(9000, [32, 64], 40)),
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
        let whole = parts(1, [32; 2], 1);
        assert_eq!(preference(&relu, Float16, 1, [500, 300, 1]), whole);
        assert_eq!(preference(&relu, Float32, 1, [500, 300, 1]), Some(NoWorkspace));
        assert_eq!(preference(&relu, Float64, 1, [500, 300, 9]), parts(9, [32, 64], 40));
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

    #[test]
    fn how_many_parts_are_preferred() {
        let of = |id, parts, waves| Split { id, parts, waves, are_rounded: false };
        let (short, long) = ([24; 2], [2, 16]);
        let best = |depth: i64, shortest: [i64; 2], found: &[Split]| {
            Parts { depth, shortest, most: 40, few_waves: FEW_WAVES }.best(found)
        };
        // Parts of less than 24 products, of 24, and of more; parts that are too many.
        let found = [of(21, 9, 0.1), of(21, 8, 0.1), of(21, 2, 0.1), of(21, 1, 0.1)];
        assert_eq!(
            [199, 216, 192, 191].map(|depth| best(depth, short, &found)),
            [Some(1), None, Some(1), Some(2)]
        );
        assert_eq!(best(20, short, &found), Some(3));
        assert_eq!(best(20, short, &found[..3]), None);
        assert_eq!(best(1 << 20, short, &[of(21, 41, 0.1), of(21, 40, 0.1)]), Some(1));
        // One algorithm needs longer parts than others.
        let found = [of(FOR_LONG_PARTS[0], 9, 0.1), of(20, 30, 0.1)];
        assert_eq!(
            [144, 143, 60, 59].map(|depth| best(depth, long, &found)),
            [None, Some(1), Some(1), None]
        );
        // A long sum of a few results is split, by no less than 64 products in 8 parts.
        let rounded = Split { are_rounded: true, ..of(21, 8, 0.2) };
        let found = [of(21, 1, 0.01), of(21, 7, 0.1), rounded, of(21, 9, 0.1), of(21, 8, 0.1)];
        assert_eq!(
            [511, 512, 575, 576].map(|depth| best(depth, short, &found)),
            [None, Some(4), Some(4), Some(3)]
        );
        let busy = [of(21, 1, 0.03), of(21, 8, 0.1)];
        let of_vectors = [of(FOR_VECTORS[0], 1, 0.01), of(21, 8, 0.1)];
        assert_eq!([busy, of_vectors].map(|found| best(600, short, &found)), [None; 2]);
    }
}
