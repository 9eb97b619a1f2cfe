//! One contiguous line of an odd number of real points as a complex line of as many points: for
//! lengths whose parts, as in `odd_line`, take longer than all of it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use super::direct_sums::{LEAST_PRIME, is_fast, largest_prime_factor, plan_direct_sums};
use super::real_lines::check_lengths;
use super::vectors::Lane;
use crate::error;

/// A transform of one line in one direction.
pub(super) struct WholeLine<T> {
    fft: Arc<dyn Fft<T>>,
}

/// The other factors with which a whole line takes less time, if rustfft has kernels for them.
const FAST_OTHERS: RangeInclusive<usize> = 9..=63;

/// Whether the parts of a line take longer than all of it: where rustfft has neither kernels for
/// its largest prime factor nor a convolution of a fast length, and the other factors are few, as
/// measured on an AMD EPYC of family 25.
fn has_slow_parts(points: usize) -> bool {
    let largest = largest_prime_factor(points);
    let others = points / largest.max(1);
    let is_prime = others >= LEAST_PRIME && largest_prime_factor(others) == others;
    let are_few = is_prime || is_fast(others) && FAST_OTHERS.contains(&others);
    are_few && !is_fast(largest - 1)
}

impl<T: Lane + FftNum> WholeLine<T> {
    /// Plans a transform, and a part of it by `plan_rows`; `None` for other lengths.
    pub(super) fn new(
        points: usize,
        direction: FftDirection,
        plan_rows: impl FnOnce(usize) -> error::Result<Arc<dyn Fft<T>>>,
    ) -> error::Result<Option<Self>> {
        if !has_slow_parts(points) {
            return Ok(None);
        }
        let fft = plan_direct_sums(points, direction, plan_rows)?;
        Ok(fft.map(|fft| Self { fft }))
    }

    fn points(&self) -> usize {
        self.fft.len()
    }

    fn scratch_len(&self) -> usize {
        self.points() + self.fft.get_inplace_scratch_len()
    }

    fn zeros(len: usize) -> Vec<Complex<T>> {
        vec![Complex::new(T::zero(), T::zero()); len]
    }
}

impl<T: Lane + FftNum> RealToComplex<T> for WholeLine<T> {
    fn process(&self, input: &mut [T], output: &mut [Complex<T>]) -> Result<(), FftError> {
        let mut scratch = Self::zeros(self.scratch_len());
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
            self.scratch_len(),
            [input.len(), output.len(), scratch.len()],
        )?;
        let (line, scratch) = scratch.split_at_mut(self.points());
        for (element, &number) in line.iter_mut().zip(&*input) {
            *element = Complex::new(number, T::zero());
        }
        self.fft.process_with_scratch(line, scratch);
        output.copy_from_slice(&line[..output.len()]);
        // It is its own mirror image.
        output[0].im = T::zero();
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
        Self::zeros(self.points() / 2 + 1)
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        Self::zeros(self.scratch_len())
    }
}

impl<T: Lane + FftNum> ComplexToReal<T> for WholeLine<T> {
    fn process(&self, input: &mut [Complex<T>], output: &mut [T]) -> Result<(), FftError> {
        let mut scratch = Self::zeros(self.scratch_len());
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
            self.scratch_len(),
            [output.len(), input.len(), scratch.len()],
        )?;
        let (line, scratch) = scratch.split_at_mut(self.points());
        let (half, mirrored) = line.split_at_mut(input.len());
        half.copy_from_slice(input);
        half[0].im = T::zero();
        for (element, of_half) in mirrored.iter_mut().rev().zip(&half[1..]) {
            *element = of_half.conj();
        }
        self.fft.process_with_scratch(line, scratch);
        for (number, element) in output.iter_mut().zip(line) {
            *number = element.re;
        }
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.scratch_len()
    }

    fn len(&self) -> usize {
        self.points()
    }

    fn make_input_vec(&self) -> Vec<Complex<T>> {
        Self::zeros(self.points() / 2 + 1)
    }

    fn make_output_vec(&self) -> Vec<T> {
        vec![T::zero(); self.points()]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        Self::zeros(self.scratch_len())
    }
}
