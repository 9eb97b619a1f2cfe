//! How a product of any layouts becomes one of matrices that cuBLASLt takes.
//!
//! cuBLASLt's matrices are in column-major order. It takes a matrix in C order for its transpose.
//! So a result in C order is computed as the transposed product, `result.T = b.T @ a.T`, and a
//! factor is transposed by cuBLASLt where its order is not that of the result. What it cannot take
//! is copied in the workspace, of both orientations in the one that copies less:
//!
//! - matrices without a stride of 1, or with negative strides;
//! - conjugated factors in the order of the result, because cuBLASLt conjugates while it
//!   transposes, and only then;
//! - factors that the epilog sums up, whose common extent cuBLASLt needs to be the slow one;
//! - factors of 8 bits whose common extent is not the fast one, and extents of theirs that are not
//!   multiples of what its kernels need: these are padded with zeros, as is a common extent that is
//!   too short;
//! - a `c` that is broadcast.
//!
//! Vectors with gaps between their elements, and factors whose lines are not aligned, are copied
//! too where cuBLASLt takes them, but is slow. Tensor cores load pieces of 16 bytes. If lines of a
//! large result are not whole pieces, cuBLASLt is told longer ones: the factors are copied with
//! zeros behind their lines, and the result is computed in the workspace and copied from there.
//! Where the copies of a batch continue each other and the other factor is one for all, the batch
//! becomes one product.
//!
//! What cuBLASLt documents for factors of 8 bits holds for all GPUs. Often it takes more, so it is
//! asked first for what needs fewer copies: see [`Demands`].

use smallvec::SmallVec;

pub(super) use self::candidate::unit_of;
use self::candidate::{Candidate, candidates};
use self::copies::{
    TensorLoad, are_copies_faster_apart, are_whole_pieces_faster, elements_of_load,
    has_tensor_cores, is_copy_slower,
};
use super::super::block_scaling::bytes_of;
use super::super::epilog::Epilog;
use super::super::geometry::{Geometry, MATRICES, Matrix};
use super::super::problem::{MatmulProblem, OutputRole};
use super::codes::transpose;
use super::ways::{Demands, Entries, Extents, Way};
use crate::error::{Error, Result};
use crate::kernels::TiledCopy;
use crate::memory::ALIGNMENT;
use crate::operation::MAX_ALIGNMENT;
use crate::tensor::{BatchDim, BatchDims, DType, Layout};

/// Copies of so many bytes take less time in one kernel than in two that take larger elements.
const SMALL_COPIES: usize = 2 << 20;

/// A matrix in cuBLASLt's terms: columns that are as many elements apart as `step` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Whether the rows of the matrix are what cuBLASLt sees as columns.
    pub(super) are_rows: bool,
    pub(super) length: i64,
    pub(super) count: i64,
    pub(super) step: i64,
}

/// The copy of a matrix in the workspace.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) matrix: Matrix,
    /// Where it starts, in bytes from the start of all copies.
    pub(super) offset: usize,
    pub(super) copy: TiledCopy,
}

/// The way from the operands to the result.
#[derive(Debug)]
pub(super) struct Route {
    /// Whether cuBLASLt computes the transposed product.
    pub(super) is_transposed: bool,
    /// The matrices, the result last; the vector is one column. `None` for those that are not
    /// there.
    pub(super) matrices: [Option<Columns>; MATRICES],
    /// What cuBLASLt repeats over in one call.
    pub(super) batch: BatchDim<MATRICES>,
    /// What calls are repeated over.
    pub(super) outer: BatchDims<MATRICES>,
    /// Copies of operands; that of the result, if there is one, is the last.
    pub(super) staged: SmallVec<[Staged; 2]>,
    /// Bytes of all copies.
    pub(super) staged_size: usize,
    /// Whether the lines of the result, and the sums, were made longer for tensor cores.
    pub(super) has_whole_pieces: bool,
}

/// What is asked of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Usual,
    /// Factors may have any order.
    AnyOrder,
    /// The lines of the result, and the sums, end with a whole piece that tensor cores load.
    WholePieces,
}

/// One choice of an orientation.
struct Choice {
    form: Form,
    is_transposed: bool,
    candidates: [Option<Candidate>; MATRICES],
    /// Each matrix, and whether it is a copy.
    matrices: [Option<(Columns, bool)>; MATRICES],
    /// Bytes of the copies that are needed.
    size: i64,
}

impl Route {
    pub(super) fn of(problem: &MatmulProblem, demands: Demands, way: Way) -> Result<Self> {
        let [vector, aux, ..] = problem.matrix_dtypes();
        let geometry = match (vector, aux, way.entries) {
            (None, None, Entries::Joined) => problem.geometry().folded(problem),
            _ => problem.geometry(),
        };
        let choose = |form: Form| {
            let of =
                |is_transposed| Choice::of(problem, &geometry, (demands, way), is_transposed, form);
            let by_columns = of(false);
            let by_rows = (!problem.epilog.is_by_columns()).then(|| of(true));
            match by_rows {
                Some(by_rows) if by_rows.size <= by_columns.size => by_rows,
                _ => by_columns,
            }
        };
        let mut choice = choose(Form::Usual);
        let is_int8 = problem.types.a == DType::Int8 && demands == Demands::Fewest;
        if is_int8 && choice.size > 0 && is_copy_slower(&geometry, choice.size) {
            choice = choose(Form::AnyOrder);
        }
        let may_be_whole = way.extents != Extents::Given && choice.may_be_whole(problem, &geometry);
        if may_be_whole {
            let whole = choose(Form::WholePieces);
            let more = whole.copied_bytes() - choice.copied_bytes();
            if way.extents == Extents::Whole || are_whole_pieces_faster(problem, &geometry, more) {
                choice = whole;
            }
        }
        choice.into_route(problem, &geometry, way.entries)
    }

    /// Whether entries of the problem's batch have become one matrix.
    pub(super) fn has_joined(&self, problem: &MatmulProblem) -> bool {
        let entries = self.outer.count() * self.batch.extent as usize;
        entries != problem.geometry().batch.count()
    }

    /// A matrix as cuBLASLt sees it.
    pub(super) fn columns(&self, matrix: Matrix) -> Option<Columns> {
        self.matrices[matrix as usize]
    }

    /// How many products a sum has, those with zeros of a copy included.
    pub(super) fn depth(&self) -> i64 {
        let left = self.columns(Matrix::A);
        left.map_or(0, |columns| if columns.are_rows { columns.length } else { columns.count })
    }

    /// The left and the right factor of the product that the library computes.
    pub(super) fn factors(&self) -> (Matrix, Matrix) {
        if self.is_transposed { (Matrix::B, Matrix::A) } else { (Matrix::A, Matrix::B) }
    }

    /// What the library does with a factor first, a `cublasOperation_t`; `conjugate` is that of `a`
    /// and `b`.
    pub(super) fn operation(&self, factor: Matrix, conjugate: [bool; 2]) -> i32 {
        let are_rows = self.columns(factor).is_some_and(|columns| columns.are_rows);
        let is_conjugated = conjugate[usize::from(factor == Matrix::B)];
        match (are_rows != self.is_transposed, is_conjugated) {
            (false, _) => transpose::NO,
            (true, false) => transpose::YES,
            (true, true) => transpose::CONJUGATE,
        }
    }

    /// Bytes that the addresses of a matrix are a multiple of in all calls, where those of operands
    /// are multiples of `given`.
    pub(super) fn alignment(&self, matrix: Matrix, dtype: DType, given: usize) -> usize {
        let start = if self.staged(matrix).is_some() { MAX_ALIGNMENT } else { given };
        let steps = self.outer.iter().map(|dim| dim.strides[matrix as usize]);
        // The lowest bit that is set in any of them.
        let bits = steps.fold(start, |bits, step| bits | bytes_of(dtype, step) as usize);
        1 << bits.trailing_zeros()
    }

    /// The copy of a matrix in the workspace, if it is copied.
    pub(super) fn staged(&self, matrix: Matrix) -> Option<&Staged> {
        self.staged.iter().find(|staged| staged.matrix == matrix)
    }
}

impl Choice {
    fn of(
        problem: &MatmulProblem,
        geometry: &Geometry,
        (demands, way): (Demands, Way),
        is_transposed: bool,
        form: Form,
    ) -> Self {
        let candidates = candidates(problem, geometry, demands, is_transposed, form);
        let unit = unit_of(problem);
        let any_order = form == Form::AnyOrder;
        let load = if form == Form::WholePieces {
            None
        } else {
            TensorLoad::of(problem, geometry, is_transposed)
        };
        let mut size = 0_i64;
        let matrices = candidates.map(|candidate| {
            let candidate = candidate?;
            // Where the order matters, it is the one of the result, or the one that is needed.
            let order = match candidate.matrix {
                Matrix::Vector | Matrix::Aux => Some(false),
                Matrix::C | Matrix::Result => Some(is_transposed),
                Matrix::A if unit > 1 => Some(true),
                Matrix::B if unit > 1 => Some(false),
                Matrix::A if problem.epilog == Epilog::Bgrada => Some(false),
                Matrix::B if problem.epilog == Epilog::Bgradb => Some(true),
                Matrix::A if problem.conjugate[0] => Some(!is_transposed),
                Matrix::B if problem.conjugate[1] => Some(!is_transposed),
                Matrix::A | Matrix::B => None,
            };
            let unit = match candidate.matrix {
                Matrix::Vector => 1,
                Matrix::Aux if candidate.dtype == DType::UInt8 => 16,
                Matrix::Aux => 8,
                _ if form == Form::WholePieces => elements_of_load(problem.types.a),
                _ => unit,
            };
            let is_free =
                order.is_none() || any_order && matches!(candidate.matrix, Matrix::A | Matrix::B);
            // A factor whose order is free can be copied in the order of the way.
            let copied_by_rows = way.copies_by_rows(candidate.matrix).filter(|_| order.is_none());
            let is_slow = copied_by_rows.is_some() || candidate.is_slow(geometry, load);
            let found = match order {
                _ if is_slow => None,
                Some(by_rows) if !is_free => candidate.columns(by_rows, unit),
                _ => {
                    // A vector is one column: kernels load more of it at once than of columns of
                    // one element.
                    let by_rows = candidate.given[1] >= candidate.given[0];
                    [by_rows, !by_rows].into_iter().find_map(|by| candidate.columns(by, unit))
                }
            };
            Some(found.map_or_else(
                || {
                    // Copies that are made to save time do not speak against an orientation.
                    if !is_slow {
                        size = size.saturating_add(candidate.size);
                    }
                    let by_rows = copied_by_rows
                        .or(order.filter(|_| !is_free))
                        .or_else(|| candidate.is_fast_by_rows(problem, geometry, load))
                        .unwrap_or(is_transposed);
                    let is_aligned = copied_by_rows.is_some() || load.is_some();
                    let unit = match candidate.matrix {
                        Matrix::A | Matrix::B if is_aligned => elements_of_load(candidate.dtype),
                        _ => unit,
                    };
                    (candidate.packed(by_rows, unit), true)
                },
                |columns| (columns, false),
            ))
        });
        Self { form, is_transposed, candidates, matrices, size }
    }

    /// Whether there is a product of longer lines of the result, which tensor cores compute.
    fn may_be_whole(&self, problem: &MatmulProblem, geometry: &Geometry) -> bool {
        let line = if self.is_transposed { geometry.columns } else { geometry.rows };
        let elements = elements_of_load(problem.types.a);
        // Sums of lines would be written beyond their end.
        let has_sums = problem.output_index(OutputRole::Sums).is_some();
        has_tensor_cores(problem) && line > elements && line % elements != 0 && !has_sums
    }

    /// Bytes of all copies.
    fn copied_bytes(&self) -> i64 {
        let copied = self.candidates.iter().zip(&self.matrices).filter_map(|pair| match pair {
            (Some(candidate), Some((_, true))) => Some(candidate.size),
            _ => None,
        });
        copied.fold(0, i64::saturating_add)
    }

    fn into_route(
        mut self,
        problem: &MatmulProblem,
        geometry: &Geometry,
        entries: Entries,
    ) -> Result<Route> {
        let alignment = problem.alignment.min(ALIGNMENT);
        let mut dims: Vec<BatchDim<MATRICES>> = geometry.batch.iter().copied().collect();
        let mut staged: SmallVec<[Staged; 2]> = SmallVec::new();
        let mut staged_size = 0_usize;
        let mut layouts: SmallVec<[(Layout, Layout, usize); 2]> = SmallVec::new();
        for (candidate, found) in self.candidates.iter().zip(self.matrices) {
            let (Some(candidate), Some((columns, true))) = (candidate, found) else { continue };
            if candidate.dtype == DType::Float4E2M1FnX2 {
                return Err(Error::InvalidValue(format!(
                    "a matrix of {} has rows or columns that do not begin at multiples of 16 \
                     bytes; copy it without gaps",
                    candidate.dtype
                )));
            }
            let index = candidate.matrix as usize;
            let (fast, slow) = if columns.are_rows { (1, 0) } else { (0, 1) };
            // Entries follow each other, the fastest dimension first; one entry for all stays one.
            let mut distance = columns.step * columns.count;
            let mut own = Layout {
                shape: candidate.given.as_slice().into(),
                strides: candidate.strides.as_slice().into(),
            };
            let mut other = own.clone();
            other.shape = candidate.padded.as_slice().into();
            other.strides[fast] = 1;
            other.strides[slow] = columns.step;
            for (dim, original) in dims.iter_mut().zip(geometry.batch.iter()).rev() {
                if original.strides[index] == 0 {
                    continue;
                }
                dim.strides[index] = distance;
                for (layout, stride) in
                    [(&mut own, original.strides[index]), (&mut other, distance)]
                {
                    layout.shape.insert(0, dim.extent);
                    layout.strides.insert(0, stride);
                }
                distance *= dim.extent;
            }
            let size = candidate.dtype.size();
            let (to, from) =
                if candidate.matrix == Matrix::Result { (own, other) } else { (other, own) };
            let copy = if candidate.matrix == Matrix::Result {
                TiledCopy::of_aligned(&to, &from, size, alignment)?
            } else {
                TiledCopy::to_workspace(&to, &from, size, alignment)?
            };
            layouts.push((to, from, size));
            staged.push(Staged { matrix: candidate.matrix, offset: staged_size, copy });
            staged_size += (distance as usize * size).next_multiple_of(ALIGNMENT);
        }
        // One kernel makes two copies if it takes elements of one size.
        let are_alike = staged.iter().all(|other| other.copy.is_like(&staged[0].copy));
        if !are_alike && staged_size <= SMALL_COPIES {
            let least = staged.iter().map(|staged| staged.copy.element_size()).min().unwrap_or(1);
            for (staged, (to, from, size)) in staged.iter_mut().zip(&layouts) {
                staged.copy = TiledCopy::of_aligned(to, from, *size, least)?;
            }
        }
        let stay_apart = entries == Entries::Apart
            || geometry.stays_vectors(problem)
            || are_copies_faster_apart(problem, geometry);
        if !stay_apart {
            self.fold(&mut dims);
        }
        let mut outer = BatchDims::merged(dims);
        let batch =
            outer.remove_longest().unwrap_or(BatchDim { extent: 1, strides: [0; MATRICES] });
        Ok(Route {
            is_transposed: self.is_transposed,
            matrices: self.matrices.map(|found| found.map(|(columns, _)| columns)),
            batch,
            outer,
            staged,
            staged_size,
            has_whole_pieces: self.form == Form::WholePieces,
        })
    }

    /// Makes one product of a batch where copies have made the entries of a factor continue each
    /// other, as [`Geometry::folded`] does where they did before.
    fn fold(&mut self, dims: &mut Vec<BatchDim<MATRICES>>) {
        let is_there = |matrix: Matrix| self.matrices[matrix as usize].is_some();
        if is_there(Matrix::Vector) || is_there(Matrix::Aux) {
            return;
        }
        while let Some(dim) = dims.last() {
            let are_one = |matrix: Matrix| dim.strides[matrix as usize] == 0;
            let continues = |matrix: Matrix, by_rows: bool| {
                self.matrices[matrix as usize].is_none_or(|(columns, _)| {
                    let length = columns.step * columns.count;
                    columns.are_rows == by_rows && dim.strides[matrix as usize] == length
                })
            };
            let all = |factor: Matrix, by_rows: bool| {
                [factor, Matrix::C, Matrix::Result].iter().all(|&matrix| continues(matrix, by_rows))
            };
            let factor = if are_one(Matrix::B) && all(Matrix::A, true) {
                Matrix::A
            } else if are_one(Matrix::A) && all(Matrix::B, false) {
                Matrix::B
            } else {
                return;
            };
            for matrix in [factor, Matrix::C, Matrix::Result] {
                if let Some((columns, _)) = &mut self.matrices[matrix as usize] {
                    columns.count *= dim.extent;
                }
            }
            dims.pop();
        }
    }
}

#[path = "route_candidate.rs"]
mod candidate;
#[path = "route_copies.rs"]
mod copies;
#[cfg(test)]
#[path = "route_sums_tests.rs"]
mod sums_tests;
#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "route_vectors_tests.rs"]
mod vectors_tests;
