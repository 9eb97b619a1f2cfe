//! Lines whose length has prime factors that rustfft has no fast kernels for, by sums of products.
//!
//! A line of P times Q points is a matrix of P rows and Q columns. Vector instructions transform
//! several columns at a time: with s = x(j) + x(P - j) and d = x(j) - x(P - j), the elements k and
//! P - k of a column's transform are x(0) + Σ cos(2πjk/P) s ∓ i Σ sin(2πjk/P) d. That is about P
//! products for a number, and for P up to 59 often takes less time than what rustfft does: for most
//! of these lengths a convolution of twice the length. After that, the rows are transformed: by
//! rustfft, or by sums of products too.

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, Length};

use super::Scalar;
use super::grid_shape::largest_prime_factor;
use super::short_lines::plan_line;
use super::tables::{exp_i, sign};
use crate::error::Result;

/// Points at most of what is transformed by sums of products, and half of them.
const MAX_POINTS: usize = 59;
const MAX_HALF: usize = MAX_POINTS / 2;

/// The least prime factor that is not fast.
const LEAST_PRIME: usize = 13;

/// The real and the imaginary parts of a number of each of some columns.
type Columns<T, const N: usize> = [[T; N]; 2];

/// Plans a transform by sums of products; `None` for lengths for which they are slower.
pub(super) fn plan_direct_sums<T: Scalar>(
    points: usize,
    direction: FftDirection,
) -> Result<Option<Arc<dyn Fft<T>>>> {
    // The columns whose numbers fill a vector of 32 bytes, or of 64 if the processor has such.
    if size_of::<T>() == 4 || has_avx512() {
        DirectSums::<T, 8>::plan(points, direction)
    } else {
        DirectSums::<T, 4>::plan(points, direction)
    }
}

/// Whether sums of P products, and what follows for Q, take less time than rustfft, as measured on
/// an AMD EPYC of family 26. N numbers fill a vector.
fn are_faster<const N: usize>(prime: usize, others: usize) -> bool {
    if !(LEAST_PRIME..=MAX_POINTS).contains(&prime) || others < N {
        return false;
    }
    // For these rustfft has neither kernels nor a convolution of a fast length.
    if !is_fast(prime - 1) {
        return true;
    }
    if is_fast(others) {
        // The last columns are not computed twice, or they are few; and rustfft is slow at fives.
        let is_cheap = others >= 3 * N && !others.is_multiple_of(5);
        return N >= 8 && (others.is_multiple_of(N) || is_cheap);
    }
    N >= 8 || others > MAX_POINTS || prime + others <= 64
}

fn is_fast(points: usize) -> bool {
    largest_prime_factor(points) < LEAST_PRIME
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// A transform of lines of P times Q points; N columns at a time.
struct DirectSums<T: Scalar, const N: usize> {
    columns: ColumnSums<T, N>,
    rows: Rows<T, N>,
    direction: FftDirection,
    /// exp(∓2πi·column·k/PQ), by groups of columns and k from 1 on.
    twiddles: Vec<Columns<T, N>>,
}

/// The second half of a transform.
enum Rows<T: Scalar, const N: usize> {
    Fft(Arc<dyn Fft<T>>),
    Sums(ColumnSums<T, N>),
}

/// Transforms of the columns of a matrix.
struct ColumnSums<T: Scalar, const N: usize> {
    points: usize,
    /// Columns of the matrix, at least N.
    columns: usize,
    /// The cosine and ∓ the sine of 2πjk/P, by k from 1 to P / 2 and j from 1 to (P - 1) / 2.
    units: Vec<[T; 2]>,
}

impl<T: Scalar, const N: usize> DirectSums<T, N> {
    fn plan(points: usize, direction: FftDirection) -> Result<Option<Arc<dyn Fft<T>>>> {
        let prime = largest_prime_factor(points);
        let others = points / prime.max(1);
        if !are_faster::<N>(prime, others) {
            return Ok(None);
        }
        let rows = if is_fast(others) || others > MAX_POINTS {
            Rows::Fft(plan_line(others, direction)?)
        } else {
            Rows::Sums(ColumnSums::new(others, prime, direction))
        };
        let turn = sign(direction) * 2.0 * PI / points as f64;
        let places = groups::<N>(others).flat_map(|first| (1..prime).map(move |k| (first, k)));
        let twiddles = places.map(|(first, k)| {
            let of = |at: usize| exp_i::<T>(((first + at) * k) as f64 * turn);
            [std::array::from_fn(|at| of(at).re), std::array::from_fn(|at| of(at).im)]
        });
        let twiddles = twiddles.collect();
        let columns = ColumnSums::new(prime, others, direction);
        Ok(Some(Arc::new(Self { columns, rows, direction, twiddles })))
    }

    /// Transforms one line, first into `work`, which has as many numbers.
    fn run(&self, from: &[Complex<T>], work: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.columns.run(from, work, &self.twiddles);
        if let Rows::Fft(rows) = &self.rows {
            rows.process_with_scratch(work, scratch);
        }
    }

    /// Ends the transform of the line in `work`.
    fn finish(&self, work: &[Complex<T>], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        match &self.rows {
            Rows::Fft(_) => self.transpose(work, to),
            Rows::Sums(sums) => {
                let turned = &mut scratch[..work.len()];
                self.transpose(work, turned);
                sums.run(turned, to, &[]);
            }
        }
    }

    /// Copies a matrix of P rows column after column.
    fn transpose(&self, from: &[Complex<T>], to: &mut [Complex<T>]) {
        let ColumnSums { points, columns, .. } = self.columns;
        for (column, line) in to.chunks_exact_mut(points).enumerate() {
            for (to, row) in line.iter_mut().zip(from.chunks_exact(columns)) {
                *to = row[column];
            }
        }
    }
}

impl<T: Scalar, const N: usize> ColumnSums<T, N> {
    fn new(points: usize, columns: usize, direction: FftDirection) -> Self {
        let turn = sign(direction) * 2.0 * PI / points as f64;
        let pairs =
            (1..=points / 2).flat_map(|k| (1..=(points - 1) / 2).map(move |j| j * k % points));
        let units = pairs.map(|numerator| exp_i::<T>(numerator as f64 * turn));
        Self { points, columns, units: units.map(|unit| [unit.re, unit.im]).collect() }
    }

    /// Transforms all columns, and multiplies the results by the twiddle factors if there are any.
    fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>], twiddles: &[Columns<T, N>]) {
        #[cfg(target_arch = "x86_64")]
        if size_of::<T>() * N == 64 && has_avx512() {
            #[target_feature(enable = "avx512f")]
            fn with_avx512<T: Scalar, const N: usize>(
                sums: &ColumnSums<T, N>,
                from: &[Complex<T>],
                to: &mut [Complex<T>],
                twiddles: &[Columns<T, N>],
            ) {
                sums.compute::<true>(from, to, twiddles);
            }
            // SAFETY: the processor has it, as was checked above.
            unsafe { with_avx512(self, from, to, twiddles) };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            #[target_feature(enable = "avx2,fma")]
            fn with_avx2<T: Scalar, const N: usize>(
                sums: &ColumnSums<T, N>,
                from: &[Complex<T>],
                to: &mut [Complex<T>],
                twiddles: &[Columns<T, N>],
            ) {
                sums.compute::<true>(from, to, twiddles);
            }
            // SAFETY: the processor has both, as was checked above.
            unsafe { with_avx2(self, from, to, twiddles) };
            return;
        }
        self.compute::<{ cfg!(target_arch = "aarch64") }>(from, to, twiddles);
    }

    /// `FUSED` says whether the processor multiplies and adds in one instruction.
    #[inline(always)]
    fn compute<const FUSED: bool>(
        &self,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
        twiddles: &[Columns<T, N>],
    ) {
        let Self { points, columns, .. } = *self;
        let (half, zero) = ((points - 1) / 2, [[T::zero(); N]; 2]);
        let (mut sums, mut differences) = ([zero; MAX_HALF], [zero; MAX_HALF]);
        let (sums, differences) = (&mut sums[..half], &mut differences[..half]);
        for (group, first) in groups::<N>(columns).enumerate() {
            let place = |row: usize| row * columns + first..row * columns + first + N;
            let twiddle = |row: usize| twiddles.get(group * (points - 1) + row - 1);
            let start = load(&from[place(0)]);
            let middle =
                if points.is_multiple_of(2) { load(&from[place(points / 2)]) } else { zero };
            let mut total = plus(start, middle);
            for (j, (sum, difference)) in sums.iter_mut().zip(differences.iter_mut()).enumerate() {
                let (a, b) = (load(&from[place(j + 1)]), load(&from[place(points - 1 - j)]));
                (*sum, *difference) = (plus(a, b), minus(a, b));
                total = plus(total, *sum);
            }
            store(total, &mut to[place(0)]);
            // Two elements at a time, so that the processor need not wait for its sums.
            for k in (1..=points / 2).step_by(2) {
                let next = (k + 1).min(points / 2);
                let units = |k: usize| &self.units[(k - 1) * half..][..half];
                let begin = |k: usize| {
                    if k.is_multiple_of(2) { plus(start, middle) } else { minus(start, middle) }
                };
                let (mut even, mut odd) = (begin(k), zero);
                let (mut next_even, mut next_odd) = (begin(next), zero);
                let terms = units(k).iter().zip(units(next)).zip(sums.iter()).zip(&*differences);
                for (((unit, next_unit), sum), difference) in terms {
                    even = multiply_add::<T, N, FUSED>(unit[0], *sum, even);
                    odd = multiply_add::<T, N, FUSED>(unit[1], *difference, odd);
                    next_even = multiply_add::<T, N, FUSED>(next_unit[0], *sum, next_even);
                    next_odd = multiply_add::<T, N, FUSED>(next_unit[1], *difference, next_odd);
                }
                for (row, even, odd) in [(k, even, odd), (next, next_even, next_odd)] {
                    // i times the odd part.
                    let odd = [odd[1].map(|value| -value), odd[0]];
                    for (row, value) in [(row, plus(even, odd)), (points - row, minus(even, odd))] {
                        let value = twiddle(row).map_or(value, |factor| times(value, factor));
                        store(value, &mut to[place(row)]);
                    }
                }
            }
        }
    }
}

/// The first columns of the groups that are transformed at a time. The last group may begin with
/// columns of the one before it, which are then computed twice.
fn groups<const N: usize>(columns: usize) -> impl Iterator<Item = usize> {
    (0..columns.div_ceil(N)).map(move |group| (group * N).min(columns - N))
}

#[inline(always)]
fn load<T: Scalar, const N: usize>(numbers: &[Complex<T>]) -> Columns<T, N> {
    let mut parts = [[T::zero(); N]; 2];
    for at in 0..N {
        (parts[0][at], parts[1][at]) = (numbers[at].re, numbers[at].im);
    }
    parts
}

#[inline(always)]
fn store<T: Scalar, const N: usize>([real, imaginary]: Columns<T, N>, to: &mut [Complex<T>]) {
    for at in 0..N {
        to[at] = Complex::new(real[at], imaginary[at]);
    }
}

#[inline(always)]
fn plus<T: Scalar, const N: usize>(a: Columns<T, N>, b: Columns<T, N>) -> Columns<T, N> {
    let mut result = a;
    for part in 0..2 {
        for at in 0..N {
            result[part][at] = a[part][at] + b[part][at];
        }
    }
    result
}

#[inline(always)]
fn minus<T: Scalar, const N: usize>(a: Columns<T, N>, b: Columns<T, N>) -> Columns<T, N> {
    let mut result = a;
    for part in 0..2 {
        for at in 0..N {
            result[part][at] = a[part][at] - b[part][at];
        }
    }
    result
}

#[inline(always)]
fn times<T: Scalar, const N: usize>(value: Columns<T, N>, factor: &Columns<T, N>) -> Columns<T, N> {
    let mut result = value;
    for at in 0..N {
        let (a, b) = (value[0][at], value[1][at]);
        result[0][at] = a * factor[0][at] - b * factor[1][at];
        result[1][at] = a * factor[1][at] + b * factor[0][at];
    }
    result
}

#[inline(always)]
fn multiply_add<T: Scalar, const N: usize, const FUSED: bool>(
    factor: T,
    value: Columns<T, N>,
    sum: Columns<T, N>,
) -> Columns<T, N> {
    let mut result = sum;
    for part in 0..2 {
        for at in 0..N {
            let (a, b) = (value[part][at], sum[part][at]);
            result[part][at] = if FUSED { factor.times_plus(a, b) } else { factor * a + b };
        }
    }
    result
}

impl<T: Scalar, const N: usize> Length for DirectSums<T, N> {
    fn len(&self) -> usize {
        self.columns.points * self.columns.columns
    }
}

impl<T: Scalar, const N: usize> Direction for DirectSums<T, N> {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<T: Scalar, const N: usize> Fft<T> for DirectSums<T, N> {
    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let (work, scratch) = scratch.split_at_mut(self.len());
        let lines = input.chunks_exact(self.len()).zip(output.chunks_exact_mut(self.len()));
        for (from, to) in lines {
            self.run(from, work, scratch);
            self.finish(work, to, scratch);
        }
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        self.process_immutable_with_scratch(input, output, scratch);
    }

    fn process_with_scratch(&self, buffer: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (work, scratch) = scratch.split_at_mut(self.len());
        for line in buffer.chunks_exact_mut(self.len()) {
            self.run(line, work, scratch);
            self.finish(work, line, scratch);
        }
    }

    fn get_inplace_scratch_len(&self) -> usize {
        let of_rows = match &self.rows {
            Rows::Fft(rows) => rows.get_inplace_scratch_len(),
            Rows::Sums(_) => self.len(),
        };
        self.len() + of_rows
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        self.get_inplace_scratch_len()
    }

    fn get_immutable_scratch_len(&self) -> usize {
        self.get_inplace_scratch_len()
    }
}

#[cfg(test)]
mod tests {
    use rustfft::FftPlanner;
    use rustfft::num_traits::ToPrimitive;

    use super::*;

    /// Compares transforms of a length with rustfft's, in both directions and in all three ways.
    fn check<T: Scalar + ToPrimitive>(points: usize, tolerance: f64) {
        let number = |value: f64| T::from_f64(value).unwrap();
        let wide = |value: T| value.to_f64().unwrap();
        for direction in [FftDirection::Forward, FftDirection::Inverse] {
            let fft = plan_direct_sums::<T>(points, direction).unwrap().unwrap();
            assert_eq!((fft.len(), fft.fft_direction()), (points, direction));
            let of = |at: usize| ((at * at + 7 * at) as f64).sin();
            let from: Vec<Complex<T>> = (0..2 * points)
                .map(|at| Complex::new(number(of(at)), number(of(at + 5 * points))))
                .collect();
            let mut expected: Vec<Complex<f64>> =
                from.iter().map(|value| Complex::new(wide(value.re), wide(value.im))).collect();
            FftPlanner::new().plan_fft(points, direction).process(&mut expected);
            let mut results = [from.clone(), from.clone(), from.clone()];
            let mut scratch = from.clone();
            scratch.resize(fft.get_inplace_scratch_len(), Complex::new(T::zero(), T::zero()));
            let [in_place, moved, kept] = &mut results;
            fft.process_with_scratch(in_place, &mut scratch);
            fft.process_outofplace_with_scratch(&mut from.clone(), moved, &mut scratch);
            fft.process_immutable_with_scratch(&from, kept, &mut scratch);
            for result in results {
                for (value, expected) in result.iter().zip(&expected) {
                    let value = Complex::new(wide(value.re), wide(value.im));
                    let error: Complex<f64> = value - *expected;
                    assert!(error.norm() < tolerance * points as f64, "{points} {error}");
                }
            }
        }
    }

    #[test]
    fn awkward_lengths_are_transformed() {
        // Of two awkward factors, of three, of even and odd ones, and of one with fast others.
        for points in [169, 299, 598, 722, 13 * 17 * 19, 4 * 13 * 13 * 5, 47 * 8, 53 * 30, 59 * 47]
        {
            check::<f64>(points, 1e-14);
        }
        for points in [169, 598, 928, 1517, 1682, 13 * 8, 13 * 17 * 19, 59 * 8, 59 * 58] {
            check::<f32>(points, 3e-6);
        }
    }

    #[test]
    fn other_lengths_are_left_to_rustfft() {
        for points in [1, 2, 13, 26, 61, 64, 117, 1000, 1300, 61 * 64, 67 * 13] {
            assert!(plan_direct_sums::<f64>(points, FftDirection::Forward).unwrap().is_none());
            assert!(plan_direct_sums::<f32>(points, FftDirection::Forward).unwrap().is_none());
        }
    }
}
