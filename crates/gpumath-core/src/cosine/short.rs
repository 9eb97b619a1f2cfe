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

/// Points of the longest line that can be transformed in this way.
const MAX_POINTS: usize = 24;

/// Returns the points of the longest line for which this is faster than the Fourier transform of a
/// line or two. Those for contiguous lines of type 1 are slow for more lengths.
pub(super) fn most_points(kind: u8, are_contiguous: bool) -> usize {
    if kind == 1 && are_contiguous { MAX_POINTS } else { 16 }
}

/// Returns the points of the longest strided line for which this is faster than Fourier transforms
/// of many lines in the lanes of vectors. Few neighbours leave lanes empty here, but not there.
pub(super) fn most_strided_points<T>(neighbours: usize) -> usize {
    match neighbours * size_of::<T>() {
        ..16 => 5,
        16..32 => 12,
        _ => 16,
    }
}

/// Neighbouring lines that are transformed at once, at most.
const LANES: usize = 16;

/// The matrix of a transform, of as many rows and columns as a line has points.
pub(super) struct ShortPlan {
    /// The factors of each element of the operand in all elements of the result.
    matrix: Matrix<f64>,
    points: usize,
}

type Matrix<T> = [[T; MAX_POINTS]; MAX_POINTS];

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

    /// Returns the matrix of an execution.
    pub(super) fn scaled<T: Scalar>(&self, factors: CosineFactors) -> ShortMatrix<T> {
        let last = self.points - 1;
        let end = |ends: [f64; 2], at: usize| {
            let first = if at == 0 { ends[0] } else { 1.0 };
            if at == last { first * ends[1] } else { first }
        };
        let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
        let mut columns = [[T::zero(); MAX_POINTS]; MAX_POINTS];
        for (n, column) in columns.iter_mut().enumerate().take(self.points) {
            let scale = factors.scale * end(factors.before, n);
            for (k, factor) in column.iter_mut().enumerate().take(self.points) {
                *factor = number(self.matrix[n][k] * scale * end(factors.after, k));
            }
        }
        ShortMatrix { columns, points: self.points }
    }
}

/// The matrix of a transform and its factors, in the type of the elements.
pub(super) struct ShortMatrix<T> {
    /// The factors of each element of the operand in all elements of the result; zeros beyond the
    /// points.
    columns: Matrix<T>,
    points: usize,
}

impl<T: Scalar> ShortMatrix<T> {
    /// Returns the columns of a matrix of at most `N` points, and zeros beyond them.
    pub(super) fn columns<const N: usize>(&self) -> [[T; N]; N] {
        std::array::from_fn(|n| std::array::from_fn(|k| self.columns[n][k]))
    }

    /// Transforms lines.
    ///
    /// # Safety
    /// `from` is readable and `to` writable at `line * across + element * along` for all these
    /// lines and their elements, and no two of these elements of both are one.
    pub(super) unsafe fn multiply(
        &self,
        ends: (*const T, *mut T),
        strides: (StridePair, StridePair),
        lines: usize,
    ) {
        // SAFETY: the caller guarantees the same.
        unsafe {
            match self.points {
                1 => self.multiply_points::<1>(ends, strides, lines),
                2 => self.multiply_points::<2>(ends, strides, lines),
                3 => self.multiply_points::<3>(ends, strides, lines),
                4 => self.multiply_points::<4>(ends, strides, lines),
                5 => self.multiply_points::<5>(ends, strides, lines),
                6 => self.multiply_points::<6>(ends, strides, lines),
                7 => self.multiply_points::<7>(ends, strides, lines),
                8 => self.multiply_points::<8>(ends, strides, lines),
                9 => self.multiply_points::<9>(ends, strides, lines),
                10 => self.multiply_points::<10>(ends, strides, lines),
                11 => self.multiply_points::<11>(ends, strides, lines),
                12 => self.multiply_points::<12>(ends, strides, lines),
                13 => self.multiply_points::<13>(ends, strides, lines),
                14 => self.multiply_points::<14>(ends, strides, lines),
                15 => self.multiply_points::<15>(ends, strides, lines),
                16 => self.multiply_points::<16>(ends, strides, lines),
                17 => self.multiply_points::<17>(ends, strides, lines),
                18 => self.multiply_points::<18>(ends, strides, lines),
                19 => self.multiply_points::<19>(ends, strides, lines),
                20 => self.multiply_points::<20>(ends, strides, lines),
                21 => self.multiply_points::<21>(ends, strides, lines),
                22 => self.multiply_points::<22>(ends, strides, lines),
                23 => self.multiply_points::<23>(ends, strides, lines),
                _ => self.multiply_points::<MAX_POINTS>(ends, strides, lines),
            }
        }
    }

    /// # Safety
    /// As for [`Self::multiply`], for lines of N points.
    unsafe fn multiply_points<const N: usize>(
        &self,
        ends: (*const T, *mut T),
        strides: (StridePair, StridePair),
        lines: usize,
    ) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            #[target_feature(enable = "avx2,fma")]
            unsafe fn with_avx2<T: Scalar, const N: usize>(
                matrix: &Matrix<T>,
                ends: (*const T, *mut T),
                strides: (StridePair, StridePair),
                lines: usize,
            ) {
                // SAFETY: the caller guarantees the same.
                unsafe { multiply_lines::<T, N, true>(matrix, ends, strides, lines) };
            }
            // SAFETY: the processor has AVX2 and FMA, as was checked above; the caller guarantees
            // the rest.
            unsafe { with_avx2::<T, N>(&self.columns, ends, strides, lines) };
            return;
        }
        // SAFETY: the caller guarantees the same.
        unsafe { multiply_lines::<T, N, false>(&self.columns, ends, strides, lines) };
    }
}

/// Transforms lines, with fused multiplications and additions or not.
///
/// # Safety
/// As for [`ShortMatrix::multiply`], for lines of N points.
#[inline(always)]
unsafe fn multiply_lines<T: Scalar, const N: usize, const FUSED: bool>(
    matrix: &Matrix<T>,
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
                *to = times::<T, N, FUSED>(matrix, from);
            }
            return;
        }
        let at = |line: usize| {
            let line = line as isize;
            (from.offset(line * across.from), to.offset(line * across.to))
        };
        if (across.from, across.to) != (1, 1) || lines == 1 {
            for line in 0..lines {
                let (from, to) = at(line);
                multiply_line::<T, N, FUSED>(matrix, from, to, along);
            }
            return;
        }
        let mut line = 0;
        while line < lines {
            // A block may begin with lines that the one before has transformed.
            let widest = 1 << lines.ilog2();
            let block = (lines - line).next_power_of_two().clamp(2, LANES).min(widest);
            let first = line.min(lines - block);
            let (from, to) = at(first);
            match block {
                2 => multiply_block::<T, N, 2, FUSED>(matrix, from, to, along),
                4 => multiply_block::<T, N, 4, FUSED>(matrix, from, to, along),
                8 => multiply_block::<T, N, 8, FUSED>(matrix, from, to, along),
                _ => multiply_block::<T, N, LANES, FUSED>(matrix, from, to, along),
            }
            line = first + block;
        }
    }
}

/// # Safety
/// As for [`ShortMatrix::multiply`], for one line of N points.
#[inline(always)]
unsafe fn multiply_line<T: Scalar, const N: usize, const FUSED: bool>(
    matrix: &Matrix<T>,
    from: *const T,
    to: *mut T,
    along: StridePair,
) {
    // SAFETY: the caller guarantees that the elements are valid.
    unsafe {
        let values = std::array::from_fn(|at| *from.offset(at as isize * along.from));
        let sums = times::<T, N, FUSED>(matrix, &values);
        if along.to == 1 {
            *to.cast() = sums;
            return;
        }
        for (at, value) in sums.into_iter().enumerate() {
            *to.offset(at as isize * along.to) = value;
        }
    }
}

/// Transforms lines that are neighbours in memory: an element of all of them is a vector.
///
/// # Safety
/// As for [`ShortMatrix::multiply`], for L lines of N points.
#[inline(always)]
unsafe fn multiply_block<T: Scalar, const N: usize, const L: usize, const FUSED: bool>(
    matrix: &Matrix<T>,
    from: *const T,
    to: *mut T,
    along: StridePair,
) {
    // SAFETY: the caller guarantees that the elements are valid.
    let rows: [[T; L]; N] =
        std::array::from_fn(|n| unsafe { *from.offset(n as isize * along.from).cast() });
    for k in 0..N {
        let mut sums = [T::zero(); L];
        for (column, row) in matrix.iter().zip(&rows) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum = plus_product::<T, FUSED>(*sum, column[k], value);
            }
        }
        // SAFETY: as above.
        unsafe { *to.offset(k as isize * along.to).cast() = sums };
    }
}

#[inline(always)]
fn times<T: Scalar, const N: usize, const FUSED: bool>(
    matrix: &Matrix<T>,
    line: &[T; N],
) -> [T; N] {
    // Two sums of each, so that an addition need not wait for the one before.
    let (mut even, mut odd) = ([T::zero(); N], [T::zero(); N]);
    for (columns, values) in matrix.chunks_exact(2).zip(line.chunks(2)) {
        for (sums, (column, &value)) in
            [&mut even, &mut odd].into_iter().zip(columns.iter().zip(values))
        {
            for (sum, &factor) in sums.iter_mut().zip(column) {
                *sum = plus_product::<T, FUSED>(*sum, factor, value);
            }
        }
    }
    std::array::from_fn(|k| even[k] + odd[k])
}

#[inline(always)]
fn plus_product<T: Scalar, const FUSED: bool>(sum: T, a: T, b: T) -> T {
    if FUSED { a.mul_add(b, sum) } else { sum + a * b }
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
