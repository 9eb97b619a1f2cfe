//! Products of a diagonal matrix.

use std::ops::Range;

use pulp::Arch;

use super::blocks::Sum;
use super::matrix::Matrix;
use super::number::Number;

/// Rows whose factors are read at once.
const ROWS: usize = 256;

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
        let start = rows.start;
        let mut factors = [T::ZERO; ROWS];
        for first in rows.clone().step_by(ROWS) {
            let height = ROWS.min(rows.end - first);
            for (row, factor) in (first..).zip(&mut factors[..height]) {
                let place = if is_reversed { side - 1 - row } else { row };
                // SAFETY: the caller guarantees that the memory is valid.
                *factor = self.alpha * unsafe { diagonal.get::<T>(place, 0) };
            }
            let scaled = Scaled {
                b: b.from::<T>(first, 0),
                out: self.out.from::<T>(first - start, 0),
                beta: self.beta,
            };
            Arch::new().dispatch(
                #[inline(always)]
                // SAFETY: likewise.
                || unsafe { scaled.write(&factors[..height], self.columns) },
            );
        }
    }
}

/// Where the rows of `b` are that are multiplied by factors, and those of the result.
#[derive(Clone, Copy)]
struct Scaled<T> {
    b: Matrix,
    out: Matrix,
    beta: Option<T>,
}

impl<T: Number> Scaled<T> {
    /// Writes the rows, along the memory of the result.
    ///
    /// # Safety
    /// So many rows and columns are in valid memory, and nothing else uses those of the result.
    #[inline(always)]
    unsafe fn write(self, factors: &[T], columns: usize) {
        let (height, [down, right]) = (factors.len(), self.out.steps.map(isize::unsigned_abs));
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if height == 1 || (columns > 1 && right <= down) {
                for (row, &factor) in factors.iter().enumerate() {
                    self.from(row, 0).write_line(columns, |_| factor);
                }
            } else {
                for column in 0..columns {
                    self.from(0, column).transposed().write_line(height, |row| factors[row]);
                }
            }
        }
    }

    #[inline(always)]
    fn from(self, row: usize, column: usize) -> Self {
        Self { b: self.b.from::<T>(row, column), out: self.out.from::<T>(row, column), ..self }
    }

    #[inline(always)]
    fn transposed(self) -> Self {
        Self { b: self.b.transposed(), out: self.out.transposed(), ..self }
    }

    /// Writes the first row, each element times its factor.
    ///
    /// # Safety
    /// As for [`Self::write`].
    #[inline(always)]
    unsafe fn write_line(self, length: usize, factor: impl Fn(usize) -> T) {
        let Self { b, out, beta } = self;
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            let put = |to: *mut T, scaled: T| {
                *to = match beta {
                    Some(beta) => scaled + beta * *to,
                    None => scaled,
                };
            };
            if (b.steps[1], out.steps[1], b.is_conjugated) == (1, 1, false) {
                let (from, to) = (b.at::<T>(0, 0), out.at::<T>(0, 0));
                for place in 0..length {
                    put(to.wrapping_add(place), factor(place) * *from.wrapping_add(place));
                }
                return;
            }
            for place in 0..length {
                put(out.at(0, place), factor(place) * b.get::<T>(0, place));
            }
        }
    }
}
