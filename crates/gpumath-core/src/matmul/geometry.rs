//! The matrices of a product, as engines compute with them.
//!
//! Vectors have become matrices of one row or one column, and all operands have the batch
//! dimensions of the result, with strides of 0 where an operand has one entry for all.

use super::block_scaling::in_elements;
use super::problem::{InputRole, MatmulProblem, OutputRole};
use super::types::MatmulTypes;
use crate::tensor::{BatchDim, BatchDims, DType, Dims, Layout};

/// Number of the matrices of a [`Geometry`].
pub(super) const MATRICES: usize = 6;

/// Most vectors of a batch that cuBLAS was measured to multiply by numbers in less time than an
/// outer product.
const FEW_SCALED: usize = 8;

/// Most numbers of the result, and products of numbers, of vectors that have one matrix in common
/// and that cuBLAS was measured to multiply in less time as vectors than as a matrix.
const VECTOR_RESULTS: i64 = 1 << 14;
const VECTOR_WORK: i64 = 1 << 23;
/// cuBLASLt splits longer sums of halves for a matrix, and not for vectors.
const LONG_SUM_OF_HALVES: i64 = 2048;

/// Positions of the matrices in the batch's strides. The result is the last one, in whose memory
/// order the batch is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Matrix {
    /// The vector that the epilog adds or writes.
    Vector,
    /// The matrix that the epilog reads or writes besides.
    Aux,
    A,
    B,
    C,
    Result,
}

/// The matrices of a product.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// m, n and k: the extents of the result, and the common one of `a` and `b`.
    pub(super) rows: i64,
    pub(super) columns: i64,
    pub(super) depth: i64,
    /// Distances in elements from one row to the next and from one column to the next, of each
    /// matrix. They are 0 for those that are not there, and where `c` has one row or column for
    /// all.
    pub(super) strides: [[i64; 2]; MATRICES],
    /// What the product is repeated over.
    pub(super) batch: BatchDims<MATRICES>,
}

impl Geometry {
    pub(super) fn of(problem: &MatmulProblem) -> Self {
        let shape = &problem.shape;
        let input = |role: InputRole| {
            let found = problem.inputs.iter().find(|input| input.role == role);
            found.map(|input| in_elements(input.dtype, &input.layout))
        };
        let output = |role: OutputRole| {
            let found = problem.outputs.iter().find(|output| output.role == role);
            found.map(|output| in_elements(output.dtype, &output.layout))
        };
        let result_is_matrix = problem.outputs[0].layout.ndim() == shape.batch.len() + 2;
        let is_row = problem.inputs[0].layout.ndim() == 1;
        let layouts: [(Option<Layout>, Form); MATRICES] = [
            match input(InputRole::Bias) {
                Some(bias) if bias.ndim() == 1 => (Some(bias), Form::Column),
                Some(bias) => (Some(bias), Form::Matrix),
                // Sums in a batch have the shape of a column.
                None if shape.batch.is_empty() => (output(OutputRole::Sums), Form::Column),
                None => (output(OutputRole::Sums), Form::Matrix),
            },
            (input(InputRole::Aux).or(output(OutputRole::Aux)), Form::Matrix),
            (input(InputRole::A), Form::of_factor(&problem.inputs[0].layout, Form::Row)),
            (input(InputRole::B), Form::of_factor(&problem.inputs[1].layout, Form::Column)),
            (input(InputRole::C), Form::Matrix),
            (
                output(OutputRole::Result),
                match (result_is_matrix, is_row) {
                    (true, _) => Form::Matrix,
                    (false, true) if problem.inputs[1].layout.ndim() == 1 => Form::Number,
                    (false, true) => Form::Row,
                    (false, false) => Form::Column,
                },
            ),
        ];
        let strides = layouts
            .each_ref()
            .map(|(layout, form)| layout.as_ref().map_or([0; 2], |of| form.strides(of)));
        let count = shape.batch.len();
        let batch = BatchDims::merged((0..count).map(|axis| BatchDim {
            extent: shape.batch[axis],
            strides: layouts.each_ref().map(|(layout, form)| {
                layout.as_ref().map_or(0, |layout| form.batch_stride(layout, count - axis))
            }),
        }));
        Self { rows: shape.rows, columns: shape.columns, depth: shape.depth, strides, batch }
    }

    /// Makes batch dimensions part of the rows where `b` has one entry for all of them, or part of
    /// the columns where `a` has, if each entry continues the one before. One large product takes
    /// less time than many small ones. Without a vector and an auxiliary matrix.
    pub(super) fn folded(mut self, problem: &MatmulProblem) -> Self {
        if self.stays_vectors(problem) {
            return self;
        }
        while let Some(dim) = self.batch.fastest() {
            let of = |matrix: Matrix| (dim.strides[matrix as usize], self.strides(matrix));
            // How far entries are apart, and how far if they continued each other along an axis.
            let continues = |matrix: Matrix, axis: usize, count: i64| {
                let (step, strides) = of(matrix);
                count == 1 || step == count * strides[axis]
            };
            let is_one = |matrix: Matrix| of(matrix).0 == 0;
            let others = [Matrix::C, Matrix::Result];
            let by = |factor: Matrix, other: Matrix, axis: usize, count: i64| {
                is_one(other)
                    && continues(factor, axis, count)
                    && others.iter().all(|&matrix| continues(matrix, axis, count))
            };
            let (axis, factor, count) = if by(Matrix::A, Matrix::B, 0, self.rows) {
                (0, Matrix::A, self.rows)
            } else if by(Matrix::B, Matrix::A, 1, self.columns) {
                (1, Matrix::B, self.columns)
            } else {
                break;
            };
            if count == 1 {
                for matrix in [factor, Matrix::C, Matrix::Result] {
                    self.strides[matrix as usize][axis] = dim.strides[matrix as usize];
                }
            }
            if axis == 0 {
                self.rows *= dim.extent;
            } else {
                self.columns *= dim.extent;
            }
            self.batch.pop_fastest();
        }
        self
    }

    /// Whether a few vectors are multiplied by a number each. cuBLAS takes less time for a batch of
    /// them than for the outer product that they make together, if their elements are small: 3.7
    /// and 5.2 µs for four short vectors of bfloat16 on an H200.
    pub(super) fn are_scaled_vectors(&self, dtype: DType) -> bool {
        let is_small = matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32);
        let is_vector = self.depth == 1 && (self.rows == 1 || self.columns == 1);
        is_small && is_vector && (2..=FEW_SCALED).contains(&self.batch.count())
    }

    /// Whether kernels for vectors take less time for a batch of vectors than kernels for matrices
    /// take for the matrix that they make together.
    pub(super) fn stays_vectors(&self, problem: &MatmulProblem) -> bool {
        let MatmulTypes { a, b, result, .. } = problem.types;
        let is_for_cublas = matches!(
            a,
            DType::Float16
                | DType::BFloat16
                | DType::Float32
                | DType::Float64
                | DType::Complex64
                | DType::Complex128
        ) && [b, result] == [a; 2]
            && problem.is_plain();
        self.are_scaled_vectors(a)
            || is_for_cublas && self.have_one_matrix() && !self.have_long_sums(a)
    }

    /// Whether vectors are multiplied by one matrix, and it is not much work. Kernels for vectors
    /// take them with gaps between their elements, too, so that vectors which take turns in memory
    /// need no copy.
    fn have_one_matrix(&self) -> bool {
        let [dim] = self.batch.iter().as_slice() else { return false };
        let is_one = |matrix: Matrix| dim.strides[matrix as usize] == 0;
        let are_vectors =
            self.columns == 1 && is_one(Matrix::A) || self.rows == 1 && is_one(Matrix::B);
        let results = (self.rows * self.columns).saturating_mul(dim.extent);
        let work = results.saturating_mul(self.depth);
        are_vectors && self.depth > 1 && results <= VECTOR_RESULTS && work <= VECTOR_WORK
    }

    /// Whether a matrix of halves takes less time, because its long sums are split. Vectors with
    /// gaps between their elements would have to be copied for that.
    fn have_long_sums(&self, dtype: DType) -> bool {
        let is_half = matches!(dtype, DType::Float16 | DType::BFloat16);
        let step =
            if self.rows == 1 { self.strides(Matrix::A)[1] } else { self.strides(Matrix::B)[0] };
        is_half && step == 1 && self.depth >= LONG_SUM_OF_HALVES
    }

    /// The distances between rows and between columns of a matrix.
    pub(super) fn strides(&self, matrix: Matrix) -> [i64; 2] {
        self.strides[matrix as usize]
    }
}

/// Which of the dimensions of a matrix the last dimensions of an operand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Matrix,
    Row,
    Column,
    Number,
}

impl Form {
    fn of_factor(layout: &Layout, vector: Self) -> Self {
        if layout.ndim() == 1 { vector } else { Self::Matrix }
    }

    /// The number of dimensions that are those of the matrix.
    const fn ndim(self) -> usize {
        match self {
            Self::Matrix => 2,
            Self::Row | Self::Column => 1,
            Self::Number => 0,
        }
    }

    fn strides(self, layout: &Layout) -> [i64; 2] {
        let last = layout.ndim().wrapping_sub(1);
        let stride = |axis: usize| if layout.shape[axis] == 1 { 0 } else { layout.strides[axis] };
        match self {
            Self::Matrix => [stride(last - 1), stride(last)],
            Self::Row => [0, stride(last)],
            Self::Column => [stride(last), 0],
            Self::Number => [0, 0],
        }
    }

    /// The stride of the batch dimension that is the `from_end`-th one, counted from the last.
    fn batch_stride(self, layout: &Layout, from_end: usize) -> i64 {
        let outer = layout.ndim() - self.ndim();
        let Some(axis) = outer.checked_sub(from_end) else { return 0 };
        if layout.shape[axis] == 1 { 0 } else { layout.strides[axis] }
    }
}

/// The extents of the matrix that an operand is; a vector is a row on the left, a column on the
/// right.
pub(super) fn matrix_shape(layout: &Layout, is_left: bool) -> [i64; 2] {
    match layout.shape[..] {
        [length] if is_left => [1, length],
        [length] => [length, 1],
        [.., rows, columns] => [rows, columns],
        [] => [1, 1],
    }
}

/// The shape that both shapes are broadcast to, by NumPy's rules; `None` if there is none.
pub(super) fn broadcast(one: &[i64], other: &[i64]) -> Option<Dims> {
    let ndim = one.len().max(other.len());
    let extent = |shape: &[i64], axis: usize| {
        (axis + shape.len()).checked_sub(ndim).map_or(1, |axis| shape[axis])
    };
    (0..ndim)
        .map(|axis| match (extent(one, axis), extent(other, axis)) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_broadcast_as_numpy_does() {
        let of = |one: &[i64], other: &[i64]| broadcast(one, other).map(|shape| shape.to_vec());
        assert_eq!(of(&[5, 1], &[7]), Some(vec![5, 7]));
        assert_eq!(of(&[], &[2, 3]), Some(vec![2, 3]));
        assert_eq!(of(&[0, 1], &[1, 4]), Some(vec![0, 4]));
        assert_eq!(of(&[2], &[3]), None);
        assert_eq!(of(&[0], &[3]), None);
    }
}
