//! Transforms of contiguous lines, one at a time: lanes have points that are neighbours in memory.
//!
//! Each lane of the first step has a butterfly. The elements of its result become neighbours in
//! memory: eight vectors at a time are transposed in registers. From then on lanes have equal
//! elements of butterflies with the same factors, and nothing moves between them.

use std::f64::consts::PI;
use std::marker::PhantomData;
use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, FftNum, Length};

use super::butterflies::{MOST_POINTS, Roots, butterfly};
use super::has_slow_factors;
use super::instructions::{has_64_byte_vectors, sets_of_instructions};
use super::pairs::{PairSimd, Pairs, splat_pair, transpose};
use super::table::{LINE_BYTES, Table, vector_of_factors};
use super::vectors::{CountLanes, Lane};

/// Bytes of the longest line: a part of a core's second cache.
const MOST_BYTES: usize = 1 << 18;

/// Bytes of lines that do a step together, so that a processor need not wait for the one before it.
const BATCH_BYTES: usize = 1 << 12;

/// The distance in bytes at which addresses compete for the same places of a core's first cache.
const CACHE_PERIOD: usize = 1 << 12;

/// Plans a transform of contiguous lines; `None` for lengths that rustfft transforms as fast: those
/// whose power of two does not fill the lanes of the first step, short multiples of 9 and, where
/// vectors are shorter, those without its slow factors; also for long lines.
pub(super) fn plan_contiguous<T: Lane + FftNum>(
    points: usize,
    direction: FftDirection,
) -> Option<Arc<dyn Fft<T>>> {
    // Nine points in a row leave lanes empty, and rustfft is fast at them.
    let is_nine_wide = points <= 72 && points.is_multiple_of(9);
    if is_nine_wide || points > MOST_BYTES / size_of::<Complex<T>>() {
        return None;
    }
    let mut plans = sets_of_instructions().into_iter().filter_map(|arch| {
        let is_wide = has_64_byte_vectors::<T>(arch);
        let is_faster = is_wide || has_slow_factors(points);
        is_faster.then(|| ContiguousFft::with(arch, points, direction)).flatten()
    });
    Some(Arc::new(plans.next()?))
}

/// A planned transform of one line in one direction.
pub(super) struct ContiguousFft<T> {
    points: usize,
    direction: FftDirection,
    arch: Arch,
    steps: Vec<Step<T>>,
}

/// A step of the transform: butterflies and the factors after them.
struct Step<T> {
    radix: usize,
    /// Number of butterflies with factors of their own.
    groups: usize,
    /// Number of butterflies with the same factors.
    repeats: usize,
    /// The factors of each group, as the first step or another one needs them.
    factors: Table<T>,
    roots: Roots<T>,
}

/// Returns the radices of the steps. The first one is 4, 8 or 16, with an element for each
/// lane and with a butterfly for each lane.
fn radices(points: usize, lanes: usize, is_crowded: bool) -> Option<Vec<usize>> {
    let most = if is_crowded { 3 } else { 4 };
    let mut twos = points.checked_ilog2()?.min(points.trailing_zeros()) as usize;
    let mut rest = points >> twos;
    let mut radices = Vec::new();
    while twos > 0 {
        // Powers that are near each other.
        let power = twos.div_ceil(twos.div_ceil(most));
        let is_too_much = radices.is_empty() && points >> power < lanes;
        let power = if is_too_much { power.min(3) } else { power };
        radices.push(1 << power);
        twos -= power;
    }
    for radix in [7, 5, 3] {
        while rest.is_multiple_of(radix) {
            radices.push(radix);
            rest /= radix;
        }
    }
    let first = radices.first().copied().filter(|first| [4, 8, 16].contains(first))?;
    (rest == 1 && first >= lanes && points / first >= lanes).then_some(radices)
}

impl<T: Lane> ContiguousFft<T> {
    pub(super) fn with(arch: Arch, points: usize, direction: FftDirection) -> Option<Self> {
        let lanes = arch.dispatch(CountLanes::<T>(PhantomData)) / 2;
        if lanes == 0 {
            return None;
        }
        // Sixteen points so far from each other have no place in a core's first cache together.
        let is_crowded = (points * size_of::<Complex<T>>()).is_multiple_of(16 * CACHE_PERIOD);
        let (mut groups, mut repeats, mut steps) = (points, 1, Vec::new());
        for radix in radices(points, lanes, is_crowded)? {
            groups /= radix;
            let factors = if repeats == 1 {
                factors_of_vectors([radix, groups], lanes, direction)
            } else {
                factors_of_groups([radix, groups], direction)
            };
            let factors = Table::new(factors);
            let mut roots = [[T::rounded(0.0); 2]; MOST_POINTS];
            for (number, parts) in roots.iter_mut().enumerate().take(radix) {
                let (sin, cos) = (2.0 * PI * number as f64 / radix as f64).sin_cos();
                *parts = [cos, sin].map(T::rounded);
            }
            steps.push(Step { radix, groups, repeats, factors, roots });
            repeats *= radix;
        }
        Some(Self { points, direction, arch, steps })
    }

    /// Returns how many lines do a step together.
    fn batch(&self) -> usize {
        (BATCH_BYTES / size_of::<Complex<T>>() / self.points).max(1)
    }

    /// Returns the complex numbers of work memory: two copies of the lines, and what aligns them.
    fn work_len(&self) -> usize {
        2 * self.batch() * self.points + LINE_BYTES / size_of::<Complex<T>>()
    }
}

/// Returns exp(∓2πi·k·group/(radix·groups)).
fn factor(
    k: usize,
    group: usize,
    [radix, groups]: [usize; 2],
    direction: FftDirection,
) -> [f64; 2] {
    let (sin, cos) = (2.0 * PI * (k * group) as f64 / (radix * groups) as f64).sin_cos();
    [cos, if direction == FftDirection::Forward { -sin } else { sin }]
}

/// Returns the factors of the first step: for each vector of groups and each element but the first,
/// one for each group.
fn factors_of_vectors<T: Lane>(shape: [usize; 2], lanes: usize, direction: FftDirection) -> Vec<T> {
    let [radix, groups] = shape;
    let firsts = (0..groups).step_by(lanes).map(|first| first.min(groups - lanes));
    let vectors = firsts.flat_map(|first| (1..radix).map(move |k| (first, k)));
    vectors
        .flat_map(|(first, k)| {
            let groups = first..first + lanes;
            vector_of_factors(groups.map(move |group| factor(k, group, shape, direction)))
        })
        .collect()
}

/// Returns the factors of another step: for each group and each element but the first, the real
/// part, and the imaginary part negated and as it is.
fn factors_of_groups<T: Lane>(shape: [usize; 2], direction: FftDirection) -> Vec<T> {
    let [radix, groups] = shape;
    let pairs = (0..groups).flat_map(|group| (1..radix).map(move |k| (group, k)));
    pairs
        .flat_map(|(group, k)| {
            let [re, im] = factor(k, group, shape, direction);
            [re, -im, im].map(T::rounded)
        })
        .collect()
}

/// Transforms lines that follow each other, from other memory or in place.
struct RunLines<'a, T> {
    fft: &'a ContiguousFft<T>,
    from: Option<&'a [Complex<T>]>,
    to: &'a mut [Complex<T>],
    work: &'a mut [Complex<T>],
}

impl<T: Lane> WithSimd for RunLines<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { fft, from, to, work } = self;
        let batch = fft.batch() * fft.points;
        let skipped = work.as_ptr().align_offset(LINE_BYTES);
        let (first, second) = work[skipped..][..2 * batch].split_at_mut(batch);
        let halves = [first.as_mut_ptr(), second.as_mut_ptr()].map(<*mut Complex<T>>::cast::<T>);
        let last = fft.steps.len() - 1;
        let is_inverse = fft.direction == FftDirection::Inverse;
        for (number, lines) in to.chunks_mut(batch).enumerate() {
            let to = lines.as_mut_ptr();
            let from = from.map(|from| from[number * batch..][..lines.len()].as_ptr());
            let from = from.unwrap_or(to.cast_const());
            for (index, step) in fft.steps.iter().enumerate() {
                let source = if index == 0 { from.cast() } else { halves[(index + 1) % 2] };
                let target = if index == last { to.cast() } else { halves[index % 2] };
                let lines = lines.len() / fft.points;
                let run = RunStep { step, lines, from: source, to: target, is_inverse };
                match (step.radix, index == 0, index == last) {
                    (4, true, _) => simd.vectorize(FirstStep::<T, 4>(run)),
                    (8, true, _) => simd.vectorize(FirstStep::<T, 8>(run)),
                    (_, true, _) => simd.vectorize(FirstStep::<T, 16>(run)),
                    (radix, _, false) => run.later::<S, false>(simd, radix),
                    (radix, _, true) => run.later::<S, true>(simd, radix),
                }
            }
        }
    }
}

/// A step for some lines, with all points in `from` and room for them in `to`. They are apart.
#[derive(Clone, Copy)]
struct RunStep<'a, T> {
    step: &'a Step<T>,
    lines: usize,
    from: *const T,
    to: *mut T,
    is_inverse: bool,
}

impl<T: Lane> RunStep<'_, T> {
    /// Runs a step that is not the first one.
    #[inline(always)]
    fn later<S: Simd, const LAST: bool>(self, simd: S, radix: usize) {
        match radix {
            2 => simd.vectorize(LaterStep::<T, 2, LAST>(self)),
            3 => simd.vectorize(LaterStep::<T, 3, LAST>(self)),
            4 => simd.vectorize(LaterStep::<T, 4, LAST>(self)),
            5 => simd.vectorize(LaterStep::<T, 5, LAST>(self)),
            7 => simd.vectorize(LaterStep::<T, 7, LAST>(self)),
            8 => simd.vectorize(LaterStep::<T, 8, LAST>(self)),
            _ => simd.vectorize(LaterStep::<T, 16, LAST>(self)),
        }
    }

    /// Reads points from this one on, one for each lane.
    #[inline(always)]
    fn read<S: Simd>(&self, point: usize) -> Pairs<T, S> {
        let source = self.from.wrapping_add(2 * point).cast::<T::Vector<S>>();
        // SAFETY: all points are in `from`, and no step asks for others.
        Pairs(unsafe { source.read_unaligned() })
    }

    /// Writes points from this one on.
    #[inline(always)]
    fn write<S: Simd>(&self, point: usize, numbers: T::Vector<S>) {
        let target = self.to.wrapping_add(2 * point).cast::<T::Vector<S>>();
        // SAFETY: `to` has room for all points, and no step writes others.
        unsafe { target.write_unaligned(numbers) };
    }
}

/// The first step, with its radix.
struct FirstStep<'a, T, const R: usize>(RunStep<'a, T>);

impl<T: Lane, const R: usize> WithSimd for FirstStep<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let run = self.0;
        let Step { groups, ref factors, ref roots, .. } = *run.step;
        let on = PairSimd::new(simd, run.is_inverse);
        let lanes = size_of::<T::Vector<S>>() / size_of::<Complex<T>>();
        for line in 0..run.lines {
            let start = line * R * groups;
            let mut factors = factors.numbers().as_ptr().cast::<[T::Vector<S>; 2]>();
            for next in (0..groups).step_by(lanes) {
                // The last butterflies are computed together with some that were before.
                let first = next.min(groups - lanes);
                let mut points = [run.read::<S>(start + first); R];
                unrolled!(J < R - 1, {
                    points[J + 1] = run.read(start + first + (J + 1) * groups);
                });
                let mut results = butterfly::<T, _, R>(on, points, roots);
                unrolled!(K < R - 1, {
                    // SAFETY: there are factors for each vector of groups and each element but the
                    // first.
                    let factor = unsafe { factors.read_unaligned() };
                    factors = factors.wrapping_add(1);
                    results[K + 1] = results[K + 1].times(simd, factor);
                });
                unrolled!(PART < R.div_ceil(8), {
                    // Four rows have others beside them, which are not written.
                    let row = |at: usize| results[(8 * PART + at).min(R - 1)].0;
                    let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
                    let columns: &[_] = &transpose::<T, S>(simd, rows);
                    unrolled!(I < 8, {
                        let group = first + I * lanes / 8;
                        let row = 8 * PART + I * lanes % 8;
                        if row < R {
                            run.write::<S>(start + group * R + row, columns[I]);
                        }
                    });
                });
            }
        }
    }
}

/// Another step, with its radix, and whether it is the last one.
struct LaterStep<'a, T, const R: usize, const LAST: bool>(RunStep<'a, T>);

impl<T: Lane, const R: usize, const LAST: bool> WithSimd for LaterStep<'_, T, R, LAST> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let run = self.0;
        let Step { repeats, ref factors, ref roots, .. } = *run.step;
        let on = PairSimd::new(simd, run.is_inverse);
        let lanes = size_of::<T::Vector<S>>() / size_of::<Complex<T>>();
        let groups = if LAST { 1 } else { run.step.groups };
        for number in 0..run.lines * groups {
            let group = number % groups;
            let (factors, _) = factors.numbers()[group * 3 * (R - 1)..].as_chunks::<3>();
            let factors = &factors[..R - 1];
            for repeat in (0..repeats).step_by(lanes) {
                // A line has R times as many butterflies.
                let first = (number + (number - group) * (R - 1)) * repeats + repeat;
                let mut points = [run.read::<S>(first); R];
                unrolled!(J < R - 1, {
                    points[J + 1] = run.read(first + (J + 1) * repeats * groups);
                });
                let results = butterfly::<T, _, R>(on, points, roots);
                let first = number * R * repeats + repeat;
                unrolled!(K < R, {
                    let result = if LAST || K == 0 {
                        results[K]
                    } else {
                        let [re, negated, im] = factors[K - 1];
                        let im = splat_pair::<T, S>(simd, [negated, im]);
                        results[K].times(simd, [T::splat(simd, re), im])
                    };
                    run.write::<S>(first + K * repeats, result.0);
                });
            }
        }
    }
}

impl<T: Lane + FftNum> Length for ContiguousFft<T> {
    fn len(&self) -> usize {
        self.points
    }
}

impl<T: Lane + FftNum> Direction for ContiguousFft<T> {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<T: Lane + FftNum> Fft<T> for ContiguousFft<T> {
    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let run = RunLines { fft: self, from: Some(input), to: output, work: scratch };
        self.arch.dispatch(run);
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
        self.arch.dispatch(RunLines { fft: self, from: None, to: buffer, work: scratch });
    }

    fn get_inplace_scratch_len(&self) -> usize {
        self.work_len()
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        self.work_len()
    }

    fn get_immutable_scratch_len(&self) -> usize {
        self.work_len()
    }
}
