//! Transforms of contiguous lines between real numbers and the Hermitian half of complex ones.
//!
//! A line of 2h real numbers is read as one of h complex numbers. Its transform Z and the half X
//! belong together by a step on elements that mirror each other: X(k) = s + d·f(k) and X(h - k) =
//! conj(s - d·f(k)), where s and d are half the sum and half the difference of Z(k) and
//! conj(Z(h - k)), and f(k) = -i·exp(-2πik/2h). Back, the step is the same with conj(f).

use std::f64::consts::PI;
use std::marker::PhantomData;
use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use super::pairs::{Pairs, reverse, splat_pair};
use super::plan_in_lanes;
use super::table::{Table, vector_of_factors};
use super::vectors::{CountLanes, Lane};
use super::whole_line::WholeLine;
use crate::error;

/// Plans a transform of real lines, and a part of it by `plan_rows`; `None` for lengths that
/// realfft transforms as fast, and for odd lengths that are transformed in parts.
pub(crate) fn plan_real_in_lanes<T: Lane + FftNum>(
    points: usize,
    plan_rows: impl FnOnce(usize) -> error::Result<Arc<dyn Fft<T>>>,
) -> error::Result<Option<Arc<dyn RealToComplex<T>>>> {
    let forward = FftDirection::Forward;
    if points.is_multiple_of(2) {
        let line = EvenLine::new(points, forward, plan_rows)?;
        return Ok(line.map(|line| Arc::new(line) as Arc<dyn RealToComplex<T>>));
    }
    let line = WholeLine::new(points, forward, plan_rows)?;
    Ok(line.map(|line| Arc::new(line) as Arc<dyn RealToComplex<T>>))
}

/// Plans a transform to real lines, likewise.
pub(crate) fn plan_half_in_lanes<T: Lane + FftNum>(
    points: usize,
    plan_rows: impl FnOnce(usize) -> error::Result<Arc<dyn Fft<T>>>,
) -> error::Result<Option<Arc<dyn ComplexToReal<T>>>> {
    let inverse = FftDirection::Inverse;
    if points.is_multiple_of(2) {
        let line = EvenLine::new(points, inverse, plan_rows)?;
        return Ok(line.map(|line| Arc::new(line) as Arc<dyn ComplexToReal<T>>));
    }
    let line = WholeLine::new(points, inverse, plan_rows)?;
    Ok(line.map(|line| Arc::new(line) as Arc<dyn ComplexToReal<T>>))
}

/// A transform of one line in one direction.
struct EvenLine<T> {
    /// The transform of half as many complex numbers.
    fft: Arc<dyn Fft<T>>,
    arch: Arch,
    /// One half, by which sums and differences are multiplied; 1 back, where nothing is scaled.
    scale: T,
    /// The factors, multiplied by it, for each of [`firsts`].
    factors: Table<T>,
}

/// The first elements of the vectors of a half, from 1 on, that others mirror. The last vector may
/// have some elements once more.
fn firsts(half: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (1..=half / 2).step_by(lanes).map(move |first| first.min(half / 2 + 1 - lanes))
}

impl<T: Lane + FftNum> EvenLine<T> {
    fn new(
        points: usize,
        direction: FftDirection,
        plan_rows: impl FnOnce(usize) -> error::Result<Arc<dyn Fft<T>>>,
    ) -> error::Result<Option<Self>> {
        let (half, arch) = (points / 2, Arch::new());
        let lanes = arch.dispatch(CountLanes::<T>(PhantomData)) / 2;
        if half / 2 < lanes {
            return Ok(None);
        }
        let Some(fft) = plan_in_lanes(half, direction, plan_rows)? else { return Ok(None) };
        let (scale, turn) =
            if direction == FftDirection::Forward { (0.5, -0.5) } else { (1.0, 1.0) };
        let factors = firsts(half, lanes).flat_map(|first| {
            vector_of_factors((first..first + lanes).map(move |k| {
                let (sin, cos) = (2.0 * PI * k as f64 / points as f64).sin_cos();
                [-scale * sin, turn * cos]
            }))
        });
        let factors = Table::new(factors.collect());
        Ok(Some(Self { fft, arch, scale: T::rounded(scale), factors }))
    }

    fn points(&self) -> usize {
        2 * self.fft.len()
    }
}

/// Returns an error unless a real line has so many points, its half as many numbers as belong to
/// it, and the work memory the least length.
pub(super) fn check_lengths(
    points: usize,
    least: usize,
    [real, complex, scratch]: [usize; 3],
) -> Result<(), FftError> {
    let half = points / 2 + 1;
    if real != points {
        return Err(FftError::InputBuffer(points, real));
    }
    if complex != half {
        return Err(FftError::OutputBuffer(half, complex));
    }
    if scratch < least {
        return Err(FftError::ScratchBuffer(least, scratch));
    }
    Ok(())
}

/// Returns real numbers in pairs, as complex ones.
fn in_pairs<T>(numbers: &mut [T]) -> &mut [Complex<T>] {
    let (first, len) = (numbers.as_mut_ptr(), numbers.len() / 2);
    // SAFETY: a complex number is two real ones, and these are only used through the result.
    unsafe { std::slice::from_raw_parts_mut(first.cast(), len) }
}

/// The step on the elements from 1 to h - 1, of which both sides have at least h.
struct Mirror<'a, T> {
    lines: &'a EvenLine<T>,
    from: &'a [Complex<T>],
    to: &'a mut [Complex<T>],
}

impl<T: Lane + FftNum> WithSimd for Mirror<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines: EvenLine { fft, scale, factors, .. }, from, to } = self;
        let half = fft.len();
        let lanes = size_of::<T::Vector<S>>() / size_of::<Complex<T>>();
        let (scale, one, negated) = (T::splat(simd, *scale), T::rounded(1.0), T::rounded(-1.0));
        let conjugate = splat_pair::<T, S>(simd, [one, negated]);
        let negated_conjugate = splat_pair::<T, S>(simd, [negated, one]);
        let factors = factors.numbers().chunks_exact(4 * lanes);
        for (first, factors) in firsts(half, lanes).zip(factors) {
            let mirrored = half + 1 - first - lanes;
            let number = Pairs::<T, S>::load(&from[first..][..lanes]).0;
            let other = reverse::<T, S>(Pairs::<T, S>::load(&from[mirrored..][..lanes]).0);
            let sum = T::multiply_add(simd, other, conjugate, number);
            let difference = T::multiply_add(simd, other, negated_conjugate, number);
            let factors = [&factors[..2 * lanes], &factors[2 * lanes..]];
            let factors = factors.map(|parts| Pairs::<T, S>::load_parts(parts).0);
            let product = Pairs::<T, S>(difference).times(simd, factors).0;
            let sum = T::multiply(simd, sum, scale);
            let mirror = T::multiply(simd, T::subtract(simd, sum, product), conjugate);
            let sum = <T as Lane>::add(simd, sum, product);
            Pairs::<T, S>(sum).store(&mut to[first..][..lanes]);
            Pairs::<T, S>(reverse::<T, S>(mirror)).store(&mut to[mirrored..][..lanes]);
        }
    }
}

impl<T: Lane + FftNum> RealToComplex<T> for EvenLine<T> {
    fn process(&self, input: &mut [T], output: &mut [Complex<T>]) -> Result<(), FftError> {
        let mut scratch = RealToComplex::make_scratch_vec(self);
        RealToComplex::process_with_scratch(self, input, output, &mut scratch)
    }

    fn process_with_scratch(
        &self,
        input: &mut [T],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        check_lengths(
            self.points(),
            self.fft.get_inplace_scratch_len(),
            [input.len(), output.len(), scratch.len()],
        )?;
        let from = in_pairs(input);
        self.fft.process_with_scratch(from, scratch);
        let (first, half) = (from[0], self.fft.len());
        self.arch.dispatch(Mirror { lines: self, from, to: output });
        output[0] = Complex::new(first.re + first.im, T::zero());
        output[half] = Complex::new(first.re - first.im, T::zero());
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.fft.get_inplace_scratch_len()
    }

    fn len(&self) -> usize {
        self.points()
    }

    fn make_input_vec(&self) -> Vec<T> {
        vec![T::zero(); self.points()]
    }

    fn make_output_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.fft.len() + 1]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); self.fft.get_inplace_scratch_len()]
    }
}

impl<T: Lane + FftNum> ComplexToReal<T> for EvenLine<T> {
    fn process(&self, input: &mut [Complex<T>], output: &mut [T]) -> Result<(), FftError> {
        let mut scratch = ComplexToReal::make_scratch_vec(self);
        ComplexToReal::process_with_scratch(self, input, output, &mut scratch)
    }

    fn process_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [T],
        scratch: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        check_lengths(
            self.points(),
            self.fft.get_inplace_scratch_len(),
            [output.len(), input.len(), scratch.len()],
        )?;
        let (first, last) = (input[0].re, input[self.fft.len()].re);
        let to = in_pairs(output);
        self.arch.dispatch(Mirror { lines: self, from: input, to });
        to[0] = Complex::new(first + last, first - last);
        self.fft.process_with_scratch(to, scratch);
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.fft.get_inplace_scratch_len()
    }

    fn len(&self) -> usize {
        self.points()
    }

    fn make_input_vec(&self) -> Vec<Complex<T>> {
        RealToComplex::make_output_vec(self)
    }

    fn make_output_vec(&self) -> Vec<T> {
        RealToComplex::make_input_vec(self)
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        RealToComplex::make_scratch_vec(self)
    }
}
