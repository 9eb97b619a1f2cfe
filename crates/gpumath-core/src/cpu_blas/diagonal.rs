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
            let (place, step) = if is_reversed { (side - 1 - first, -1) } else { (first, 1) };
            let from = diagonal.from::<T>(place, 0);
            let vector = Matrix { steps: [0, step * diagonal.steps[0]], ..from };
            let to = factors.as_mut_ptr() as usize;
            let out = Matrix { first: to, steps: [0, 1], is_conjugated: false };
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe { Scaled { b: vector, out, beta: None }.write(&[self.alpha], height) };
            let scaled = Scaled {
                b: b.from::<T>(first, 0),
                out: self.out.from::<T>(first - start, 0),
                beta: self.beta,
            };
            // SAFETY: likewise.
            unsafe { scaled.write(&factors[..height], self.columns) };
        }
    }
}

/// Computes `out = alpha * a @ b + beta * out` for a number `a` and a row `b` of so many columns.
///
/// # Safety
/// As for [`multiply_add`](super::kernels::multiply_add).
pub(super) unsafe fn scale_row<T: Number>(
    columns: usize,
    alpha: T,
    a: Matrix,
    b: Matrix,
    beta: Option<T>,
    out: Matrix,
) {
    // SAFETY: the caller guarantees that the memory is valid.
    unsafe { Scaled { b, out, beta }.write(&[alpha * a.get::<T>(0, 0)], columns) }
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
    unsafe fn write(mut self, factors: &[T], columns: usize) {
        let has_columns = |matrix: Matrix| {
            let [down, right] = matrix.steps.map(isize::unsigned_abs);
            down < right
        };
        let (height, is_along_columns) = (factors.len(), has_columns(self.out));
        let is_turned = has_columns(self.b) != is_along_columns;
        // To copy blocks and to scale the copy takes less time than to read across the lines.
        if self.beta.is_none() && height.min(columns) > 1 && is_turned {
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe { self.b.copy_to::<T>(self.out, height, columns) };
            self.b = self.out;
        }
        Arch::new().dispatch(
            #[inline(always)]
            || {
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe {
                    if height == 1 || (columns > 1 && !is_along_columns) {
                        for (row, &factor) in factors.iter().enumerate() {
                            self.from(row, 0).write_line(columns, |_| factor);
                        }
                    } else {
                        for column in 0..columns {
                            let line = self.from(0, column).transposed();
                            line.write_line(height, |row| factors[row]);
                        }
                    }
                }
            },
        );
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
