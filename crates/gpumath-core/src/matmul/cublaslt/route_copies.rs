//! Which copies of factors save more time than they take, and those that do not.

use std::ops::Range;

use super::{Candidate, DType, Geometry, MatmulProblem, Matrix};
use crate::matmul::types::ComputeType;

/// A vector with gaps is copied beside a matrix of halves with so many elements, or with more if
/// neighbours lie across the sums and a sum is longer than the result.
const LARGE_OF_HALVES: i64 = 15 << 20;
const LARGE_OF_LONG_HALVES: i64 = 1 << 24;
/// It is copied beside so many rows of halves, too, if there is one matrix. For 16384 rows of 64
/// elements, cuBLASLt takes a kernel that is fast with gaps.
const MANY_ROWS_OF_HALVES: Range<i64> = 1 << 13..1 << 14;
/// It is copied beside a matrix of other types with so many elements, if neighbours lie along sums.
const LARGE_BY_ROWS: i64 = 1 << 25;

/// Results of outer products of halves beside which vectors with gaps are copied.
const LARGE_OUTER: i64 = 1 << 22;

/// Bytes that kernels with tensor cores load at once, if lines begin at multiples of them.
const LOAD: i64 = 16;

/// A copy of a factor to such lines saves more time than it takes if there are so many products of
/// numbers, and each element of the factor is in so many of them: in more if the lines of the copy
/// end within a piece, because less is gained then.
const LARGE_WORK: i64 = 1 << 28;
const MANY_USES: i64 = 256;
const MANY_USES_FOR_PARTS: i64 = 384;

/// Lines of whole pieces save more time than copies of so many bytes take if there are so many
/// products of numbers, and this many more for each byte.
const WORK_FOR_PIECES: i64 = 1 << 27;
const WORK_OF_A_BYTE: i64 = 128;

/// Copies of the entries of a batch are multiplied in less time entry by entry than as one matrix
/// if sums have so many products at most and an entry so many results, if an entry of float64 has
/// very many results, and if the results are long and narrow.
const SHORT_SUM: i64 = 16;
const MANY_RESULTS: i64 = 1 << 14;
const VERY_MANY_RESULTS: i64 = 1 << 18;
const VERY_MANY_COMPLEX_RESULTS: i64 = 1 << 24;
const LONG: i64 = 1024;
const LONG_FOR_TENSOR_CORES: i64 = 4096;

/// Whether the copies of the entries of a batch had better not become one matrix. By the times of
/// 7,034 products of four entries and of 22,459 narrow ones on an H100; of float16, all had better
/// become one.
pub(super) fn are_copies_faster_apart(problem: &MatmulProblem, geometry: &Geometry) -> bool {
    let results = geometry.rows.saturating_mul(geometry.columns);
    let is_short = geometry.depth <= SHORT_SUM && results >= MANY_RESULTS;
    let are_many = match problem.types.a {
        DType::BFloat16 | DType::Float32 => is_short,
        DType::Float64 => is_short || results >= VERY_MANY_RESULTS,
        DType::Complex64 => {
            (64..=128).contains(&geometry.depth) && results >= VERY_MANY_COMPLEX_RESULTS
        }
        _ => false,
    };
    are_many || are_narrow_faster_apart(problem, geometry)
}

/// Likewise, for long and narrow results with the narrow factor for all entries.
fn are_narrow_faster_apart(problem: &MatmulProblem, geometry: &Geometry) -> bool {
    let Geometry { rows, columns, depth, ref batch, .. } = *geometry;
    let narrow = if rows >= columns { Matrix::B } else { Matrix::A };
    let is_for_all = batch.iter().all(|dim| dim.strides[narrow as usize] == 0);
    let longest = rows.max(columns);
    let is_narrow = match (problem.types.a, rows.min(columns)) {
        (DType::BFloat16, 1) => (64..256).contains(&depth),
        (DType::BFloat16, 2..=8) => depth < 64,
        (DType::Float32 | DType::Float64, 2..=4) => depth < 32,
        (DType::Complex128, 2..=16) => depth < 128,
        (DType::Float32, 8..=64) if has_tensor_cores(problem) => {
            (64..=256).contains(&depth) && longest >= LONG_FOR_TENSOR_CORES
        }
        _ => false,
    };
    is_for_all && is_narrow && longest >= LONG
}

/// Whether cuBLASLt multiplies int8 factors of any order in less time than these bytes are copied
/// in and it multiplies the copies. Its kernels for any order have no tensor cores. By the times of
/// kernels in `benchmarks/host/matmul_grid.py` on an H200, a copy costs about 5 µs and 1 µs for a
/// megabyte, and these kernels take about 20 ns longer for a million products of numbers, about
/// 33 ns longer for each product of a sum, and 0.6 µs less for a million numbers of the result.
pub(super) fn is_copy_slower(geometry: &Geometry, bytes: i64) -> bool {
    let results = results_of(geometry);
    let work = results.saturating_mul(geometry.depth);
    let sum = geometry.depth.saturating_mul(1_650_000);
    let copying = bytes.saturating_mul(50).saturating_add(results.saturating_mul(32));
    work.max(sum) < copying.saturating_add(250 << 20)
}

/// Numbers of the results of all entries.
fn results_of(geometry: &Geometry) -> i64 {
    let entries = geometry.batch.count() as i64;
    geometry.rows.saturating_mul(geometry.columns).saturating_mul(entries)
}

/// Elements of [`LOAD`] bytes.
pub(super) fn elements_of_load(dtype: DType) -> i64 {
    LOAD / dtype.size() as i64
}

/// Whether tensor cores multiply the factors, and load them in pieces of [`LOAD`] bytes if lines
/// begin at multiples of them.
pub(super) fn has_tensor_cores(problem: &MatmulProblem) -> bool {
    match problem.types.a {
        DType::Float16 | DType::BFloat16 => true,
        DType::Float32 => problem.types.compute == ComputeType::F32FastTf32,
        _ => false,
    }
}

/// Whether lines of whole pieces in the result and in the sums save more time than the copies for
/// that, of so many bytes. By the times of 4,128 products on an H100 whose results have other
/// lines: cuBLASLt's kernels for these do half as much or less.
pub(super) fn are_whole_pieces_faster(
    problem: &MatmulProblem,
    geometry: &Geometry,
    bytes: i64,
) -> bool {
    let work = results_of(geometry).saturating_mul(geometry.depth);
    let copying = bytes.saturating_mul(WORK_OF_A_BYTE);
    // Where the user limits the workspace, nothing so large is copied that need not be.
    work >= copying.saturating_add(WORK_FOR_PIECES) && problem.search.max_workspace.is_none()
}

/// The order of factors in which tensor cores load the largest pieces: of [`LOAD`] bytes, if lines
/// begin at multiples of them, else smaller ones. The rules are from the times of 10,103 products
/// on an H100 with factors copied in each order, and of 57,600 with three forms of these rules on
/// an H100 and an H200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorLoad {
    /// Elements of a whole piece. Lines of copies begin at multiples of it.
    pub(super) elements: i64,
    /// Whether neighbours belong to one step of all sums, and not to one sum.
    is_across_sums: bool,
    /// Whether factors in another order are copied, though cuBLASLt takes them.
    copies_others: bool,
}

impl TensorLoad {
    /// Chooses the order; `None` for products without tensor cores, and where no order gains
    /// anything: because lines of the result are not aligned, or because a factor is in another
    /// order and is not worth a copy.
    pub(super) fn of(
        problem: &MatmulProblem,
        geometry: &Geometry,
        is_transposed: bool,
    ) -> Option<Self> {
        let types = &problem.types;
        let Geometry { rows, columns, depth, ref batch, .. } = *geometry;
        let elements = elements_of_load(types.a);
        if !has_tensor_cores(problem) || rows.min(columns) < elements || depth == 0 {
            return None;
        }
        let aligned = |extent: i64| elements.min(1 << extent.trailing_zeros());
        // The extent of a line of the result, and of the copies whose lines go across sums.
        let (line, other_line) = if is_transposed { (columns, rows) } else { (rows, columns) };
        let are_lines_whole = line % elements == 0;
        let are_all_whole = are_lines_whole && other_line % elements == 0;
        let is_across_sums = depth % elements != 0;
        if is_across_sums && batch.count() > 1 && !are_all_whole {
            // A batch is slower if lines of its copies end within a piece.
            return None;
        }
        let work = results_of(geometry).saturating_mul(depth);
        // Copies of float32 take twice as long. Where lines of a copy end within a piece, less is
        // gained, and less yet if sums are loaded in pairs or fours of halves as they are.
        let wide = types.a.size() as i64 / 2;
        let (least_work, least_uses) = if is_across_sums && !are_all_whole {
            (LARGE_WORK * wide * aligned(depth), MANY_USES_FOR_PARTS * wide)
        } else {
            (LARGE_WORK * wide, MANY_USES)
        };
        // Where the user limits the workspace, nothing so large is copied that need not be.
        let is_large = work >= least_work && problem.search.max_workspace.is_none();
        let load = Self { elements, is_across_sums, copies_others: true };
        let orders = [Matrix::A, Matrix::B]
            .map(|factor| (factor, Order::of(factor, geometry.strides(factor), geometry)));
        let is_used_often = |factor: Matrix| {
            is_large && least_uses <= if factor == Matrix::A { columns } else { rows }
        };
        let is_ready =
            |&(factor, order): &(Matrix, Order)| load.suits(order) || is_used_often(factor);
        if are_lines_whole && orders.iter().all(is_ready) {
            return Some(load);
        }
        // What is copied anyway is loaded in larger pieces than along sums, if the other factor is
        // not along sums.
        let is_gain = is_across_sums
            && aligned(line) > aligned(depth)
            && orders.iter().all(|(_, order)| !matches!(order, Order::AlongSums { .. }));
        is_gain.then_some(Self { copies_others: false, ..load })
    }

    /// Whether a factor is in this order and begins its lines at whole pieces, or is copied anyway.
    fn suits(self, order: Order) -> bool {
        match order {
            Order::Other => true,
            Order::AlongSums { step } => !self.is_across_sums && step % self.elements == 0,
            Order::AcrossSums { step } => step % self.elements == 0,
        }
    }
}

/// Which elements of a factor are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Those of one sum. From one sum to the next there is this step.
    AlongSums { step: i64 },
    /// Those of one step of all sums. From one step to the next there is this one.
    AcrossSums { step: i64 },
    /// Others, so that the factor is copied.
    Other,
}

impl Order {
    fn of(factor: Matrix, [rows, columns]: [i64; 2], geometry: &Geometry) -> Self {
        let (along, across, sums) = if factor == Matrix::A {
            (columns, rows, geometry.rows)
        } else {
            (rows, columns, geometry.columns)
        };
        if along == 1 && across >= geometry.depth {
            Self::AlongSums { step: across }
        } else if across == 1 && along >= sums {
            Self::AcrossSums { step: along }
        } else {
            Self::Other
        }
    }
}

impl Candidate {
    /// Whether the copy of a factor is by rows where that matters for the time: see [`TensorLoad`].
    /// Products of float32 of small depth load faster if the elements that belong to one step of
    /// all sums are neighbours. A batch of those stays as it is, because the copies of its entries
    /// may become one matrix.
    pub(super) fn is_fast_by_rows(
        &self,
        problem: &MatmulProblem,
        geometry: &Geometry,
        load: Option<TensorLoad>,
    ) -> Option<bool> {
        if self.are_slow_vectors(geometry) {
            return Some(self.matrix == Matrix::A);
        }
        let types = &problem.types;
        let is_single = types.a == DType::Float32 && types.compute == ComputeType::F32;
        let others = if self.matrix == Matrix::A { geometry.columns } else { geometry.rows };
        let is_flat = others >= 8 * geometry.depth.max(1) && geometry.batch.count() == 1;
        let is_across_sums = load.is_some_and(|load| load.is_across_sums) || is_single && is_flat;
        is_across_sums.then_some(self.matrix == Matrix::B)
    }

    /// Whether a copy saves more time than it takes.
    pub(super) fn is_slow(&self, geometry: &Geometry, load: Option<TensorLoad>) -> bool {
        self.is_slow_vector(geometry)
            || self.is_slow_outer_vector(geometry)
            || self.are_slow_vectors(geometry)
            || matches!(self.matrix, Matrix::A | Matrix::B)
                && load.is_some_and(|load| {
                    let order = Order::of(self.matrix, self.strides, geometry);
                    load.copies_others && !load.suits(order)
                })
    }

    /// Whether it is a few vectors of halves, with long sums, and no 16 bytes of them are aligned.
    fn are_slow_vectors(&self, geometry: &Geometry) -> bool {
        let [first, second] = self.strides;
        let is_factor = matches!(self.matrix, Matrix::A | Matrix::B);
        let are_few = (2..8).contains(&self.given[0].min(self.given[1]));
        let is_shifted = first.abs().max(second.abs()) % 8 != 0;
        let is_deep = geometry.depth >= 4096 && geometry.depth % 8 == 0;
        is_factor && self.dtype.size() == 2 && are_few && is_shifted && is_deep
    }

    /// Whether it is a vector with gaps between its elements, beside a large matrix: kernels of
    /// cuBLASLt for vectors without gaps save more time than a copy takes.
    fn is_slow_vector(&self, geometry: &Geometry) -> bool {
        let (along, others, step) = match self.matrix {
            Matrix::A => (1, geometry.columns, geometry.strides(Matrix::B)[0]),
            Matrix::B => (0, geometry.rows, geometry.strides(Matrix::A)[1]),
            _ => return false,
        };
        let entries = geometry.batch.count() as i64;
        let elements = others.saturating_mul(geometry.depth).saturating_mul(entries);
        let is_half = self.dtype.size() == 2;
        let is_large = match (is_half, step == 1) {
            (true, true) => {
                elements >= LARGE_OF_HALVES || entries == 1 && MANY_ROWS_OF_HALVES.contains(&others)
            }
            (true, false) if geometry.depth <= others => elements >= LARGE_OF_HALVES,
            (true, false) => elements >= LARGE_OF_LONG_HALVES,
            (false, is_by_rows) => is_by_rows && elements >= LARGE_BY_ROWS,
        };
        let has_gaps = self.given[along] > 1 && self.strides[along] != 1;
        self.given[1 - along] == 1 && has_gaps && is_large
    }

    /// Whether it is a vector with gaps between its elements in a batch of large outer products of
    /// halves. If lines are whole pieces, cuBLASLt multiplies vectors without gaps by tensor cores,
    /// in half of the time.
    fn is_slow_outer_vector(&self, geometry: &Geometry) -> bool {
        let across = match self.matrix {
            Matrix::A => 0,
            Matrix::B => 1,
            _ => return false,
        };
        let are_whole = [geometry.rows, geometry.columns]
            .iter()
            .all(|extent| extent % elements_of_load(self.dtype) == 0);
        let is_large = geometry.batch.count() > 1 && results_of(geometry) >= LARGE_OUTER;
        let has_gaps = self.given[across] > 1 && self.strides[across] != 1;
        let is_half = self.dtype.size() == 2;
        is_half && geometry.depth == 1 && has_gaps && are_whole && is_large
    }
}
