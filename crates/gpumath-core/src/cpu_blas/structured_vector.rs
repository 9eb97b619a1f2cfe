//! Products of a triangular, symmetric or Hermitian matrix and a vector.
//!
//! Each stored element is read once, though it may count twice: in its line's dot product with the
//! vector, and in the sums to which the line, times an element of the vector, is added.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::blocks::Sum;
use super::matrix::Matrix;
use super::number::Number;
use super::structure::{Structure, Triangle};
use super::structured::Part;
use super::tile::store;
use super::vector::{load, load_part, store_part};

/// Most rows of a matrix that is multiplied at once.
pub(super) const MOST_OF_VECTOR: usize = 256;

impl<T: Number> Sum<T> {
    /// Adds a matrix of at most [`MOST_OF_VECTOR`] rows times the columns of `b`, one by one.
    ///
    /// # Safety
    /// As for [`Self::add_structured`].
    pub(super) unsafe fn add_part_times_vectors(&self, part: Part, b: Matrix) {
        let Part { structure, a, side } = part;
        let is_turned = a.steps[1] != 1 && a.steps[0] == 1;
        let lines = Lines {
            matrix: if is_turned { a.transposed() } else { a },
            structure: if is_turned { structure.transposed() } else { structure },
            is_turned,
        };
        let (mut x, mut sums) = ([T::ZERO; MOST_OF_VECTOR], [T::ZERO; MOST_OF_VECTOR]);
        for column in 0..self.columns {
            for (row, x) in x.iter_mut().enumerate().take(side) {
                // SAFETY: the caller guarantees that the memory is valid.
                *x = unsafe { b.get(row, column) };
            }
            sums[..side].fill(T::ZERO);
            Arch::new().dispatch(AddLines { lines, x: &x[..side], sums: &mut sums[..side] });
            for (row, &sum) in sums.iter().enumerate().take(side) {
                // SAFETY: likewise.
                unsafe { store(self.out.at(row, column), self.alpha, sum, self.beta) };
            }
        }
    }
}

/// The lines of a matrix that follow each other in memory, if there are such.
#[derive(Clone, Copy)]
struct Lines {
    matrix: Matrix,
    structure: Structure,
    /// Whether the columns of the matrix are the lines.
    is_turned: bool,
}

/// Adds the product of a matrix, whose stored elements can be read, and `x`.
struct AddLines<'a, T> {
    lines: Lines,
    x: &'a [T],
    sums: &'a mut [T],
}

impl<T: Number> WithSimd for AddLines<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Lines { structure, is_turned, .. } = self.lines;
        match (structure, is_turned) {
            (Structure::Triangular { .. }, false) => self.add::<S, true, false>(simd),
            (Structure::Triangular { .. }, true) => self.add::<S, false, true>(simd),
            _ => self.add::<S, true, true>(simd),
        }
    }
}

impl<T: Number> AddLines<'_, T> {
    /// Adds the lines' dot products with `x`, with `DOTS`, and with `ADDED` the lines themselves.
    #[inline(always)]
    fn add<S: Simd, const DOTS: bool, const ADDED: bool>(self, simd: S) {
        let Self { lines: Lines { matrix, structure, is_turned }, x, sums } = self;
        let (side, one) = (x.len(), T::ONE);
        let is_hermitian = !T::IS_REAL && matches!(structure, Structure::Hermitian(_));
        let mut copies = [[T::ZERO; MOST_OF_VECTOR]; 2];
        for row in 0..side {
            let stored: Range<usize> = match structure.triangle() {
                Some(Triangle::Upper) => row + 1..side,
                _ => 0..row,
            };
            let length = stored.len();
            let [copy, mirrored] = &mut copies;
            // SAFETY: the elements are stored, so they can be read.
            let (line, diagonal) = unsafe {
                let line: &[T] = if matrix.steps[1] == 1 && !matrix.is_conjugated {
                    std::slice::from_raw_parts(matrix.at(row, stored.start), length)
                } else {
                    for (column, to) in stored.clone().zip(copy.iter_mut()) {
                        *to = matrix.get(row, column);
                    }
                    &copy[..length]
                };
                let diagonal = match structure {
                    Structure::Triangular { has_unit_diagonal: true, .. } => one,
                    Structure::Hermitian(_) => matrix.get::<T>(row, row).real_part(),
                    _ => matrix.get(row, row),
                };
                (line, diagonal)
            };
            let (mut of_dot, mut added) = (line, line);
            if is_hermitian {
                for (&element, to) in line.iter().zip(mirrored.iter_mut()) {
                    *to = element.conjugate();
                }
                // The mirrored elements of columns are those of dot products.
                *(if is_turned { &mut of_dot } else { &mut added }) = &mirrored[..length];
            }
            let [of_dot, added, x_part] = [of_dot, added, &x[stored.clone()]].map(<[T]>::as_ptr);
            let sum_part = sums[stored].as_mut_ptr();
            let factor = x[row];
            // SAFETY: each has as many elements as the line.
            let dot = unsafe {
                add_line::<T, S, DOTS, ADDED>(
                    simd,
                    length,
                    [of_dot, added, x_part],
                    factor,
                    sum_part,
                )
            };
            sums[row] = sums[row] + diagonal * factor + dot;
        }
    }
}

/// Returns the dot product of the first line and `x`, with `DOTS`, and adds the second one times
/// `factor` to the sums, with `ADDED`.
///
/// # Safety
/// So many elements can be read, and those of the sums written.
#[inline(always)]
unsafe fn add_line<T: Number, S: Simd, const DOTS: bool, const ADDED: bool>(
    simd: S,
    length: usize,
    [of_dot, added, x]: [*const T; 3],
    factor: T,
    sums: *mut T,
) -> T {
    let width = size_of::<T::Vector<S>>() / size_of::<T>();
    let factors = T::splat(simd, factor);
    let mut dots = [T::splat(simd, T::ZERO); 2];
    // SAFETY: the caller guarantees the memory.
    unsafe {
        let whole = length / width * width;
        for place in (0..whole).step_by(width) {
            let [of_dot, added, x] = [of_dot, added, x].map(|from| from.wrapping_add(place));
            if DOTS {
                let (left, right) = (load::<T, S>(of_dot), load::<T, S>(x));
                dots = [dots[1], T::multiply_add(simd, left, right, dots[0])];
            }
            if ADDED {
                let to = sums.wrapping_add(place);
                let sum = T::multiply_add(simd, load::<T, S>(added), factors, load::<T, S>(to));
                store_part(simd, to, None, sum);
            }
        }
        if whole < length {
            let mask = Some(T::mask(simd, length - whole));
            let [of_dot, added, x] = [of_dot, added, x].map(|from| from.wrapping_add(whole));
            if DOTS {
                let (left, right) = (load_part(simd, of_dot, mask), load_part(simd, x, mask));
                dots[0] = T::multiply_add(simd, left, right, dots[0]);
            }
            if ADDED {
                let to = sums.wrapping_add(whole);
                let (numbers, before) = (load_part(simd, added, mask), load_part(simd, to, mask));
                store_part(simd, to, mask, T::multiply_add(simd, numbers, factors, before));
            }
        }
    }
    if DOTS { T::sum(simd, T::add_vectors(simd, dots[0], dots[1])) } else { T::ZERO }
}
