//! Blocks of products whose left factor has a structure.
//!
//! What lies beside the diagonal is multiplied where it is stored, transposed where it is mirrored.
//! Only parts on the diagonal are copied, with all their elements. Elements that are not stored are
//! never read, nor do their zeros count: an infinity in the other factor stays where a sum without
//! that product has none.

use std::cell::Cell;
use std::ops::Range;

use pulp::Arch;

use super::blocks::Sum;
use super::kernels::{multiply_add, multiply_run};
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::structure::{Structure, Triangle};
use super::structured_vector::MOST_OF_VECTOR;
use super::tile::Product;
use super::transpose::Mirroring;
use crate::error::Result;
use crate::memory::zeroed;
use crate::parallel::ClaimedIndices;

/// Most rows of a part on the diagonal that is copied. A copied triangle is small, because its
/// zeros are multiplied too; twice as large if its elements have four bytes. A copied mirrored part
/// is larger if it is used for many columns.
const MOST_OF_TRIANGLE: usize = 32;
const MOST_MIRRORED: usize = 64;
const MOST_MIRRORED_FOR_MANY: usize = 128;
const MANY_COLUMNS: usize = 128;

/// Columns that are multiplied one after the other, without a copy.
const FEW_VECTORS: usize = 3;

/// Likewise for a matrix of many rows, unless its numbers are real and in double precision.
const MORE_VECTORS: usize = 4;
const MANY_ROWS: usize = 64;

/// Elements up to which a loop takes less time than a call that copies them.
const SHORT_LINE: usize = 16;

/// A square matrix on the diagonal of one with a structure, which is no diagonal matrix.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) structure: Structure,
    pub(super) a: Matrix,
    pub(super) side: usize,
}

impl Part {
    /// Returns what is to the left and to the right of the square on the diagonal that some rows
    /// have. `None` stands for zeros.
    fn beside<T>(self, [start, end]: [usize; 2]) -> [Option<Matrix>; 2] {
        let mirror = |stored: Matrix| match self.structure {
            Structure::Symmetric(_) => Some(stored.transposed()),
            Structure::Hermitian(_) => Some(stored.transposed().conjugated()),
            _ => None,
        };
        if self.structure.triangle() == Some(Triangle::Upper) {
            [mirror(self.a.from::<T>(0, start)), Some(self.a.from::<T>(start, end))]
        } else {
            [Some(self.a.from::<T>(start, 0)), mirror(self.a.from::<T>(end, start))]
        }
    }

    /// Returns the part of some rows and columns.
    fn within<T>(self, rows: Range<usize>) -> Self {
        let a = self.a.from::<T>(rows.start, rows.start);
        Self { a, side: rows.len(), ..self }
    }

    /// Copies the matrix with all its elements, and returns the copy.
    ///
    /// # Safety
    /// The stored elements are in memory that can be read.
    pub(super) unsafe fn completed<T: Number>(self, copy: &mut [T]) -> Matrix {
        let Self { structure, a, side } = self;
        // Along the lines that follow each other in memory.
        let is_turned = a.steps[1] != 1 && a.steps[0] == 1;
        let from = if is_turned { a.transposed() } else { a };
        let structure = if is_turned { structure.transposed() } else { structure };
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe { expand(from, structure, copy, side) };
        let first = copy.as_ptr() as usize;
        let all = Matrix { first, steps: [side as isize, 1], is_conjugated: false };
        if is_turned { all.transposed() } else { all }
    }
}

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
        match structure {
            Structure::General => return Ok(()),
            Structure::Diagonal { is_reversed } => {
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe { self.add_diagonal(is_reversed, a, b, rows, side) };
                return Ok(());
            }
            _ => {}
        }
        let (all, height) = (Part { structure, a, side }, rows.len());
        let [before, after] = all.beside::<T>([rows.start, rows.end]);
        // SAFETY: the caller guarantees that the memory is valid; the parts are those that are
        // stored.
        unsafe {
            if let Some(before) = before.filter(|_| rows.start > 0) {
                self.add(claimed, height, rows.start, before, b);
            }
            if let Some(after) = after.filter(|_| rows.end < side) {
                let b = b.from::<T>(rows.end, 0);
                self.add(claimed, height, side - rows.end, after, b);
            }
            self.add_square(all.within::<T>(rows.clone()), b.from::<T>(rows.start, 0))
        }
    }

    /// Adds a square matrix on the diagonal times `b`.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    pub(super) unsafe fn add_square(&self, part: Part, b: Matrix) -> Result<()> {
        let most = self.most_copied(part.structure, part.side).min(part.side);
        let mut copy = zeroed::<T>(most * most, "a matrix with a structure")?;
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe { self.add_part(part, b, &mut copy) };
        Ok(())
    }

    /// Whether columns are multiplied one after the other by a part on the diagonal.
    fn are_columns_few(&self, side: usize) -> bool {
        let is_double = T::IS_REAL && size_of::<T>() == 8;
        self.columns <= FEW_VECTORS
            || (self.columns <= MORE_VECTORS && side >= MANY_ROWS && !is_double)
    }

    /// Most rows of a part on the diagonal that is copied.
    fn most_copied(&self, structure: Structure, side: usize) -> usize {
        match structure {
            _ if self.are_columns_few(side) => 0,
            Structure::Triangular { .. } if size_of::<T>() == 4 => 2 * MOST_OF_TRIANGLE,
            Structure::Triangular { .. } => MOST_OF_TRIANGLE,
            _ if self.columns >= MANY_COLUMNS => MOST_MIRRORED_FOR_MANY,
            _ => MOST_MIRRORED,
        }
    }

    /// Adds a part on the diagonal times `b`: its halves on the diagonal are smaller such parts,
    /// and what is beside them is multiplied where it is stored.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    unsafe fn add_part(&self, part: Part, b: Matrix, copy: &mut [T]) {
        let Part { structure, a, side } = part;
        let columns = self.columns;
        if self.are_columns_few(side) && side <= MOST_OF_VECTOR {
            // SAFETY: the caller guarantees that the memory is valid.
            return unsafe { self.add_part_times_vectors(part, b) };
        }
        if side <= self.most_copied(structure, side) {
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe {
                if let Structure::Triangular { triangle, has_unit_diagonal } = structure
                    && !b.is_finite::<T>(side, columns)
                {
                    return self.add_triangle_rows(triangle, has_unit_diagonal, a, b, side);
                }
                let all = part.completed(&mut copy[..side * side]);
                let Self { alpha, beta, out, .. } = *self;
                let shape = [side, columns, side];
                match beta {
                    None => multiply_run(Product { shape, alpha, a: all, b, beta, out }, Run::ONE),
                    Some(_) => multiply_add(shape, alpha, all, b, beta, out),
                }
            }
            return;
        }
        let half = (side / 2).next_multiple_of(8);
        let rest = side - half;
        let (mut top, mut bottom, low_b) = (*self, self.from(half), b.from::<T>(half, 0));
        let [below, _] = part.beside::<T>([half, side]);
        let [_, right] = part.beside::<T>([0, half]);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if let Some(below) = below {
                let shape = [rest, columns, half];
                multiply_add(shape, self.alpha, below, b, self.beta, bottom.out);
                bottom.beta = Some(T::ONE);
            }
            if let Some(right) = right {
                let shape = [half, columns, rest];
                multiply_add(shape, self.alpha, right, low_b, self.beta, top.out);
                top.beta = Some(T::ONE);
            }
            top.add_part(part.within::<T>(0..half), b, copy);
            bottom.add_part(part.within::<T>(half..side), low_b, copy);
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
}

/// Writes all elements of a square matrix with a structure to `dense`, in C order.
///
/// # Safety
/// The stored elements are in memory that can be read.
pub(super) unsafe fn expand<T: Number>(
    matrix: Matrix,
    structure: Structure,
    dense: &mut [T],
    side: usize,
) {
    let is_mirrored = matches!(structure, Structure::Symmetric(_) | Structure::Hermitian(_));
    let is_hermitian = matches!(structure, Structure::Hermitian(_));
    let stored_of = |row: usize| match (structure, structure.triangle()) {
        (Structure::Diagonal { .. }, _) => row..row,
        (_, Some(Triangle::Lower)) => 0..row,
        (_, Some(Triangle::Upper)) => row + 1..side,
        _ => 0..side,
    };
    for (row, line) in dense.chunks_exact_mut(side).enumerate() {
        let stored = stored_of(row);
        if !is_mirrored {
            line.fill(T::ZERO);
        }
        let to = &mut line[stored.clone()];
        // SAFETY: elements that are stored, for which the caller answers.
        unsafe {
            if matrix.steps[1] == 1 && !matrix.is_conjugated {
                let from = matrix.at::<T>(row, stored.start);
                let from = std::slice::from_raw_parts(from, stored.len());
                if to.len() > SHORT_LINE {
                    to.copy_from_slice(from);
                } else {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }
            } else {
                for (column, to) in stored.zip(to) {
                    *to = matrix.get(row, column);
                }
            }
            line[row] = match structure {
                Structure::General => continue,
                Structure::Diagonal { is_reversed: true } => matrix.get(side - 1 - row, 0),
                Structure::Diagonal { .. } => matrix.get(row, 0),
                Structure::Triangular { has_unit_diagonal: true, .. } => T::ONE,
                Structure::Hermitian(_) => matrix.get::<T>(row, row).real_part(),
                _ => matrix.get(row, row),
            };
        }
    }
    if !is_mirrored {
        return;
    }
    if T::IS_REAL || !is_hermitian {
        let is_lower = structure.triangle() == Some(Triangle::Lower);
        let elements = Cell::from_mut(dense);
        return Arch::new().dispatch(Mirroring { elements, side, is_lower });
    }
    let all = dense.as_mut_ptr();
    for row in 0..side {
        for column in stored_of(row) {
            // SAFETY: there are `side` rows and columns.
            unsafe {
                let element = *all.add(row * side + column);
                *all.add(column * side + row) = element.conjugate();
            }
        }
    }
}
