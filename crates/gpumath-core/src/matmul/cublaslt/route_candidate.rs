//! The matrices of a product, before it is known which of them are copied.

use super::copies::elements_of_load;
use super::{Columns, Form};
use crate::matmul::block_scaling::bytes_of;
use crate::matmul::cublaslt::ways::Demands;
use crate::matmul::geometry::{Geometry, MATRICES, Matrix};
use crate::matmul::problem::MatmulProblem;
use crate::matmul::types::is_narrow;
use crate::tensor::DType;

/// The extents of a matrix of the product, rows and columns.
fn extents(geometry: &Geometry, matrix: Matrix, aux_rows: i64, vector: i64) -> [i64; 2] {
    let Geometry { rows, columns, depth, .. } = *geometry;
    match matrix {
        Matrix::Vector => [vector, 1],
        Matrix::Aux => [aux_rows, columns],
        Matrix::A => [rows, depth],
        Matrix::B => [depth, columns],
        Matrix::C | Matrix::Result => [rows, columns],
    }
}

/// What is known of a matrix before the orientation is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) matrix: Matrix,
    pub(super) dtype: DType,
    /// Its extents, and those that cuBLASLt is told.
    pub(super) given: [i64; 2],
    pub(super) padded: [i64; 2],
    pub(super) strides: [i64; 2],
    /// Whether cuBLASLt could take its address and its batch as they are.
    pub(super) is_in_reach: bool,
    /// Bytes of a copy.
    pub(super) size: i64,
}

impl Candidate {
    /// Describes the matrix where it is, seen by rows or by columns, if cuBLASLt can take it so.
    pub(super) fn columns(&self, by_rows: bool, unit: i64) -> Option<Columns> {
        let (fast, slow) = if by_rows { (1, 0) } else { (0, 1) };
        let (length, count) = (self.given[fast], self.given[slow]);
        let step =
            if count > 1 { self.strides[slow] } else { length.next_multiple_of_signed(unit) };
        let is_plain = self.given == self.padded
            && self.is_in_reach
            && (length <= 1 || self.strides[fast] == 1)
            && step >= length.max(1)
            && step % unit == 0;
        is_plain.then_some(Columns { are_rows: by_rows, length, count, step })
    }

    /// Describes a copy without gaps.
    pub(super) fn packed(&self, by_rows: bool, unit: i64) -> Columns {
        let (fast, slow) = if by_rows { (1, 0) } else { (0, 1) };
        let (length, count) = (self.padded[fast], self.padded[slow]);
        let step = length.max(1).next_multiple_of_signed(unit);
        Columns { are_rows: by_rows, length, count, step }
    }
}

/// `i64::next_multiple_of` for positive numbers, which is not stable yet.
trait NextMultipleOf {
    fn next_multiple_of_signed(self, unit: i64) -> i64;
}

impl NextMultipleOf for i64 {
    fn next_multiple_of_signed(self, unit: i64) -> i64 {
        (self as u64).next_multiple_of(unit as u64) as i64
    }
}

/// What cuBLASLt's kernels for operands of 8 bits need extents and steps to be multiples of.
pub(in super::super) fn unit_of(problem: &MatmulProblem) -> i64 {
    match problem.types.a {
        DType::Int8 => 4,
        DType::Float4E2M1FnX2 => 32,
        dtype if is_narrow(dtype) => 16,
        _ => 1,
    }
}

const MATRIX_ORDER: [Matrix; MATRICES] =
    [Matrix::Vector, Matrix::Aux, Matrix::A, Matrix::B, Matrix::C, Matrix::Result];

/// Describes the matrices of a problem for an orientation; `None` for those that are not there.
pub(super) fn candidates(
    problem: &MatmulProblem,
    geometry: &Geometry,
    demands: Demands,
    is_transposed: bool,
    form: Form,
) -> [Option<Candidate>; MATRICES] {
    let dtypes = problem.matrix_dtypes();
    let are_whole = form == Form::WholePieces;
    let unit = if are_whole { elements_of_load(problem.types.a) } else { unit_of(problem) };
    let aux = problem.epilog.aux_input().or(problem.epilog.aux_output());
    let aux_rows = aux.map_or(0, |kind| kind.column(geometry.rows));
    let vector = problem.vector_length();
    let padded = |extent: i64, least: i64, is_free: bool| {
        let unit = if is_free && (are_whole || demands == Demands::Fewest) { 1 } else { unit };
        extent.max(least).next_multiple_of_signed(unit)
    };
    // Epilogs that read an auxiliary matrix need two products in a sum at least.
    let least_depth = if problem.epilog.aux_input().is_some() { 2 } else { 1 };
    let product = Geometry {
        rows: padded(geometry.rows, 1, is_transposed),
        columns: padded(geometry.columns, 1, !is_transposed),
        depth: padded(geometry.depth, least_depth, false),
        ..geometry.clone()
    };
    // cuBLASLt reads as many elements of a bias as it is told rows.
    let padded_vector = if problem.epilog.has_bias() { product.rows } else { vector };
    let entries = geometry.batch.count() as i64;
    MATRIX_ORDER.map(|matrix| {
        let dtype = dtypes[matrix as usize]?;
        let padded = extents(&product, matrix, aux_rows, padded_vector);
        let index = matrix as usize;
        Some(Candidate {
            matrix,
            dtype,
            given: extents(geometry, matrix, aux_rows, vector),
            padded,
            strides: geometry.strides(matrix),
            is_in_reach: geometry.batch.iter().all(|dim| {
                let step = dim.strides[index];
                step >= 0 && step % unit == 0
            }) && (unit == 1
                || problem.alignment as i64 % bytes_of(problem.types.a, unit) == 0),
            size: bytes_of(dtype, padded[0].saturating_mul(padded[1]).saturating_mul(entries)),
        })
    })
}
