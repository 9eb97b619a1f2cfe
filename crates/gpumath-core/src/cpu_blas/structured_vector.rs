//! Products of a triangular, symmetric or Hermitian matrix and a vector.
//!
//! Each stored element is read once, though it may count twice: in its line's dot product with the
//! vector, and in the sums to which the line, times an element of the vector, is added.

use pulp::{Arch, Simd, WithSimd};

use super::blocks::Sum;
use super::matrix::Matrix;
use super::number::Number;
use super::structure::{Structure, Triangle};
use super::structured::Part;
use super::tile::store;
use super::vector::{load_part, store_part};

/// Most rows of a matrix that is multiplied at once.
pub(super) const MOST_OF_VECTOR: usize = 256;

/// Lines that are multiplied at once: what is added up for the elements that they have in common is
/// read and written once for all of them.
const GROUP: usize = 4;

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
        let [mut x, mut dots, mut added] = [[T::ZERO; MOST_OF_VECTOR]; 3];
        let (x, dots, added) = (&mut x[..side], &mut dots[..side], &mut added[..side]);
        for column in 0..self.columns {
            for (row, x) in x.iter_mut().enumerate() {
                // SAFETY: the caller guarantees that the memory is valid.
                *x = unsafe { b.get(row, column) };
            }
            added.fill(T::ZERO);
            Arch::new().dispatch(AddLines { lines, x: &*x, dots: &mut *dots, added: &mut *added });
            for (row, (&dot, &sum)) in dots.iter().zip(&*added).enumerate() {
                // SAFETY: likewise.
                unsafe { store(self.out.at(row, column), self.alpha, dot + sum, self.beta) };
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

/// Adds the product of a matrix, whose stored elements can be read, and `x`, in two parts: a
/// processor waits if it reads a vector of which numbers have just been written one by one.
struct AddLines<'a, T> {
    lines: Lines,
    x: &'a [T],
    /// What is added one by one: dot products, and products of elements near the diagonal.
    dots: &'a mut [T],
    /// What is added in vectors: lines times elements of `x`.
    added: &'a mut [T],
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
        let Self { lines, x, dots, added } = self;
        let Lines { matrix, structure, is_turned } = lines;
        let side = x.len();
        let is_upper = structure.triangle() == Some(Triangle::Upper);
        // Elements that are mirrored in a Hermitian matrix are conjugated: those of the dot
        // products if lines are columns, else those that are added.
        let are_conjugated = [is_turned, !is_turned].map(|is_mirrored| {
            let is_mirrored = is_mirrored && matches!(structure, Structure::Hermitian(_));
            !T::IS_REAL && matrix.is_conjugated != is_mirrored
        });
        // SAFETY: of the matrix, only stored elements are read.
        let get = |row, column| unsafe { matrix.get::<T>(row, column) };
        for (row, (dot, &x)) in dots.iter_mut().zip(x).enumerate() {
            *dot = match structure {
                Structure::Triangular { has_unit_diagonal: true, .. } => x,
                Structure::Hermitian(_) => get(row, row).real_part() * x,
                _ => get(row, row) * x,
            };
        }
        // The dot product of a conjugated line is the conjugate of that with a conjugated vector.
        let conjugate_if = |condition: bool, number: T| {
            if condition { number.conjugate() } else { number }
        };
        let raw = |row, column| conjugate_if(matrix.is_conjugated, get(row, column));
        let mut conjugates = [T::ZERO; MOST_OF_VECTOR];
        if are_conjugated != [false; 2] {
            for (to, from) in conjugates.iter_mut().zip(x) {
                *to = from.conjugate();
            }
        }
        let [x, factors] =
            are_conjugated.map(|condition| if condition { &conjugates[..side] } else { x });
        let mut copies = None;
        for top in (0..side).step_by(GROUP) {
            let rows = top..(top + GROUP).min(side);
            // The columns that all lines of the group have. The others are a small triangle.
            let common = if is_upper { rows.end..side } else { 0..top };
            for row in rows.clone() {
                for column in if is_upper { row + 1..rows.end } else { top..row } {
                    let element = raw(row, column);
                    if DOTS {
                        let product = element * x[column];
                        dots[row] = dots[row] + conjugate_if(are_conjugated[0], product);
                    }
                    if ADDED {
                        let product = element * factors[row];
                        dots[column] = dots[column] + conjugate_if(are_conjugated[1], product);
                    }
                }
            }
            let mut group = [std::ptr::null(); GROUP];
            for (place, line) in group.iter_mut().enumerate() {
                let row = top + place;
                if row < side && matrix.steps[1] == 1 {
                    *line = matrix.at::<T>(row, common.start).cast_const();
                    continue;
                }
                // Zeros stand for lines that there are not.
                let copies = copies.get_or_insert([[T::ZERO; MOST_OF_VECTOR]; GROUP]);
                for (column, to) in common.clone().zip(&mut copies[place]) {
                    *to = if row < side { raw(row, column) } else { T::ZERO };
                }
                *line = copies[place].as_ptr();
            }
            let group_factors = std::array::from_fn(|place| {
                if top + place < side { factors[top + place] } else { T::ZERO }
            });
            // SAFETY: each has as many elements as the lines have in common.
            let found = unsafe {
                let length = common.len();
                let (x, added) = (&x[common.clone()], &mut added[common]);
                let (x, added) = (x.as_ptr(), added.as_mut_ptr());
                add_group::<T, S, DOTS, ADDED>(simd, length, group, x, group_factors, added)
            };
            for (dot, found) in dots[rows].iter_mut().zip(found) {
                *dot = *dot + conjugate_if(are_conjugated[0], found);
            }
        }
        if are_conjugated[1] {
            for sum in added {
                *sum = sum.conjugate();
            }
        }
    }
}

/// Returns the dot products of lines and `x`, with `DOTS`, and adds the lines times a factor each
/// to the sums, with `ADDED`.
///
/// # Safety
/// So many elements can be read, and those of the sums written.
#[inline(always)]
unsafe fn add_group<T: Number, S: Simd, const DOTS: bool, const ADDED: bool>(
    simd: S,
    length: usize,
    lines: [*const T; GROUP],
    x: *const T,
    factors: [T; GROUP],
    sums: *mut T,
) -> [T; GROUP] {
    let width = size_of::<T::Vector<S>>() / size_of::<T>();
    let zero = T::splat(simd, T::ZERO);
    // Loops, because closures would be functions of their own, called for each vector.
    let [mut dots, mut vectors, mut splats] = [[zero; GROUP]; 3];
    for (splat, factor) in splats.iter_mut().zip(factors) {
        *splat = T::splat(simd, factor);
    }
    let mut place = 0;
    while place < length {
        let mask = if place + width > length { Some(T::mask(simd, length - place)) } else { None };
        // SAFETY: the caller guarantees the memory.
        unsafe {
            for (vector, line) in vectors.iter_mut().zip(lines) {
                *vector = load_part(simd, line.wrapping_add(place), mask);
            }
            if DOTS {
                let x = load_part(simd, x.wrapping_add(place), mask);
                for (dot, &vector) in dots.iter_mut().zip(&vectors) {
                    *dot = T::multiply_add(simd, vector, x, *dot);
                }
            }
            if ADDED {
                let to = sums.wrapping_add(place);
                let mut sum = load_part(simd, to, mask);
                for (&vector, &splat) in vectors.iter().zip(&splats) {
                    sum = T::multiply_add(simd, vector, splat, sum);
                }
                store_part(simd, to, mask, sum);
            }
        }
        place += width;
    }
    let mut found = [T::ZERO; GROUP];
    if DOTS {
        for (found, dot) in found.iter_mut().zip(dots) {
            *found = T::sum(simd, dot);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::super::tests::{instruction_sets, numbers};
    use super::*;

    /// Compares products of all kinds of matrices of one size with sums of single products. What
    /// is not stored is NaN.
    fn check<T: Number>(side: usize, structure: Structure) {
        let nan = T::from_parts([f64::NAN; 2]);
        let Some(triangle) = structure.triangle() else { return };
        let is_stored = |row: usize, column: usize| match triangle {
            Triangle::Upper => column >= row,
            Triangle::Lower => column <= row,
        };
        let values = numbers::<T>(side * side, 3);
        let x = numbers::<T>(side, 1);
        // Steps of C order, of Fortran order, and of neither.
        let orders = [[side, 1], [1, side], [2 * side, 2]];
        for (steps, is_conjugated) in orders.into_iter().flat_map(|one| [(one, false), (one, true)])
        {
            let mut memory = vec![nan; 2 * side * side];
            let mut expected = vec![T::ZERO; side];
            for (row, column) in (0..side).flat_map(|row| (0..side).map(move |one| (row, one))) {
                if !is_stored(row, column) {
                    continue;
                }
                let stored = values[row * side + column];
                memory[row * steps[0] + column * steps[1]] = stored;
                let element = if is_conjugated { stored.conjugate() } else { stored };
                let (element, mirrored) = match structure {
                    _ if row == column => match structure {
                        Structure::Hermitian(_) => (element.real_part(), None),
                        Structure::Triangular { has_unit_diagonal: true, .. } => (T::ONE, None),
                        _ => (element, None),
                    },
                    Structure::Hermitian(_) => (element, Some(element.conjugate())),
                    Structure::Triangular { .. } => (element, None),
                    _ => (element, Some(element)),
                };
                expected[row] = expected[row] + element * x[column];
                if let Some(mirrored) = mirrored {
                    expected[column] = expected[column] + mirrored * x[row];
                }
            }
            let steps = steps.map(|step| step as isize);
            let matrix = Matrix { first: memory.as_ptr() as usize, steps, is_conjugated };
            for (set, instructions) in instruction_sets().into_iter().enumerate() {
                let is_turned = steps[1] != 1 && steps[0] == 1;
                let lines = Lines {
                    matrix: if is_turned { matrix.transposed() } else { matrix },
                    structure: if is_turned { structure.transposed() } else { structure },
                    is_turned,
                };
                let [mut dots, mut added] = [vec![T::ZERO; side], vec![T::ZERO; side]];
                instructions.dispatch(AddLines {
                    lines,
                    x: &x,
                    dots: &mut dots,
                    added: &mut added,
                });
                for row in 0..side {
                    let found = dots[row] + added[row];
                    assert!(found == expected[row], "{structure:?} {side} {steps:?} {set} {row}");
                }
            }
        }
    }

    #[test]
    fn every_set_of_instructions_reads_what_is_stored() {
        let structures = [Triangle::Lower, Triangle::Upper].into_iter().flat_map(|triangle| {
            [
                Structure::Symmetric(triangle),
                Structure::Hermitian(triangle),
                Structure::Triangular { triangle, has_unit_diagonal: false },
                Structure::Triangular { triangle, has_unit_diagonal: true },
            ]
        });
        for structure in structures {
            for side in (1..20).chain([31, 33, 67, 130]) {
                check::<f32>(side, structure);
                check::<f64>(side, structure);
                check::<Complex<f32>>(side, structure);
                check::<Complex<f64>>(side, structure);
            }
        }
    }
}
