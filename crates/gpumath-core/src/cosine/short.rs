//! Cosine and sine transforms of lines of a few points, as products with a matrix: a Fourier
//! transform, and what comes before and after it, take longer for each line.

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

use std::f64::consts::PI;

use super::CosineFactors;
use crate::fft::cpu::lines::{Scalar, StridePair};

/// Points of the longest line that is transformed in this way.
pub(super) const MAX_POINTS: usize = 16;

/// Neighbouring lines that are transformed at once.
pub(super) const LANES: usize = 16;

/// Points of the longest strided line that is transformed in this way where fewer are neighbours.
pub(super) const MAX_NARROW_POINTS: usize = 8;

/// The matrix of a transform, of as many rows and columns as a line has points.
pub(super) struct ShortPlan {
    /// The factors of each element of the operand in all elements of the result.
    matrix: [[f64; MAX_POINTS]; MAX_POINTS],
    points: usize,
}

impl ShortPlan {
    /// Plans a transform of type 1 to 4 of at most [`MAX_POINTS`], and of at least two points if it
    /// is a cosine transform of type 1.
    pub(super) fn new(kind: u8, points: usize, is_sine: bool) -> Self {
        let mut matrix = [[0.0; MAX_POINTS]; MAX_POINTS];
        for (n, column) in matrix.iter_mut().enumerate().take(points) {
            for (k, factor) in column.iter_mut().enumerate().take(points) {
                *factor = factor_of(kind, points, is_sine, (k, n));
            }
        }
        Self { matrix, points }
    }

    /// Transforms lines.
    ///
    /// # Safety
    /// `from` is readable and `to` writable at `line * across + element * along` for all these
    /// lines and their elements, and no two of these elements of both are one.
    pub(super) unsafe fn run<T: Scalar>(
        &self,
        factors: CosineFactors,
        (from, to): (*const T, *mut T),
        strides: (StridePair, StridePair),
        lines: usize,
    ) {
        let ends = (from, to);
        // SAFETY: the caller guarantees the same.
        unsafe {
            match self.points {
                1 => self.multiply::<T, 1>(factors, ends, strides, lines),
                2 => self.multiply::<T, 2>(factors, ends, strides, lines),
                3 => self.multiply::<T, 3>(factors, ends, strides, lines),
                4 => self.multiply::<T, 4>(factors, ends, strides, lines),
                5 => self.multiply::<T, 5>(factors, ends, strides, lines),
                6 => self.multiply::<T, 6>(factors, ends, strides, lines),
                7 => self.multiply::<T, 7>(factors, ends, strides, lines),
                8 => self.multiply::<T, 8>(factors, ends, strides, lines),
                9 => self.multiply::<T, 9>(factors, ends, strides, lines),
                10 => self.multiply::<T, 10>(factors, ends, strides, lines),
                11 => self.multiply::<T, 11>(factors, ends, strides, lines),
                12 => self.multiply::<T, 12>(factors, ends, strides, lines),
                13 => self.multiply::<T, 13>(factors, ends, strides, lines),
                14 => self.multiply::<T, 14>(factors, ends, strides, lines),
                15 => self.multiply::<T, 15>(factors, ends, strides, lines),
                _ => self.multiply::<T, MAX_POINTS>(factors, ends, strides, lines),
            }
        }
    }

    /// # Safety
    /// As for [`Self::run`], for lines of N points.
    unsafe fn multiply<T: Scalar, const N: usize>(
        &self,
        factors: CosineFactors,
        ends: (*const T, *mut T),
        strides: (StridePair, StridePair),
        lines: usize,
    ) {
        let end = |ends: [f64; 2], at: usize| {
            let first = if at == 0 { ends[0] } else { 1.0 };
            if at == N - 1 { first * ends[1] } else { first }
        };
        let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
        let matrix: [[T; N]; N] = std::array::from_fn(|n| {
            let scale = factors.scale * end(factors.before, n);
            std::array::from_fn(|k| number(self.matrix[n][k] * scale * end(factors.after, k)))
        });
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            #[target_feature(enable = "avx2")]
            unsafe fn with_avx2<T: Scalar, const N: usize>(
                matrix: &[[T; N]; N],
                ends: (*const T, *mut T),
                strides: (StridePair, StridePair),
                lines: usize,
            ) {
                // SAFETY: the caller guarantees the same.
                unsafe { multiply_lines(matrix, ends, strides, lines) };
            }
            // SAFETY: the processor has AVX2, as was checked above; the caller guarantees the rest.
            unsafe { with_avx2(&matrix, ends, strides, lines) };
            return;
        }
        // SAFETY: the caller guarantees the same.
        unsafe { multiply_lines(&matrix, ends, strides, lines) };
    }
}

/// # Safety
/// As for [`ShortPlan::run`], for lines of N points.
#[inline(always)]
unsafe fn multiply_lines<T: Scalar, const N: usize>(
    matrix: &[[T; N]; N],
    (from, to): (*const T, *mut T),
    (along, across): (StridePair, StridePair),
    lines: usize,
) {
    let is_packed = |along: isize, across: isize| along == 1 && across == N as isize;
    // SAFETY: the caller guarantees that the elements are valid.
    unsafe {
        if is_packed(along.from, across.from) && is_packed(along.to, across.to) {
            let from = std::slice::from_raw_parts(from.cast::<[T; N]>(), lines);
            let to = std::slice::from_raw_parts_mut(to.cast::<[T; N]>(), lines);
            for (to, from) in to.iter_mut().zip(from) {
                *to = times(matrix, from);
            }
            return;
        }
        let lines = lines as isize;
        let in_blocks =
            if (across.from, across.to) == (1, 1) { lines - lines % LANES as isize } else { 0 };
        for line in (0..in_blocks).step_by(LANES) {
            multiply_block(matrix, from.offset(line), to.offset(line), along);
        }
        for line in in_blocks..lines {
            let (from, to) = (from.offset(line * across.from), to.offset(line * across.to));
            let values = std::array::from_fn(|at| *from.offset(at as isize * along.from));
            for (at, value) in times(matrix, &values).into_iter().enumerate() {
                *to.offset(at as isize * along.to) = value;
            }
        }
    }
}

/// Transforms lines that are neighbours in memory: an element of all of them is a vector.
///
/// # Safety
/// As for [`ShortPlan::run`], for [`LANES`] lines of N points.
#[inline(always)]
unsafe fn multiply_block<T: Scalar, const N: usize>(
    matrix: &[[T; N]; N],
    from: *const T,
    to: *mut T,
    along: StridePair,
) {
    // SAFETY: the caller guarantees that the elements are valid.
    let rows: [[T; LANES]; N] =
        std::array::from_fn(|n| unsafe { *from.offset(n as isize * along.from).cast() });
    for k in 0..N {
        let mut sums = [T::zero(); LANES];
        for (column, row) in matrix.iter().zip(&rows) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum = *sum + column[k] * value;
            }
        }
        // SAFETY: as above.
        unsafe { *to.offset(k as isize * along.to).cast() = sums };
    }
}

#[inline(always)]
fn times<T: Scalar, const N: usize>(matrix: &[[T; N]; N], line: &[T; N]) -> [T; N] {
    let mut sums = [T::zero(); N];
    for (column, &value) in matrix.iter().zip(line) {
        for (sum, &factor) in sums.iter_mut().zip(column) {
            *sum = *sum + factor * value;
        }
    }
    sums
}

/// Returns the factor of element `n` of the operand in element `k` of the result.
fn factor_of(kind: u8, points: usize, is_sine: bool, (k, n): (usize, usize)) -> f64 {
    let last = points - 1;
    match (kind, is_sine) {
        (1 | 3, false) if n == 0 => 1.0,
        (1, false) | (3, true) if n == last => cosine(k, 1),
        (1, false) => 2.0 * cosine(k * n, last),
        (1, true) => 2.0 * sine((k + 1) * (n + 1), points + 1),
        (2, false) => 2.0 * cosine(k * (2 * n + 1), 2 * points),
        (2, true) => 2.0 * sine((k + 1) * (2 * n + 1), 2 * points),
        (3, false) => 2.0 * cosine((2 * k + 1) * n, 2 * points),
        (3, true) => 2.0 * sine((2 * k + 1) * (n + 1), 2 * points),
        (_, false) => 2.0 * cosine((2 * k + 1) * (2 * n + 1), 4 * points),
        (_, true) => 2.0 * sine((2 * k + 1) * (2 * n + 1), 4 * points),
    }
}

/// cos(π·numerator/denominator), from an angle of the first quarter, so that equal lines give
/// results that are exactly zero where they should.
fn cosine(numerator: usize, denominator: usize) -> f64 {
    let turn = numerator % (2 * denominator);
    let half = turn.min(2 * denominator - turn);
    let quarter = half.min(denominator - half);
    let value = if 2 * quarter == denominator {
        0.0
    } else {
        (PI * (quarter as f64 / denominator as f64)).cos()
    };
    if quarter == half { value } else { -value }
}

fn sine(numerator: usize, denominator: usize) -> f64 {
    // A quarter of a circle earlier.
    cosine(2 * numerator + 3 * denominator, 2 * denominator)
}
