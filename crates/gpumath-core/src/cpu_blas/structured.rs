//! Blocks of products whose left factor has a structure.
//!
//! What lies beside the diagonal is multiplied where it is stored, transposed where it is mirrored.
//! Only a part on the diagonal of a symmetric or Hermitian matrix is copied. Elements that are not
//! stored are never read, nor are their zeros multiplied: an infinity in the other factor stays
//! where a sum without that product has none.

use std::ops::Range;

use super::blocks::Sum;
use super::kernels::multiply_add;
use super::matrix::Matrix;
use super::number::Number;
use super::structure::{Structure, Triangle};
use crate::error::Result;
use crate::memory::zeroed;
use crate::parallel::ClaimedIndices;

/// Most rows of a triangle that are multiplied one by one.
const MAX_TRIANGLE: usize = 8;

impl<T: Number> Sum<T> {
    /// Adds some rows of a square matrix times `b`.
    ///
    /// # Safety
    /// As for [`Block::compute`](super::blocks::Block::compute), for matrices with these extents.
    pub(super) unsafe fn add_structured(
        &mut self,
        claimed: &mut ClaimedIndices<'_>,
        structure: Structure,
        a: Matrix,
        b: Matrix,
        rows: Range<usize>,
        side: usize,
    ) -> Result<()> {
        let (triangle, mirrored) = match structure {
            Structure::General => return Ok(()),
            Structure::Diagonal { is_reversed } => {
                for (index, row) in rows.enumerate() {
                    let place = if is_reversed { side - 1 - row } else { row };
                    // SAFETY: the caller guarantees that the memory is valid.
                    unsafe {
                        let factor = self.alpha * a.get::<T>(place, 0);
                        self.from(index).add_scaled_row(factor, b.from::<T>(row, 0));
                    }
                }
                return Ok(());
            }
            Structure::Triangular { triangle, .. } => (triangle, None),
            Structure::Symmetric(triangle) => (triangle, Some(a.transposed())),
            Structure::Hermitian(triangle) => (triangle, Some(a.transposed().conjugated())),
        };
        let (before, after) = match triangle {
            Triangle::Lower => (Some(a), mirrored),
            Triangle::Upper => (mirrored, Some(a)),
        };
        let height = rows.len();
        // SAFETY: the caller guarantees that the memory is valid; the parts are those that are
        // stored.
        unsafe {
            if let Some(before) = before.filter(|_| rows.start > 0) {
                self.add(claimed, height, rows.start, before.from::<T>(rows.start, 0), b);
            }
            if let Some(after) = after.filter(|_| rows.end < side) {
                let (a, b) = (after.from::<T>(rows.start, rows.end), b.from::<T>(rows.end, 0));
                self.add(claimed, height, side - rows.end, a, b);
            }
            let (a, b) = (a.from::<T>(rows.start, rows.start), b.from::<T>(rows.start, 0));
            if let Structure::Triangular { has_unit_diagonal, .. } = structure {
                self.add_triangle(triangle, has_unit_diagonal, a, b, height);
                return Ok(());
            }
            let mut dense = zeroed::<T>(height * height, "a matrix with a structure")?;
            expand(a, structure, &mut dense, height);
            let dense = Matrix {
                first: dense.as_ptr() as usize,
                steps: [height as isize, 1],
                is_conjugated: false,
            };
            self.add(claimed, height, height, dense, b);
        }
        Ok(())
    }

    /// Adds a triangle times `b`: its halves on the diagonal are smaller triangles, and what is
    /// beside them is a matrix.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    unsafe fn add_triangle(
        &self,
        triangle: Triangle,
        has_unit_diagonal: bool,
        a: Matrix,
        b: Matrix,
        side: usize,
    ) {
        if side <= MAX_TRIANGLE {
            // SAFETY: the caller guarantees that the memory is valid.
            return unsafe { self.add_triangle_rows(triangle, has_unit_diagonal, a, b, side) };
        }
        let half = (side / 2).next_multiple_of(MAX_TRIANGLE);
        let rest = side - half;
        let (low_a, low_b, low) = (a.from::<T>(half, half), b.from::<T>(half, 0), self.from(half));
        let added = |sum: Self| Self { beta: Some(T::ONE), ..sum };
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if triangle == Triangle::Lower {
                let beside = a.from::<T>(half, 0);
                let shape = [rest, self.columns, half];
                multiply_add(shape, self.alpha, beside, b, self.beta, low.out);
                self.add_triangle(triangle, has_unit_diagonal, a, b, half);
                added(low).add_triangle(triangle, has_unit_diagonal, low_a, low_b, rest);
            } else {
                let beside = a.from::<T>(0, half);
                let shape = [half, self.columns, rest];
                multiply_add(shape, self.alpha, beside, low_b, self.beta, self.out);
                added(*self).add_triangle(triangle, has_unit_diagonal, a, b, half);
                low.add_triangle(triangle, has_unit_diagonal, low_a, low_b, rest);
            }
        }
    }

    /// Adds a small triangle times `b`, row by row.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    unsafe fn add_triangle_rows(
        &self,
        triangle: Triangle,
        has_unit_diagonal: bool,
        a: Matrix,
        b: Matrix,
        side: usize,
    ) {
        let one = T::ONE;
        let unit = Matrix { first: &raw const one as usize, steps: [0, 0], is_conjugated: false };
        for row in 0..side {
            let beside = usize::from(has_unit_diagonal);
            let stored = match triangle {
                Triangle::Lower => 0..row + 1 - beside,
                Triangle::Upper => row + beside..side,
            };
            let (mut beta, out) = (self.beta, self.from(row).out);
            let mut add = |a: Matrix, b: Matrix, depth: usize| {
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe { multiply_add([1, self.columns, depth], self.alpha, a, b, beta, out) };
                beta = Some(one);
            };
            if has_unit_diagonal {
                add(unit, b.from::<T>(row, 0), 1);
            }
            if !stored.is_empty() {
                let first = stored.start;
                add(a.from::<T>(row, first), b.from::<T>(first, 0), stored.len());
            }
        }
    }

    /// Adds `factor` times the first row of `b` to the first row.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    unsafe fn add_scaled_row(&self, factor: T, b: Matrix) {
        let (from, to) = (b.steps[1], self.out.steps[1]);
        for column in 0..self.columns as isize {
            let element = (b.first as *const T).wrapping_offset(column.wrapping_mul(from));
            let out = (self.out.first as *mut T).wrapping_offset(column.wrapping_mul(to));
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe {
                let element = if b.is_conjugated { (*element).conjugate() } else { *element };
                let scaled = factor * element;
                *out = match self.beta {
                    Some(beta) => scaled + beta * *out,
                    None => scaled,
                };
            }
        }
    }
}

/// Writes all elements of a square matrix with a structure to `dense`, in C order. What is not
/// written is zero before.
///
/// # Safety
/// The stored elements are in memory that can be read.
pub(super) unsafe fn expand<T: Number>(
    matrix: Matrix,
    structure: Structure,
    dense: &mut [T],
    side: usize,
) {
    // SAFETY: an element that is stored, for which the caller answers.
    let get = |row: usize, column: usize| unsafe { matrix.get::<T>(row, column) };
    for (row, line) in dense.chunks_exact_mut(side).enumerate() {
        match structure {
            Structure::General => {
                line.iter_mut().enumerate().for_each(|(column, to)| *to = get(row, column));
            }
            Structure::Diagonal { is_reversed } => {
                line[row] = get(if is_reversed { side - 1 - row } else { row }, 0);
            }
            Structure::Triangular { triangle, has_unit_diagonal } => {
                let stored = match triangle {
                    Triangle::Lower => 0..row,
                    Triangle::Upper => row + 1..side,
                };
                stored.for_each(|column| line[column] = get(row, column));
                line[row] = if has_unit_diagonal { T::ONE } else { get(row, row) };
            }
            Structure::Symmetric(triangle) | Structure::Hermitian(triangle) => {
                let is_hermitian = matches!(structure, Structure::Hermitian(_));
                for (column, to) in line.iter_mut().enumerate() {
                    let is_stored = (column < row) == (triangle == Triangle::Lower);
                    *to = match (column == row, is_stored, is_hermitian) {
                        (true, _, true) => get(row, row).real_part(),
                        (true, ..) => get(row, row),
                        (false, true, _) => get(row, column),
                        (false, false, true) => get(column, row).conjugate(),
                        (false, false, false) => get(column, row),
                    };
                }
            }
        }
    }
}
