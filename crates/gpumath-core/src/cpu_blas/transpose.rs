//! Copies of lines of neighbouring elements to columns.
//!
//! Where the processor has AVX, several lines are read together, so that what is written are whole
//! vectors.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::{array, slice};

use pulp::{Simd, WithSimd};

use super::matrix::Matrix;
use super::number::Number;

/// A copy of lines, which become columns.
#[derive(Clone, Copy)]
pub(super) struct Transposition<T> {
    /// Address of the first line, and elements from a line to the next.
    from: (*const T, isize),
    /// Address of the first line's copy, and elements between the copies of its elements. Those of
    /// other lines lie beside them.
    to: (*mut T, isize),
    lines: usize,
    /// Elements of a line.
    length: usize,
}

impl<T: Number> Transposition<T> {
    /// Returns the copy of `rows` by `columns` elements from one matrix to another, if it is of
    /// this kind.
    ///
    /// # Safety
    /// When it is dispatched, the elements are in valid memory, and nothing else uses those that
    /// are written.
    #[inline(always)]
    pub(super) unsafe fn of(from: Matrix, to: Matrix, rows: usize, columns: usize) -> Option<Self> {
        if !T::IS_REAL && from.is_conjugated {
            return None;
        }
        let (from_steps, to_steps, lines, length) = match (from.steps, to.steps) {
            ([1, from_step], [to_step, 1]) => (from_step, to_step, columns, rows),
            ([from_step, 1], [1, to_step]) => (from_step, to_step, rows, columns),
            _ => return None,
        };
        let (from, to) = (from.first as *const T, to.first as *mut T);
        Some(Self { from: (from, from_steps), to: (to, to_steps), lines, length })
    }

    #[inline(always)]
    fn source(self, line: usize, place: usize) -> *const T {
        self.from.0.wrapping_offset(line as isize * self.from.1).wrapping_add(place)
    }

    #[inline(always)]
    fn target(self, line: usize, place: usize) -> *mut T {
        self.to.0.wrapping_offset(place as isize * self.to.1).wrapping_add(line)
    }

    /// Copies blocks, if the processor can, and returns how many lines and how much of each they
    /// are.
    ///
    /// # Safety
    /// As for [`Self::of`].
    #[inline(always)]
    unsafe fn copy_blocks<S: Simd>(self) -> [usize; 2] {
        #[cfg(target_arch = "x86_64")]
        if let Some([group, part]) = avx::block::<T, S>()
            && !self.is_short()
        {
            let [lines, length] = [self.lines / group * group, self.length / part * part];
            for line in (0..lines).step_by(group) {
                for place in (0..length).step_by(part) {
                    let from = (self.source(line, place), self.from.1);
                    let to = (self.target(line, place), self.to.1);
                    // SAFETY: the caller guarantees the memory, and `S` exists on processors alone
                    // that have its instructions.
                    unsafe { avx::transpose(from, to) };
                }
            }
            return [lines, length];
        }
        [0, 0]
    }

    /// Whether the lines are short and follow each other: all their elements are copied at once,
    /// which takes less time than blocks.
    #[inline(always)]
    fn is_short(self) -> bool {
        self.length <= 4 && self.from.1 == self.length as isize
    }

    /// Copies what is beside the blocks: few lines, or few elements of each line.
    ///
    /// # Safety
    /// As for [`Self::of`].
    #[inline(always)]
    unsafe fn copy_rest(self, lines: Range<usize>, places: Range<usize>) {
        // SAFETY: the caller guarantees the memory.
        unsafe {
            match (lines.len(), places.len()) {
                (1, _) => self.copy_lines::<1>(lines.start, places),
                (2, _) => self.copy_lines::<2>(lines.start, places),
                (3, _) => self.copy_lines::<3>(lines.start, places),
                (4, _) => self.copy_lines::<4>(lines.start, places),
                (5, _) => self.copy_lines::<5>(lines.start, places),
                (6, _) => self.copy_lines::<6>(lines.start, places),
                (7, _) => self.copy_lines::<7>(lines.start, places),
                (_, 1) => self.copy_places::<1>(lines, places.start),
                (_, 2) => self.copy_places::<2>(lines, places.start),
                (_, 3) => self.copy_places::<3>(lines, places.start),
                (_, 4) => self.copy_places::<4>(lines, places.start),
                _ => {
                    for place in places {
                        for line in lines.clone() {
                            *self.target(line, place) = *self.source(line, place);
                        }
                    }
                }
            }
        }
    }

    /// Copies `N` lines from `first` on. The compiler makes vectors of them if the copies of their
    /// elements leave no gaps.
    ///
    /// # Safety
    /// As for [`Self::of`].
    #[inline(always)]
    unsafe fn copy_lines<const N: usize>(self, first: usize, places: Range<usize>) {
        let (length, step) = (places.len(), self.to.1);
        // SAFETY: the caller guarantees the memory, and that nothing else uses the target.
        unsafe {
            let source = |line| slice::from_raw_parts(self.source(line, places.start), length);
            let sources: [&[T]; N] = array::from_fn(|line| source(first + line));
            let target = self.target(first, places.start);
            if step == N as isize {
                let target =
                    slice::from_raw_parts_mut(target.cast::<MaybeUninit<[T; N]>>(), length);
                for (place, target) in target.iter_mut().enumerate() {
                    target.write(sources.map(|source| *source.get_unchecked(place)));
                }
                return;
            }
            for place in 0..length {
                let target = target.wrapping_offset(place as isize * step).cast::<[T; N]>();
                *target = sources.map(|source| *source.get_unchecked(place));
            }
        }
    }

    /// Copies `N` elements of each line, likewise.
    ///
    /// # Safety
    /// As for [`Self::of`].
    #[inline(always)]
    unsafe fn copy_places<const N: usize>(self, lines: Range<usize>, first: usize) {
        let (count, step) = (lines.len(), self.from.1);
        // SAFETY: the caller guarantees the memory, and that nothing else uses the targets.
        unsafe {
            let source = self.source(lines.start, first);
            let target = |place| self.target(lines.start, place).cast::<MaybeUninit<T>>();
            let mut targets: [&mut [MaybeUninit<T>]; N] =
                array::from_fn(|place| slice::from_raw_parts_mut(target(first + place), count));
            if step == N as isize {
                let source = slice::from_raw_parts(source.cast::<[T; N]>(), count);
                for (line, source) in source.iter().enumerate() {
                    for (target, value) in targets.iter_mut().zip(source) {
                        target.get_unchecked_mut(line).write(*value);
                    }
                }
                return;
            }
            for line in 0..count {
                let source = *source.wrapping_offset(line as isize * step).cast::<[T; N]>();
                for (target, value) in targets.iter_mut().zip(source) {
                    target.get_unchecked_mut(line).write(value);
                }
            }
        }
    }
}

impl<T: Number> WithSimd for Transposition<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        // SAFETY: the caller of `of` guarantees the memory.
        unsafe {
            let [lines, length] = self.copy_blocks::<S>();
            self.copy_rest(0..lines, length..self.length);
            self.copy_rest(lines..self.lines, 0..self.length);
        }
    }
}

/// Rows of the strips in which a triangle is copied to the other one.
const STRIP: usize = 16;

/// A copy of one triangle of a square matrix in C order to the other triangle.
#[derive(Clone, Copy)]
pub(super) struct Mirroring<'a, T> {
    /// All elements of the matrix, of so many rows.
    pub(super) elements: &'a Cell<[T]>,
    pub(super) side: usize,
    /// Whether the lower triangle is the one that is copied.
    pub(super) is_lower: bool,
}

impl<T: Number> WithSimd for Mirroring<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { elements, side, is_lower } = self;
        let elements = elements.as_slice_of_cells();
        let first = elements.as_ptr() as usize;
        let at = |row: usize, column: usize| first + (row * side + column) * size_of::<T>();
        let steps = [side as isize, 1];
        for start in (0..side).step_by(STRIP) {
            let end = (start + STRIP).min(side);
            let beside = if is_lower { 0..start } else { end..side };
            let [from, to] = [at(start, beside.start), at(beside.start, start)]
                .map(|first| Matrix { first, steps, is_conjugated: false });
            // SAFETY: both are parts of the matrix, which have no element in common.
            let strip =
                unsafe { Transposition::<T>::of(from, to.transposed(), end - start, beside.len()) };
            if let Some(strip) = strip {
                strip.with_simd(simd);
            }
            for row in start..end {
                let stored = if is_lower { start..row } else { row + 1..end };
                for column in stored {
                    elements[column * side + row].set(elements[row * side + column].get());
                }
            }
        }
    }
}

/// Blocks of which each line is a half of a vector.
#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::{
        _mm_loadu_pd, _mm_loadu_ps, _mm256_castpd128_pd256, _mm256_castps128_ps256,
        _mm256_insertf128_pd, _mm256_insertf128_ps, _mm256_shuffle_ps, _mm256_storeu_pd,
        _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd,
        _mm256_unpacklo_ps,
    };

    use pulp::Simd;

    use super::Number;

    /// Returns the lines of a block and the elements of each, if `S` has AVX's instructions and
    /// they are for elements of this size.
    #[inline(always)]
    pub(super) const fn block<T: Number, S: Simd>() -> Option<[usize; 2]> {
        match size_of::<T>() {
            4 if size_of::<S::f32s>() >= 32 => Some([8, 4]),
            8 if size_of::<S::f32s>() >= 32 => Some([4, 2]),
            _ => None,
        }
    }

    /// Copies one block of lines to columns. Each side has an address and a step.
    ///
    /// # Safety
    /// The processor has AVX, the elements have 4 or 8 bytes, and the block is in valid memory.
    #[inline]
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn transpose<T: Number>(
        (from, from_step): (*const T, isize),
        (to, to_step): (*mut T, isize),
    ) {
        let half = |line: isize| from.wrapping_offset(line * from_step);
        let to = |place: isize| to.wrapping_offset(place * to_step);
        // SAFETY: the caller guarantees the memory.
        unsafe {
            if size_of::<T>() == 8 {
                let pair = |line: isize| {
                    let low = _mm256_castpd128_pd256(_mm_loadu_pd(half(line).cast()));
                    _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(half(line + 2).cast()))
                };
                let [first, second] = [pair(0), pair(1)];
                _mm256_storeu_pd(to(0).cast(), _mm256_unpacklo_pd(first, second));
                _mm256_storeu_pd(to(1).cast(), _mm256_unpackhi_pd(first, second));
                return;
            }
            let pair = |line: isize| {
                let low = _mm256_castps128_ps256(_mm_loadu_ps(half(line).cast()));
                _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(half(line + 4).cast()))
            };
            let lines = [pair(0), pair(1), pair(2), pair(3)];
            let low =
                [_mm256_unpacklo_ps(lines[0], lines[1]), _mm256_unpacklo_ps(lines[2], lines[3])];
            let high =
                [_mm256_unpackhi_ps(lines[0], lines[1]), _mm256_unpackhi_ps(lines[2], lines[3])];
            for (place, [left, right]) in [(0, low), (2, high)] {
                _mm256_storeu_ps(to(place).cast(), _mm256_shuffle_ps::<0x44>(left, right));
                _mm256_storeu_ps(to(place + 1).cast(), _mm256_shuffle_ps::<0xEE>(left, right));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;
    use rustfft::num_complex::Complex;

    use super::*;

    /// Copies lines of a matrix with `gaps` beside the lines, and beside the copies.
    fn check<T: Number + std::fmt::Debug>(lines: usize, length: usize, gaps: [usize; 2]) {
        let number = |index: usize| T::from_parts([index as f64, -0.5 * index as f64]);
        let (from_step, to_step) = (length + gaps[0], lines + gaps[1]);
        let from: Vec<T> = (0..lines * from_step).map(number).collect();
        for is_turned in [false, true] {
            let mut found = vec![T::ZERO; length * to_step];
            let [from_matrix, to_matrix] = [
                (from.as_ptr() as usize, from_step as isize),
                (found.as_mut_ptr() as usize, to_step as isize),
            ]
            .map(|(first, step)| Matrix {
                first,
                steps: [step, 1],
                is_conjugated: false,
            });
            // The same elements, named by rows and columns or the other way round.
            let (from_matrix, to_matrix, rows, columns) = if is_turned {
                (from_matrix.transposed(), to_matrix, length, lines)
            } else {
                (from_matrix, to_matrix.transposed(), lines, length)
            };
            for arch in [Arch::Scalar, Arch::new()] {
                found.fill(T::ZERO);
                // SAFETY: the vectors have so many elements.
                let copy = unsafe { Transposition::<T>::of(from_matrix, to_matrix, rows, columns) };
                arch.dispatch(copy.expect("lines become columns"));
                for (index, &value) in found.iter().enumerate() {
                    let (place, line) = (index / to_step, index % to_step);
                    let expected =
                        if line < lines { from[line * from_step + place] } else { T::ZERO };
                    assert_eq!(value, expected, "{lines} lines of {length}, {gaps:?}, at {index}");
                }
            }
        }
    }

    #[test]
    fn a_triangle_becomes_the_other_one() {
        for side in [1, 2, 15, 16, 17, 33, 50] {
            for is_lower in [false, true] {
                for arch in [Arch::Scalar, Arch::new()] {
                    let stored =
                        |row: usize, column: usize| row == column || (row > column) == is_lower;
                    let number = |row: usize, column: usize| (side * row + column) as f32;
                    let mut elements: Vec<f32> = (0..side * side)
                        .map(|index| (index / side, index % side))
                        .map(
                            |(row, column)| {
                                if stored(row, column) { number(row, column) } else { f32::NAN }
                            },
                        )
                        .collect();
                    let cells = Cell::from_mut(&mut elements[..]);
                    arch.dispatch(Mirroring { elements: cells, side, is_lower });
                    for (index, &value) in elements.iter().enumerate() {
                        let (row, column) = (index / side, index % side);
                        let expected = if stored(row, column) {
                            number(row, column)
                        } else {
                            number(column, row)
                        };
                        let bits = [value, expected].map(f32::to_bits);
                        assert_eq!(bits[0], bits[1], "{side}, {is_lower}, at {row}, {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn lines_become_columns() {
        for lines in [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 19, 100] {
            for length in [1, 2, 3, 4, 5, 7, 8, 13, 101] {
                for gaps in [[0, 0], [1, 0], [0, 2], [3, 5]] {
                    check::<f32>(lines, length, gaps);
                    check::<f64>(lines, length, gaps);
                    check::<Complex<f32>>(lines, length, gaps);
                    check::<Complex<f64>>(lines, length, gaps);
                }
            }
        }
    }
}
