//! One contiguous line of an odd number of real points, without the half of a transform that
//! mirrors the other: what `odd_lines` does for several lines, by transforms of contiguous lines.
//!
//! A line of P times Q points, P a prime, is a matrix of P rows and Q columns. Of the transform of
//! a real column, the first element is real, and half of the others mirror the rest. So with a real
//! line of Q points and (P - 1)/2 complex ones, whose elements k are the elements P·k + p of the
//! whole transform, all are known: those of the complex lines as they are or mirrored. Back, each
//! step is undone.

use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use super::direct_sums::largest_prime_factor;
use super::real_lines::check_lengths;
use super::sums::{unit, units};
use super::vectors::Lane;
use crate::error;

/// Shorter complex lines take no more time if rustfft has fast kernels for their prime factors.
const LEAST_POINTS: usize = 320;
const FAST_PRIME: usize = 11;

/// The largest prime whose columns are transformed by sums of products.
const MOST_ROWS: usize = 71;

/// Columns that are transformed at a time.
const AT_ONCE: usize = 64;

/// A transform of a line, from real numbers (`dyn RealToComplex`) or back (`dyn ComplexToReal`).
struct OddLine<T, Real: ?Sized> {
    rows: usize,
    columns: usize,
    arch: Arch,
    /// The transforms of the real line, and of the complex ones.
    real: Arc<Real>,
    fft: Arc<dyn Fft<T>>,
    /// Cosines and sines of 2πjp/P, for p and j from 1 to (P - 1)/2.
    units: Vec<[T; 2]>,
    /// exp(∓2πi·pq/PQ), for p from 1 to (P - 1)/2 and q below Q.
    turns: Vec<Complex<T>>,
    scratch_len: usize,
}

/// Plans a transform of a real line, and its parts of so many points by `plan_parts`; `None` for
/// even lengths, and for others that realfft transforms as fast.
pub(crate) fn plan_odd_line<T: Lane + FftNum>(
    points: usize,
    plan_parts: impl FnOnce(usize) -> error::Result<(Arc<dyn RealToComplex<T>>, Arc<dyn Fft<T>>)>,
) -> error::Result<Option<Arc<dyn RealToComplex<T>>>> {
    let Some(rows) = rows_of(points) else { return Ok(None) };
    let (real, fft) = plan_parts(points / rows)?;
    let scratch_len = real.get_scratch_len();
    let line = OddLine::new(points, rows, FftDirection::Forward, real, fft, scratch_len);
    Ok(Some(Arc::new(line)))
}

/// Plans a transform to a real line, likewise.
pub(crate) fn plan_odd_half<T: Lane + FftNum>(
    points: usize,
    plan_parts: impl FnOnce(usize) -> error::Result<(Arc<dyn ComplexToReal<T>>, Arc<dyn Fft<T>>)>,
) -> error::Result<Option<Arc<dyn ComplexToReal<T>>>> {
    let Some(rows) = rows_of(points) else { return Ok(None) };
    let (real, fft) = plan_parts(points / rows)?;
    let scratch_len = real.get_scratch_len();
    let line = OddLine::new(points, rows, FftDirection::Inverse, real, fft, scratch_len);
    Ok(Some(Arc::new(line)))
}

/// Returns the smallest prime factor of an odd number, if it is small and not the number, and the
/// number is one of those for which this takes less time than a complex transform.
fn rows_of(points: usize) -> Option<usize> {
    let is_fast = points < LEAST_POINTS && largest_prime_factor(points) <= FAST_PRIME;
    if points.is_multiple_of(2) || is_fast {
        return None;
    }
    let is_factor = |rows: &usize| points.is_multiple_of(*rows) && points > *rows;
    (3..=MOST_ROWS).step_by(2).find(is_factor)
}

impl<T: Lane + FftNum, Real: ?Sized> OddLine<T, Real> {
    fn new(
        points: usize,
        rows: usize,
        direction: FftDirection,
        real: Arc<Real>,
        fft: Arc<dyn Fft<T>>,
        scratch_len: usize,
    ) -> Self {
        let columns = points / rows;
        let products = (1..=rows / 2).flat_map(|p| (0..columns).map(move |q| p * q));
        let turns = products.map(|product| {
            let [re, im] = unit(product, points, direction);
            Complex { re, im }
        });
        Self {
            rows,
            columns,
            arch: Arch::new(),
            real,
            units: units(rows, FftDirection::Inverse),
            turns: turns.collect(),
            scratch_len: scratch_len.max(fft.get_inplace_scratch_len()),
            fft,
        }
    }

    fn points(&self) -> usize {
        self.rows * self.columns
    }

    /// Returns the numbers of all complex lines, and of the half of the real one.
    fn lengths(&self) -> (usize, usize) {
        (self.rows / 2 * self.columns, self.columns / 2 + 1)
    }

    fn scratch_len(&self) -> usize {
        let (lines, half) = self.lengths();
        lines + half + self.scratch_len
    }

    /// Calls `visit` with each element of the half of the whole transform, the number of its
    /// element among those of the complex lines, and whether the two mirror each other.
    #[inline(always)]
    fn for_each_element(&self, mut visit: impl FnMut(usize, usize, bool)) {
        let Self { rows, columns, .. } = *self;
        for k in 0..=columns / 2 {
            for p in 1..=rows / 2 {
                visit(rows * k + p, (p - 1) * columns + k, false);
            }
            for p in (1..=rows / 2).rev().filter(|_| k < columns / 2) {
                visit(rows * k + rows - p, p * columns - 1 - k, true);
            }
        }
    }
}

/// The transforms of real columns. The first elements take the place of the first row.
struct FromColumns<'a, T, Real: ?Sized> {
    line: &'a OddLine<T, Real>,
    numbers: &'a mut [T],
    spectra: &'a mut [Complex<T>],
}

impl<T: Lane + FftNum, Real: ?Sized> WithSimd for FromColumns<'_, T, Real> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { line: OddLine { rows, columns, units, turns, .. }, numbers, spectra } = self;
        let (rows, columns, pairs) = (*rows, *columns, *rows / 2);
        let (first, others) = numbers.split_at_mut(columns);
        for j in 1..=pairs {
            let (before, after) = others.split_at_mut((rows - j - 1) * columns);
            let mirrored = &mut after[..columns];
            for (number, other) in before[(j - 1) * columns..][..columns].iter_mut().zip(mirrored) {
                (*number, *other) = (*number + *other, *number - *other);
            }
        }
        for start in (0..columns).step_by(AT_ONCE) {
            let count = AT_ONCE.min(columns - start);
            for p in 1..=pairs {
                let (mut re, mut im) = ([T::zero(); AT_ONCE], [T::zero(); AT_ONCE]);
                re[..count].copy_from_slice(&first[start..][..count]);
                for (j, &[cos, sin]) in units[(p - 1) * pairs..][..pairs].iter().enumerate() {
                    let sums = &others[j * columns + start..][..count];
                    let differences = &others[(rows - j - 2) * columns + start..][..count];
                    let parts = re[..count].iter_mut().zip(&mut im[..count]);
                    for ((re, im), (&sum, &difference)) in parts.zip(sums.iter().zip(differences)) {
                        *re = *re + sum * cos;
                        *im = *im - difference * sin;
                    }
                }
                let place = (p - 1) * columns + start;
                let turned = spectra[place..][..count].iter_mut().zip(&turns[place..][..count]);
                for ((spectrum, turn), (&re, &im)) in turned.zip(re.iter().zip(&im)) {
                    *spectrum = Complex { re, im } * turn;
                }
            }
        }
        for sums in others[..pairs * columns].chunks_exact(columns) {
            for (number, &sum) in first.iter_mut().zip(sums) {
                *number = *number + sum;
            }
        }
    }
}

/// The transforms back to real columns, whose first elements are in the first row.
struct ToColumns<'a, T, Real: ?Sized> {
    line: &'a OddLine<T, Real>,
    spectra: &'a mut [Complex<T>],
    numbers: &'a mut [T],
}

impl<T: Lane + FftNum, Real: ?Sized> WithSimd for ToColumns<'_, T, Real> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { line: OddLine { rows, columns, units, turns, .. }, spectra, numbers } = self;
        let (rows, columns, pairs) = (*rows, *columns, *rows / 2);
        for (spectrum, turn) in spectra.iter_mut().zip(turns) {
            let turned = *spectrum * turn;
            // With its mirror image.
            *spectrum = turned + turned;
        }
        let (first, others) = numbers.split_at_mut(columns);
        for start in (0..columns).step_by(AT_ONCE) {
            let count = AT_ONCE.min(columns - start);
            for j in 1..=pairs {
                let (mut even, mut odd) = ([T::zero(); AT_ONCE], [T::zero(); AT_ONCE]);
                even[..count].copy_from_slice(&first[start..][..count]);
                for (p, &[cos, sin]) in units[(j - 1) * pairs..][..pairs].iter().enumerate() {
                    let spectra = &spectra[p * columns + start..][..count];
                    let parts = even[..count].iter_mut().zip(&mut odd[..count]);
                    for ((even, odd), spectrum) in parts.zip(spectra) {
                        *even = *even + spectrum.re * cos;
                        *odd = *odd + spectrum.im * sin;
                    }
                }
                for (row, sign) in [(j, -T::one()), (rows - j, T::one())] {
                    let numbers = &mut others[(row - 1) * columns + start..][..count];
                    for (number, (&even, &odd)) in numbers.iter_mut().zip(even.iter().zip(&odd)) {
                        *number = even + odd * sign;
                    }
                }
            }
        }
        for spectra in spectra.chunks_exact(columns) {
            for (number, spectrum) in first.iter_mut().zip(spectra) {
                *number = *number + spectrum.re;
            }
        }
    }
}

impl<T: Lane + FftNum> RealToComplex<T> for OddLine<T, dyn RealToComplex<T>> {
    fn process(&self, input: &mut [T], output: &mut [Complex<T>]) -> Result<(), FftError> {
        self.process_with_scratch(input, output, &mut self.make_scratch_vec())
    }

    fn process_with_scratch(
        &self,
        input: &mut [T],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        check_lengths(
            self.points(),
            self.scratch_len(),
            [input.len(), output.len(), scratch.len()],
        )?;
        let (lines, half) = self.lengths();
        let (spectra, rest) = scratch.split_at_mut(lines);
        let (half, scratch) = rest.split_at_mut(half);
        self.arch.dispatch(FromColumns { line: self, numbers: &mut *input, spectra });
        self.fft.process_with_scratch(spectra, scratch);
        self.real.process_with_scratch(&mut input[..self.columns], half, scratch)?;
        for (element, &of_real) in output.iter_mut().step_by(self.rows).zip(&*half) {
            *element = of_real;
        }
        self.for_each_element(|element, place, is_mirrored| {
            let spectrum = spectra[place];
            output[element] = if is_mirrored { spectrum.conj() } else { spectrum };
        });
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.scratch_len()
    }

    fn len(&self) -> usize {
        self.points()
    }

    fn make_input_vec(&self) -> Vec<T> {
        vec![T::zero(); self.points()]
    }

    fn make_output_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.points() / 2 + 1]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.scratch_len()]
    }
}

impl<T: Lane + FftNum> ComplexToReal<T> for OddLine<T, dyn ComplexToReal<T>> {
    fn process(&self, input: &mut [Complex<T>], output: &mut [T]) -> Result<(), FftError> {
        self.process_with_scratch(input, output, &mut self.make_scratch_vec())
    }

    fn process_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [T],
        scratch: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        check_lengths(
            self.points(),
            self.scratch_len(),
            [output.len(), input.len(), scratch.len()],
        )?;
        let (lines, half) = self.lengths();
        let (spectra, rest) = scratch.split_at_mut(lines);
        let (half, scratch) = rest.split_at_mut(half);
        for (of_real, &element) in half.iter_mut().zip(input.iter().step_by(self.rows)) {
            *of_real = element;
        }
        // It is its own mirror image.
        half[0].im = T::zero();
        self.for_each_element(|element, place, is_mirrored| {
            let element = input[element];
            spectra[place] = if is_mirrored { element.conj() } else { element };
        });
        self.real.process_with_scratch(half, &mut output[..self.columns], scratch)?;
        self.fft.process_with_scratch(spectra, scratch);
        self.arch.dispatch(ToColumns { line: self, spectra, numbers: output });
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.scratch_len()
    }

    fn len(&self) -> usize {
        self.points()
    }

    fn make_input_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.points() / 2 + 1]
    }

    fn make_output_vec(&self) -> Vec<T> {
        vec![T::zero(); self.points()]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.scratch_len()]
    }
}
