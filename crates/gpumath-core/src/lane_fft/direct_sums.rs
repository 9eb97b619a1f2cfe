//! Lines whose length has prime factors that rustfft has no fast kernels for, by sums of products.
//!
//! A line of P times Q points is a matrix of P rows and Q columns, and a lane transforms a column:
//! with s = x(j) + x(P - j) and d = x(j) - x(P - j), the elements k and P - k of its transform are
//! x(0) + Σ cos(2πjk/P) s ∓ i Σ sin(2πjk/P) d. That is about P products for a number, and for P up
//! to 71 often takes less time than what rustfft does: for most of these lengths a convolution of
//! twice the length. After that, the rows are transformed: by rustfft, by sums of products too, or
//! several at once in lanes.

use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, FftNum, Length};

use super::sums::{sums, unit, units};
use super::vectors::{Complexes, Lane};
use super::{LaneFft, Side, arch_of_at_most};
use crate::error::Result;

/// Points of the longest row with slow factors that is transformed by sums of products.
const MAX_SLOW_ROW: usize = 28;

/// The longest columns, and rows, that are transformed by sums of products.
const MOST_POINTS: usize = 71;

/// The least prime factor that is not fast.
pub(super) const LEAST_PRIME: usize = 13;

/// Plans a transform by sums of products, and its rows of so many points by `plan_rows`; `None` for
/// lengths for which they are slower.
pub(super) fn plan_direct_sums<T: Lane + FftNum>(
    points: usize,
    direction: FftDirection,
    plan_rows: impl FnOnce(usize) -> Result<Arc<dyn Fft<T>>>,
) -> Result<Option<Arc<dyn Fft<T>>>> {
    let prime = largest_prime_factor(points);
    let others = points / prime.max(1);
    let Some((_, lanes)) = arch_of_at_most::<T>(others) else { return Ok(None) };
    if !are_faster(prime, others, lanes, size_of::<T>()) {
        return Ok(None);
    }
    let Some(columns) = ColumnSums::new(prime, others, direction) else { return Ok(None) };
    let is_short_and_slow = others <= MAX_SLOW_ROW && slow_factors(others) > 0;
    let is_left = (is_fast(others) && !is_short_and_slow) || others > MOST_POINTS;
    let sums = if is_left { None } else { ColumnSums::new(others, prime, direction) };
    // rustfft is slow at a row with another such factor. The row's own sums would have columns of
    // that factor, but a row of a few times the factor has fewer columns than a vector has lanes.
    let is_slow =
        !is_fast(others) && arch_of_at_most::<T>(others / largest_prime_factor(others)).is_none();
    let in_lanes = is_slow.then(|| LaneFft::filled_by(prime, others)).flatten();
    let rows = match (sums, in_lanes) {
        (Some(sums), _) => Rows::Sums(sums),
        (None, Some(fft)) => Rows::Lanes(fft),
        (None, None) => Rows::Fft(plan_rows(others)?),
    };
    let twiddles = columns.twiddles(direction);
    Ok(Some(Arc::new(DirectSums { columns, rows, direction, twiddles })))
}

/// Whether sums of P products, and what follows for Q, take less time than rustfft, as measured on
/// an AMD EPYC of family 26.
fn are_faster(prime: usize, others: usize, lanes: usize, bytes_of_lane: usize) -> bool {
    if !(LEAST_PRIME..=MOST_POINTS).contains(&prime) {
        return false;
    }
    if !is_fast(others) {
        // Where P - 1 has large factors too, rustfft has no convolution of a fast length.
        let is_slow_otherwise = !is_fast(prime - 1) || others > MOST_POINTS;
        return is_slow_otherwise || lanes >= 4 || prime + others <= 64;
    }
    // The time for the columns over that of rustfft, in whole vectors of 64 bytes.
    let of_prime = match prime {
        ..17 => 0.75,
        17..29 => 0.57,
        29..47 => 0.42,
        47..61 => 0.25,
        _ => 0.5,
    };
    let computed = others.next_multiple_of(lanes) as f64 / others as f64;
    let is_narrow = lanes * bytes_of_lane < 64;
    // Short rows are then sums too, which take little beside long columns.
    let is_little = prime >= 29 && others <= MAX_SLOW_ROW;
    let slow = if is_little { 0 } else { slow_factors(others) };
    let rest = 1.3f64.powi(slow as i32 + i32::from(is_narrow));
    of_prime * computed * rest < 0.95
}

/// Returns how many factors a row has for which rustfft has no vectors, or only in a longer line.
fn slow_factors(points: usize) -> usize {
    [5, 7, 11].iter().filter(|&&factor| points.is_multiple_of(factor)).count()
}

/// Whether rustfft has fast kernels for all factors.
pub(super) fn is_fast(points: usize) -> bool {
    largest_prime_factor(points) < LEAST_PRIME
}

/// Returns the largest prime factor; 1 for 1.
pub(crate) fn largest_prime_factor(mut number: usize) -> usize {
    let mut largest = 1;
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            number /= factor;
            largest = factor;
        }
        factor += 1;
    }
    largest.max(number)
}

/// A transform of lines of P times Q points.
struct DirectSums<T: Lane + FftNum> {
    columns: ColumnSums<T>,
    rows: Rows<T>,
    direction: FftDirection,
    /// exp(∓2πi·column·k/PQ), by groups of columns and k from 1 on.
    twiddles: Vec<Complex<T>>,
}

/// The second half of a transform.
enum Rows<T: Lane + FftNum> {
    Fft(Arc<dyn Fft<T>>),
    Sums(ColumnSums<T>),
    Lanes(LaneFft<T>),
}

/// Transforms of the columns of a matrix, of which there are as many as lanes or more.
struct ColumnSums<T> {
    arch: Arch,
    lanes: usize,
    points: usize,
    columns: usize,
    /// The cosine and ∓ the sine of 2πjk/P, by k from 1 to P / 2 and j from 1 to (P - 1) / 2.
    units: Vec<[T; 2]>,
}

/// The first columns of the groups that are transformed at once. The last group may begin with
/// columns of the one before it, which are then computed twice.
fn groups(columns: usize, lanes: usize) -> impl Iterator<Item = usize> {
    assert!(columns >= lanes, "{columns} columns do not fill {lanes} lanes");
    (0..columns.div_ceil(lanes)).map(move |group| (group * lanes).min(columns - lanes))
}

impl<T: Lane> ColumnSums<T> {
    /// Plans columns of at most [`MOST_POINTS`]. `None` if no vectors have so few lanes.
    fn new(points: usize, columns: usize, direction: FftDirection) -> Option<Self> {
        let (arch, lanes) = arch_of_at_most::<T>(columns)?;
        Some(Self { arch, lanes, points, columns, units: units(points, direction) })
    }

    /// Returns the factors between columns and rows: for each group of columns and each element of
    /// a column but the first, one for each column.
    fn twiddles(&self, direction: FftDirection) -> Vec<Complex<T>> {
        let mut twiddles = Vec::new();
        for first in groups(self.columns, self.lanes) {
            for k in 1..self.points {
                twiddles.extend((first..first + self.lanes).map(|column| {
                    let [re, im] = unit(column * k, self.points * self.columns, direction);
                    Complex::new(re, im)
                }));
            }
        }
        twiddles
    }

    /// Transforms all columns, and multiplies the results by the twiddle factors if there are any.
    fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>], twiddles: &[Complex<T>]) {
        self.arch.dispatch(RunColumns { sums: self, from, to, twiddles });
    }
}

struct RunColumns<'a, T> {
    sums: &'a ColumnSums<T>,
    from: &'a [Complex<T>],
    to: &'a mut [Complex<T>],
    twiddles: &'a [Complex<T>],
}

impl<T: Lane> WithSimd for RunColumns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            sums: &ColumnSums { lanes, points, columns, ref units, .. },
            from,
            to,
            twiddles,
        } = self;
        for (group, first) in groups(columns, lanes).enumerate() {
            sums(
                simd,
                points,
                units,
                #[inline(always)]
                |row| Complexes::load(simd, &from[row * columns + first..][..lanes]),
                #[inline(always)]
                |row, value| {
                    let at = |row: usize| (group * (points - 1) + row) * lanes;
                    let factors = row.checked_sub(1).map(|row| at(row)..at(row + 1));
                    let value = match factors.and_then(|range| twiddles.get(range)) {
                        Some(factors) => value.times(simd, Complexes::load(simd, factors)),
                        None => value,
                    };
                    value.store(simd, &mut to[row * columns + first..][..lanes]);
                },
            );
        }
    }
}

impl<T: Lane + FftNum> DirectSums<T> {
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
            Rows::Lanes(fft) => {
                let (turned, scratch) = scratch.split_at_mut(work.len());
                self.transpose(work, turned);
                self.run_lanes(fft, turned, to, scratch);
            }
        }
    }

    /// Transforms the columns of a matrix of Q rows and P columns, as many at once as there are
    /// lanes.
    fn run_lanes(
        &self,
        fft: &LaneFft<T>,
        from: &mut [Complex<T>],
        to: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let columns = self.columns.points;
        let how = (self.direction == FftDirection::Inverse, T::one());
        assert!(from.len() == self.len() && to.len() == self.len());
        assert!(2 * scratch.len() >= fft.work_len());
        for first in groups(columns, fft.lanes()) {
            let [from, to] = [&mut *from, &mut *to]
                .map(|side| Side::of(side[first..].as_mut_ptr(), columns as isize));
            // SAFETY: both matrices have as many rows as the lines have points, and so many columns
            // from the first one on as there are lanes. They and the work memory are apart.
            unsafe { fft.run(from, to, scratch.as_mut_ptr().cast(), how) };
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

impl<T: Lane + FftNum> Length for DirectSums<T> {
    fn len(&self) -> usize {
        self.columns.points * self.columns.columns
    }
}

impl<T: Lane + FftNum> Direction for DirectSums<T> {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<T: Lane + FftNum> Fft<T> for DirectSums<T> {
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
            Rows::Lanes(fft) => self.len() + fft.work_len() / 2,
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

    fn plan<T: Lane + FftNum>(points: usize, direction: FftDirection) -> Option<Arc<dyn Fft<T>>> {
        let rows = |others| Ok(FftPlanner::new().plan_fft(others, direction));
        plan_direct_sums::<T>(points, direction, rows).unwrap()
    }

    /// Compares transforms of a length with rustfft's, in both directions and in all three ways.
    fn check<T: Lane + FftNum + ToPrimitive>(points: usize, tolerance: f64) {
        let wide = |value: T| value.to_f64().unwrap();
        for direction in [FftDirection::Forward, FftDirection::Inverse] {
            // A processor may have no vectors, or longer ones than a line has columns.
            let Some(fft) = plan::<T>(points, direction) else { continue };
            assert_eq!((fft.len(), fft.fft_direction()), (points, direction));
            let of = |at: usize| T::rounded(((at * at + 7 * at) as f64).sin());
            let from: Vec<Complex<T>> =
                (0..2 * points).map(|at| Complex::new(of(at), of(at + 5 * points))).collect();
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
        for points in [
            169,
            299,
            598,
            722,
            13 * 17 * 19,
            4 * 13 * 13 * 5,
            47 * 8,
            53 * 30,
            43 * 14,
            59 * 47,
            2 * 47 * 47,
            3 * 53 * 47,
            2 * 59 * 59,
        ] {
            check::<f64>(points, 1e-14);
        }
        for points in [
            169,
            338,
            442,
            598,
            928,
            1517,
            1682,
            13 * 8,
            13 * 17 * 19,
            59 * 8,
            59 * 58,
            71 * 16,
            43 * 10,
            2 * 47 * 47,
            4 * 59 * 47,
            7 * 59 * 59,
            // Of fewer columns than the longest vectors have lanes.
            6 * 13 * 13,
            7 * 13 * 13,
        ] {
            check::<f32>(points, 3e-6);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn awkward_lengths_are_not_left_to_rustfft() {
        if std::arch::is_x86_feature_detected!("avx2") {
            for points in [299, 598, 722, 13 * 17 * 19, 59 * 47] {
                assert!(plan::<f64>(points, FftDirection::Forward).is_some());
                assert!(plan::<f32>(points, FftDirection::Forward).is_some());
            }
        }
    }

    #[test]
    fn other_lengths_are_left_to_rustfft() {
        for points in [0, 1, 2, 999_983, 13, 26, 71, 64, 117, 1000, 1300, 73 * 64, 13 * 73] {
            assert!(plan::<f64>(points, FftDirection::Forward).is_none(), "{points}");
            assert!(plan::<f32>(points, FftDirection::Forward).is_none(), "{points}");
        }
    }
}
