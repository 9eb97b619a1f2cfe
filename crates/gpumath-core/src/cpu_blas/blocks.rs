//! One block of a result.

use super::MAX_SIDE;
use super::kernels::{TINY, multiply_add};
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::structure::Structure;
use super::structured_run::multiply_structured_run;
use super::tile::Product;
use crate::error::Result;
use crate::parallel::ClaimedIndices;

/// The most of the depth that is multiplied at once, for blocks of the longest side.
pub(super) const MAX_DEPTH: usize = 2048;

/// Returns how much of the depth is multiplied at once for a block whose longer side is `side`: so
/// much that a call takes a bounded time, and a factor's copy a bounded memory.
pub(super) fn depth_at_once(side: usize) -> usize {
    (MAX_SIDE * MAX_DEPTH / side.max(1)).max(MAX_DEPTH)
}

/// A block of `out = alpha * a @ b + beta * c`, or several whole results without `c`.
pub(super) struct Block<T> {
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Option<Matrix>,
    pub(super) out: Matrix,
    pub(super) alpha: T,
    pub(super) beta: T,
    pub(super) depth: usize,
    /// First row and first column of the block.
    pub(super) start: [usize; 2],
    /// Rows and columns of the block.
    pub(super) extent: [usize; 2],
    /// Small products are computed together: so many, each a step after the one before.
    pub(super) run: Run,
}

impl<T: Number> Block<T> {
    /// Ends the block where the matrix ends.
    pub(super) fn within(mut self, shape: [usize; 3]) -> Self {
        for (axis, extent) in self.extent.iter_mut().enumerate() {
            *extent = (*extent).min(shape[axis].saturating_sub(self.start[axis]));
        }
        self
    }

    /// Returns the product whose result is the block, without `c`.
    fn product(&self) -> Product<T> {
        let ([row, column], [rows, columns]) = (self.start, self.extent);
        Product {
            shape: [rows, columns, self.depth],
            alpha: self.alpha,
            a: self.a.from::<T>(row, 0),
            b: self.b.from::<T>(0, column),
            beta: None,
            out: self.out.from::<T>(row, column),
        }
    }

    /// Whether memory may be allocated for the block.
    pub(super) fn allocates(&self, structure: Structure) -> bool {
        let [rows, columns] = self.extent;
        let is_whole = self.depth <= depth_at_once(rows.max(columns));
        let is_in_place =
            structure == Structure::General && is_whole && self.product().is_computed_in_place();
        !is_in_place && (rows * columns).saturating_mul(self.depth) > TINY
    }

    /// Computes the block, unless the loop is over before.
    ///
    /// # Safety
    /// The matrices are in valid memory, and nothing else uses the elements of this block of `out`,
    /// which overlap no operand, but for `c` if it is all of `out`.
    pub(super) unsafe fn compute(
        &self,
        claimed: &mut ClaimedIndices<'_>,
        structure: Structure,
    ) -> Result<()> {
        if self.extent.contains(&0) {
            return Ok(());
        }
        if self.run.count > 1 {
            // SAFETY: the caller guarantees that the memory is valid.
            return unsafe { multiply_structured_run(structure, self.product(), self.run) };
        }
        let [row, column] = self.start;
        let out = self.out.from::<T>(row, column);
        let mut sum = Sum {
            alpha: self.alpha,
            // SAFETY: the caller guarantees that the memory is valid.
            beta: unsafe { self.add_first(out) },
            columns: self.extent[1],
            out,
        };
        let b = self.b.from::<T>(0, column);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if structure == Structure::General {
                let a = self.a.from::<T>(row, 0);
                sum.add(claimed, self.extent[0], self.depth, a, b);
                return Ok(());
            }
            sum.add_structured(claimed, structure, self.a, b, row..row + self.extent[0], self.depth)
        }
    }

    /// Copies this block of `c` to `out` if it counts, and returns what `out` is to be multiplied
    /// by.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    unsafe fn add_first(&self, out: Matrix) -> Option<T> {
        let c = self.c.filter(|_| self.beta != T::ZERO)?;
        let c = c.from::<T>(self.start[0], self.start[1]);
        if (c.first, c.steps) != (out.first, out.steps) {
            // SAFETY: the caller guarantees it.
            unsafe { c.copy_to::<T>(out, self.extent[0], self.extent[1]) };
        }
        Some(self.beta)
    }
}

/// A block of a result to which products are added.
#[derive(Clone, Copy)]
pub(super) struct Sum<T> {
    pub(super) alpha: T,
    /// What the block is multiplied by before the next product is added; `None` if it has no
    /// elements yet.
    pub(super) beta: Option<T>,
    pub(super) columns: usize,
    pub(super) out: Matrix,
}

impl<T: Number> Sum<T> {
    /// Returns the part that begins at a row.
    pub(super) fn from(self, row: usize) -> Self {
        Self { out: self.out.from::<T>(row, 0), ..self }
    }

    /// Adds `a @ b` to the first rows, unless the loop is over before. Without any depth, the block
    /// becomes zero or what it is multiplied by.
    ///
    /// # Safety
    /// As for [`Block::compute`], for matrices with these extents.
    pub(super) unsafe fn add(
        &mut self,
        claimed: &mut ClaimedIndices<'_>,
        rows: usize,
        depth: usize,
        a: Matrix,
        b: Matrix,
    ) {
        let at_once = depth_at_once(rows.max(self.columns));
        for first in (0..depth.max(1)).step_by(at_once) {
            // An interrupt is looked for between parts that take long only.
            if first > 0 && claimed.is_over() {
                return;
            }
            let shape = [rows, self.columns, at_once.min(depth - first)];
            let (a, b) = (a.from::<T>(0, first), b.from::<T>(first, 0));
            // SAFETY: the caller guarantees it.
            unsafe { multiply_add(shape, self.alpha, a, b, self.beta, self.out) };
            self.beta = Some(T::ONE);
        }
    }
}
