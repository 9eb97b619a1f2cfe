//! Keeps two real lines apart that are the parts of one complex line.
//!
//! The Fourier transform of a complex line rounds both parts as the larger one, and spreads an
//! infinity or NaN of one over both. So parts of very different sizes are scaled by powers of two
//! before it and back after it, which is exact; a part of zeros has zeros as its result; and one
//! with an infinity or NaN is transformed as zeros, and its result is NaN.

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

use pulp::{Simd, WithSimd};

use super::lanes::number;
use crate::fft::cpu::lines::Scalar;

/// The largest ratio of two parts that are left as they are: it costs two bits of the smaller one.
const MOST: f64 = 4.0;

/// The most neighbouring lines, and the numbers that are added up side by side.
const ABREAST: usize = 32;

/// Neighbouring lines, which take turns in memory.
#[derive(Clone, Copy)]
pub(super) struct Neighbours<T> {
    /// The first element of the first line.
    pub(super) first: *mut T,
    /// The distance between the elements of a line.
    pub(super) along: isize,
    pub(super) points: usize,
    /// How many lines there are: a power of two up to 32.
    pub(super) width: usize,
    /// How many of them are lines of the operand. The others fill the vectors, and are zeros.
    pub(super) used: usize,
}

/// What is done to a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    line: usize,
    before: Change,
    after: Change,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// The line is multiplied by this power of two.
    Scale(i32),
    Fill(f64),
}

/// Returns what has to be done to pairs of lines, the parts of one complex line each, of which one
/// line would spoil the other.
///
/// # Safety
/// All elements of the lines are readable.
pub(super) unsafe fn repairs<T: Scalar>(
    lines: Neighbours<T>,
    dispatch: impl FnOnce(Sums<T>) -> [T; ABREAST],
) -> Vec<Repair> {
    let sums = dispatch(Sums(lines));
    let mut repairs = Vec::new();
    for first in (0..lines.used / 2 * 2).step_by(2) {
        let (a, b): (f64, f64) = (sums[first].into(), sums[first + 1].into());
        // This is false too if a sum is NaN, or if only one of them is infinite.
        if a <= MOST * b && b <= MOST * a {
            continue;
        }
        for (line, sum) in [(first, a), (first + 1, b)] {
            // SAFETY: the caller guarantees that the line can be read.
            let size = unsafe { lines.size(line, sum) };
            let (before, after) = match size {
                None => (Change::Fill(0.0), Change::Fill(f64::NAN)),
                Some(0.0) => (Change::Scale(0), Change::Fill(0.0)),
                Some(size) => {
                    let exponent = size.log2().round() as i32;
                    (Change::Scale(-exponent), Change::Scale(exponent))
                }
            };
            repairs.push(Repair { line, before, after });
        }
    }
    repairs
}

impl<T: Scalar> Neighbours<T> {
    /// Makes the lines of each pair about equally large.
    ///
    /// # Safety
    /// All elements of the lines are writable.
    pub(super) unsafe fn scale(self, repairs: &[Repair]) {
        // SAFETY: the caller guarantees the same.
        repairs.iter().for_each(|repair| unsafe { self.change(repair.line, repair.before) });
    }

    /// Undoes that in the results.
    ///
    /// # Safety
    /// All elements of the lines are writable.
    pub(super) unsafe fn scale_back(self, repairs: &[Repair]) {
        // SAFETY: the caller guarantees the same.
        repairs.iter().for_each(|repair| unsafe { self.change(repair.line, repair.after) });
    }

    fn elements(self, line: usize) -> impl Iterator<Item = *mut T> {
        let first = self.first.wrapping_add(line);
        (0..self.points as isize).map(move |at| first.wrapping_offset(at * self.along))
    }

    unsafe fn change(self, line: usize, change: Change) {
        // A power of two that takes the smallest number to 1, or the largest one, is no number of
        // the type itself, but the product of two.
        let factors = match change {
            Change::Scale(exponent) => {
                let half = exponent / 2;
                [half, exponent - half].map(|exponent| number(f64::from(exponent).exp2()))
            }
            Change::Fill(_) => [T::one(); 2],
        };
        for element in self.elements(line) {
            // SAFETY: the caller of `scale` or `scale_back` guarantees it.
            unsafe {
                *element = match change {
                    Change::Scale(_) => *element * factors[0] * factors[1],
                    Change::Fill(value) => number(value),
                };
            }
        }
    }

    /// Returns about how large the sum of the line is; `None` if an element is infinite or NaN.
    ///
    /// # Safety
    /// The line can be read.
    unsafe fn size(self, line: usize, sum: f64) -> Option<f64> {
        let largest = if size_of::<T>() == 4 { f64::from(f32::MAX) } else { f64::MAX };
        if sum <= largest {
            return Some(sum);
        }
        // The sum of large numbers is infinite too.
        // SAFETY: the caller guarantees it.
        let are_finite = self.elements(line).all(|element| unsafe { *element }.into().is_finite());
        are_finite.then_some(largest)
    }
}

/// Adds up the absolute values of each line.
pub(super) struct Sums<T>(Neighbours<T>);

impl<T: Scalar> WithSimd for Sums<T> {
    type Output = [T; ABREAST];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> [T; ABREAST] {
        let Neighbours { first, along, points, width, .. } = self.0;
        let first = first.cast_const();
        let mut sums = [T::zero(); ABREAST];
        // SAFETY: the caller of `repairs` guarantees that the lines can be read.
        unsafe {
            if along == width as isize {
                let (rows, left) = (points * width / ABREAST, points * width % ABREAST);
                sums = add_rows(first, ABREAST as isize, rows);
                for (at, sum) in sums.iter_mut().enumerate().take(left) {
                    *sum = *sum + (*first.add(rows * ABREAST + at)).abs();
                }
                let mut half = ABREAST / 2;
                while half >= width {
                    for at in 0..half {
                        sums[at] = sums[at] + sums[at + half];
                    }
                    half /= 2;
                }
            } else {
                match width {
                    32 => sums = add_rows(first, along, points),
                    16 => sums[..16].copy_from_slice(&add_rows::<T, 16>(first, along, points)),
                    8 => sums[..8].copy_from_slice(&add_rows::<T, 8>(first, along, points)),
                    _ => sums[..4].copy_from_slice(&add_rows::<T, 4>(first, along, points)),
                }
            }
        }
        sums
    }
}

/// Adds up the absolute values of so many numbers of each row, in registers.
///
/// # Safety
/// The rows can be read, the first numbers of which are that far apart.
#[inline(always)]
unsafe fn add_rows<T: Scalar, const N: usize>(first: *const T, step: isize, rows: usize) -> [T; N] {
    let mut sums = [T::zero(); N];
    for row in 0..rows as isize {
        // SAFETY: the caller guarantees it.
        let numbers = unsafe { &*first.offset(row * step).cast::<[T; N]>() };
        for at in 0..N {
            sums[at] = sums[at] + numbers[at].abs();
        }
    }
    sums
}
