//! Matrices of one product, as the kernels see them.

use pulp::Arch;

use super::number::Number;
use super::transpose::Transposition;

/// A matrix in memory: where its element (0, 0) is, and how far apart neighbours are.
///
/// It borrows nothing; who reads or writes through it answers for the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    /// Address of element (0, 0).
    pub(crate) first: usize,
    /// Elements from a row to the next, and from a column to the next.
    pub(crate) steps: [isize; 2],
    /// Whether the complex conjugates of the elements count.
    pub(crate) is_conjugated: bool,
}

impl Matrix {
    /// Returns the transposed matrix in the same memory.
    #[must_use]
    pub(crate) fn transposed(self) -> Self {
        let [down, right] = self.steps;
        Self { steps: [right, down], ..self }
    }

    /// Returns the matrix of complex conjugates in the same memory.
    #[must_use]
    pub(crate) fn conjugated(self) -> Self {
        Self { is_conjugated: !self.is_conjugated, ..self }
    }

    /// Returns where an element is.
    #[inline(always)]
    pub(crate) fn at<T>(self, row: usize, column: usize) -> *mut T {
        let [down, right] = self.steps;
        let offset = (row as isize).wrapping_mul(down) + (column as isize).wrapping_mul(right);
        (self.first as *mut T).wrapping_offset(offset)
    }

    /// Returns the part of the matrix that begins at an element.
    #[must_use]
    #[inline(always)]
    pub(crate) fn from<T>(self, row: usize, column: usize) -> Self {
        Self { first: self.at::<T>(row, column) as usize, ..self }
    }

    /// Returns an element, or its conjugate if those count.
    ///
    /// # Safety
    /// The element is in memory that is valid for reads.
    #[inline(always)]
    pub(super) unsafe fn get<T: Number>(self, row: usize, column: usize) -> T {
        // SAFETY: the caller guarantees it.
        let value = unsafe { *self.at::<T>(row, column) };
        if self.is_conjugated { value.conjugate() } else { value }
    }

    /// Whether none of `rows` by `columns` elements is infinite or NaN.
    ///
    /// # Safety
    /// The elements are in memory that is valid for reads.
    pub(super) unsafe fn is_finite<T: Number>(self, rows: usize, columns: usize) -> bool {
        if self.steps[0].unsigned_abs() < self.steps[1].unsigned_abs() {
            // SAFETY: the same elements.
            return unsafe { self.transposed().is_finite::<T>(columns, rows) };
        }
        // Short lines that follow each other are one.
        let is_whole = self.steps == [columns as isize, 1];
        let (rows, columns) = if is_whole { (1, rows * columns) } else { (rows, columns) };
        Arch::new().dispatch(
            #[inline(always)]
            || {
                (0..rows).all(|row| {
                    let first = self.at::<T>(row, 0);
                    if self.steps[1] == 1 {
                        // SAFETY: the caller guarantees the memory.
                        let line = unsafe { std::slice::from_raw_parts(first, columns) };
                        return line.iter().fold(true, |all, number| all & number.is_finite());
                    }
                    let step = self.steps[1];
                    let place = |column: usize| first.wrapping_offset(column as isize * step);
                    // SAFETY: likewise.
                    (0..columns).all(|column| unsafe { *place(column) }.is_finite())
                })
            },
        )
    }

    /// Copies `rows` by `columns` elements of `self` to `to`, which has them in memory of its own.
    ///
    /// # Safety
    /// The elements of both are in valid memory, and no other thread uses those of `to`.
    pub(super) unsafe fn copy_to<T: Number>(self, to: Self, rows: usize, columns: usize) {
        // SAFETY: the caller guarantees the memory.
        if let Some(transposition) = unsafe { Transposition::<T>::of(self, to, rows, columns) } {
            return Arch::new().dispatch(transposition);
        }
        // Along the shorter steps of the target in the inner loop.
        if to.steps[0].unsigned_abs() < to.steps[1].unsigned_abs() {
            // SAFETY: the same elements.
            return unsafe { self.transposed().copy_to::<T>(to.transposed(), columns, rows) };
        }
        for row in 0..rows {
            for column in 0..columns {
                // SAFETY: the caller guarantees it.
                unsafe { *to.at::<T>(row, column) = self.get(row, column) };
            }
        }
    }
}
