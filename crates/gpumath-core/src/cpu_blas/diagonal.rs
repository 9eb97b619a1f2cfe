//! Products of a diagonal matrix.

use std::ops::Range;

use super::blocks::Sum;
use super::elementwise::NumberProducts;
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::tile::Product;

impl<T: Number> Sum<T> {
    /// Adds some rows of a diagonal matrix times `b`. The vector of the diagonal is the first
    /// column of `diagonal`, of `side` elements, and may begin with the last one.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    pub(super) unsafe fn add_diagonal(
        &self,
        is_reversed: bool,
        diagonal: Matrix,
        b: Matrix,
        rows: Range<usize>,
        side: usize,
    ) {
        let Self { alpha, beta, columns, out } = *self;
        let height = rows.len();
        let a = in_order::<T>(is_reversed, diagonal, side).from::<T>(rows.start, 0);
        let mut b = b.from::<T>(rows.start, 0);
        let has_columns = |matrix: Matrix| {
            let [down, right] = matrix.steps.map(isize::unsigned_abs);
            down < right
        };
        // To copy blocks and to scale the copy takes less time than to read across the lines.
        if beta.is_none() && height.min(columns) > 1 && has_columns(b) != has_columns(out) {
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe { b.copy_to::<T>(out, height, columns) };
            b = Matrix { is_conjugated: false, ..out };
        }
        let product = Product { shape: [height, columns, height], alpha, a, b, beta, out };
        // SAFETY: likewise.
        unsafe { NumberProducts::of_diagonals(product, Run::ONE).compute() };
    }
}

/// Returns the vector of a diagonal matrix, as the first column, in the order of the rows.
pub(super) fn in_order<T>(is_reversed: bool, diagonal: Matrix, side: usize) -> Matrix {
    let [step, _] = diagonal.steps;
    if is_reversed {
        return Matrix { steps: [-step, 0], ..diagonal.from::<T>(side - 1, 0) };
    }
    Matrix { steps: [step, 0], ..diagonal }
}
