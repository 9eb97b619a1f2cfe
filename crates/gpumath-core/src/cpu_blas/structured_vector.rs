//! Products of a triangular, symmetric or Hermitian matrix and a vector.
//!
//! Each stored element is read once, though it may count twice: by its line's dot product with the
//! vector, and by adding the line, times an element of the vector, to the sums.

use std::ops::Range;

use pulp::Arch;

use super::blocks::Sum;
use super::matrix::Matrix;
use super::number::Number;
use super::structure::{Structure, Triangle};
use super::structured::Part;

/// Most rows of a matrix that is multiplied at once.
pub(super) const MOST_OF_VECTOR: usize = 256;

/// Numbers whose sums are independent of each other.
const LANES: usize = 16;

/// A vector on the stack.
type Elements<T> = [T; MOST_OF_VECTOR];

impl<T: Number> Sum<T> {
    /// Adds a matrix times the first column of `b`, to the first column.
    ///
    /// # Safety
    /// As for [`Self::add_structured`]. The matrix has at most [`MOST_OF_VECTOR`] rows.
    pub(super) unsafe fn add_part_times_vector(&self, part: Part, b: Matrix) {
        let Part { structure, a, side } = part;
        let (mut x, mut sums) = ([T::ZERO; MOST_OF_VECTOR], [T::ZERO; MOST_OF_VECTOR]);
        for (row, x) in x.iter_mut().enumerate().take(side) {
            // SAFETY: the caller guarantees that the memory is valid.
            *x = unsafe { b.get(row, 0) };
        }
        let is_turned = a.steps[1] != 1 && a.steps[0] == 1;
        let lines = Lines {
            matrix: if is_turned { a.transposed() } else { a },
            structure: if is_turned { structure.transposed() } else { structure },
            side,
        };
        let is_mirrored = !matches!(structure, Structure::Triangular { .. });
        let is_hermitian = matches!(structure, Structure::Hermitian(_));
        // Of the transposed matrix, stored elements are added and their mirrors are multiplied.
        let conjugates = [is_hermitian && is_turned, is_hermitian && !is_turned];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe {
                    match (is_mirrored, is_turned, is_hermitian) {
                        (false, false, _) => lines.add::<T, true, false>([false; 2], &x, &mut sums),
                        (false, true, _) => lines.add::<T, false, true>([false; 2], &x, &mut sums),
                        (true, _, false) => lines.add::<T, true, true>([false; 2], &x, &mut sums),
                        (true, _, true) => lines.add::<T, true, true>(conjugates, &x, &mut sums),
                    }
                }
            },
        );
        for (row, &sum) in sums.iter().enumerate().take(side) {
            let out = self.out.at::<T>(row, 0);
            // SAFETY: likewise.
            unsafe {
                *out = match self.beta {
                    Some(beta) => self.alpha * sum + beta * *out,
                    None => self.alpha * sum,
                };
            }
        }
    }
}

/// The lines of a matrix that follow each other in memory, if there are such.
struct Lines {
    matrix: Matrix,
    structure: Structure,
    side: usize,
}

impl Lines {
    /// Adds the products of the lines and `x`, with `DOTS`, and with `AXPYS` those of the columns.
    /// Which of both has conjugates is in `conjugates`.
    ///
    /// # Safety
    /// The stored elements are in memory that can be read.
    #[inline(always)]
    unsafe fn add<T: Number, const DOTS: bool, const AXPYS: bool>(
        self,
        conjugates: [bool; 2],
        x: &Elements<T>,
        sums: &mut Elements<T>,
    ) {
        let Self { matrix, structure, side } = self;
        let mut copy = [T::ZERO; MOST_OF_VECTOR];
        for row in 0..side {
            let stored: Range<usize> = match structure.triangle() {
                Some(Triangle::Upper) => row + 1..side,
                _ => 0..row,
            };
            // SAFETY: the caller guarantees that the memory is valid.
            let line: &[T] = unsafe {
                if matrix.steps[1] == 1 && !matrix.is_conjugated {
                    std::slice::from_raw_parts(matrix.at(row, stored.start), stored.len())
                } else {
                    for (column, to) in stored.clone().zip(&mut copy) {
                        *to = matrix.get(row, column);
                    }
                    &copy[..stored.len()]
                }
            };
            // SAFETY: likewise.
            let diagonal = unsafe {
                match structure {
                    Structure::Triangular { has_unit_diagonal: true, .. } => T::ONE,
                    Structure::Hermitian(_) => matrix.get::<T>(row, row).real_part(),
                    _ => matrix.get(row, row),
                }
            };
            let dot = add_line::<T, DOTS, AXPYS>(
                conjugates,
                line,
                x[row],
                &x[stored.clone()],
                &mut sums[stored],
            );
            sums[row] = sums[row] + diagonal * x[row] + dot;
        }
    }
}

/// Adds a line times `factor` to the sums, with `AXPYS`, and returns its product with `x`, with
/// `DOTS`.
#[inline(always)]
fn add_line<T: Number, const DOTS: bool, const AXPYS: bool>(
    [is_dot_conjugated, is_axpy_conjugated]: [bool; 2],
    line: &[T],
    factor: T,
    x: &[T],
    sums: &mut [T],
) -> T {
    let of_dot = |a: T| if is_dot_conjugated { a.conjugate() } else { a };
    let of_axpy = |a: T| if is_axpy_conjugated { a.conjugate() } else { a };
    let (line_parts, line_rest) = line.as_chunks::<LANES>();
    let (x_parts, x_rest) = x.as_chunks::<LANES>();
    let (sum_parts, sum_rest) = sums.as_chunks_mut::<LANES>();
    let mut dots = [T::ZERO; LANES];
    for ((line, x), sums) in line_parts.iter().zip(x_parts).zip(sum_parts) {
        for lane in 0..LANES {
            if DOTS {
                dots[lane] = dots[lane] + of_dot(line[lane]) * x[lane];
            }
            if AXPYS {
                sums[lane] = sums[lane] + of_axpy(line[lane]) * factor;
            }
        }
    }
    let mut dot = T::ZERO;
    for ((&line, &x), sum) in line_rest.iter().zip(x_rest).zip(sum_rest) {
        if DOTS {
            dot = dot + of_dot(line) * x;
        }
        if AXPYS {
            *sum = *sum + of_axpy(line) * factor;
        }
    }
    if DOTS { dots.into_iter().fold(dot, |dot, lane| dot + lane) } else { dot }
}
