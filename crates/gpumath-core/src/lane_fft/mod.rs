//! Fourier transforms of several lines at once on the CPU, one line in each lane of the processor's
//! vectors.
//!
//! Lines that are neighbours in memory are read and written as they lie there, and no number has to
//! move from one lane to another. Others are moved through a core's cache (`line_moves`). `pulp`
//! chooses among the sets of instructions that a processor may have. The algorithm is Stockham's
//! with steps of 2 to 13 points (decimation in frequency), which goes through memory in order and
//! leaves the result in order; steps of larger primes are sums of products (`prime_steps`), and
//! lengths with still larger ones are convolutions (`chirp`). Real lines (`real_lanes`) are steps
//! around complex ones: of even lengths (`half_spectra`) or of odd ones (`odd_lines`). Some lines
//! are transformed one at a time: contiguous ones, complex (`contiguous_lines`) and real
//! (`real_lines`, `odd_line`, `whole_line`), and those whose lengths have prime factors from 13 to
//! 71 (`direct_sums`).

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

/// Repeats a block with a constant index below a count of at most [`MOST_POINTS`]. Compilers do not
/// unroll loops as long as these, and then keep the points in memory.
macro_rules! unrolled {
    ($index:ident < $count:expr, $body:block) => {
        unrolled!(@ $index < $count, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    };
    (@ $index:ident < $count:expr, $body:block, $($number:literal),*) => {
        $({
            const $index: usize = $number;
            if $index < $count $body
        })*
    };
}

mod butterflies;
mod chirp;
mod contiguous_lines;
mod direct_sums;
mod half_spectra;
mod instructions;
mod line_moves;
mod odd_line;
mod odd_lines;
mod order;
mod pairs;
mod prime_steps;
mod real_lanes;
mod real_lines;
mod rows;
mod strided_lines;
mod sums;
mod table;
mod transposition;
mod vectors;
mod whole_line;

use std::f64::consts::PI;
use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use self::butterflies::{MOST_POINTS, Roots, butterfly};
use self::chirp::Chirp;
use self::contiguous_lines::plan_contiguous;
pub(crate) use self::direct_sums::largest_prime_factor;
use self::direct_sums::plan_direct_sums;
pub(crate) use self::instructions::Instructions;
use self::instructions::{arch_of_at_most, instructions_for};
pub(crate) use self::line_moves::MOST_LANES;
pub(crate) use self::odd_line::{plan_odd_half, plan_odd_line};
pub(crate) use self::real_lanes::{HalfToReal, RealToHalf};
pub(crate) use self::real_lines::{plan_half_in_lanes, plan_real_in_lanes};
pub(crate) use self::rows::Rows;
pub(crate) use self::strided_lines::{LaneLines, StridedLines};
use self::sums::{MOST_SUMMED, units};
use self::vectors::lanes_of;
pub(crate) use self::vectors::{Complexes, Lane};
use crate::error::Result;

/// Most bytes of work memory: a part of a core's second cache.
const WORK_BYTES: usize = 1 << 19;

/// Points of the butterflies, in the order in which they are preferred.
const RADICES: [usize; 6] = [8, 4, 2, 7, 5, 3];

/// Points of further steps: butterflies up to 13, then sums of products.
const MORE_PRIMES: [usize; 27] = [
    11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113, 127,
];

/// Where a transform reads or writes the points of all lanes. Distances are in numbers.
#[derive(Clone, Copy)]
pub(crate) struct Side<T> {
    first: *mut T,
    /// From point to point.
    step: isize,
    /// From the real parts of a point to the imaginary ones; `None` where they take turns.
    parts: Option<isize>,
    /// From a point to one that is used later, and asked for when this one is used; 0 for none.
    ahead: isize,
}

impl<T: Lane> Side<T> {
    /// Returns lines that are neighbours in memory, given by their first points and the distance
    /// to the next ones in elements.
    pub(crate) fn of(first: *mut Complex<T>, along: isize) -> Self {
        Self { first: first.cast(), step: 2 * along, parts: None, ahead: 0 }
    }

    /// Asks for the point that is used later than this one.
    #[inline(always)]
    fn fetch<S: Simd>(self, point: *const T) {
        if self.ahead == 0 {
            return;
        }
        let lanes = lanes_of::<T, S>();
        let later = point.wrapping_offset(self.ahead);
        match self.parts {
            Some(distance) => {
                fetch_later(later, lanes);
                fetch_later(later.wrapping_offset(distance), lanes);
            }
            None => fetch_later(later, 2 * lanes),
        }
    }

    /// Returns a side that is read backward, which makes a transform the inverse one, and where its
    /// point with the index 0 is as the others count from it.
    fn backward(self, points: usize) -> (Self, *const T) {
        let end = self.at(points);
        (Self { step: -self.step, ..self }, end)
    }

    /// Like [`Self::backward`], of a side that is read forward.
    fn forward(self) -> (Self, *const T) {
        (self, self.first)
    }

    /// Returns where a point is.
    #[inline(always)]
    fn at(self, point: usize) -> *mut T {
        self.first.wrapping_offset(point as isize * self.step)
    }
}

/// Plans a transform of contiguous lines, one at a time, and with `plan_rows` a part of it; `None`
/// for lengths that rustfft transforms as fast.
pub(crate) fn plan_in_lanes<T: Lane + FftNum>(
    points: usize,
    direction: FftDirection,
    plan_rows: impl FnOnce(usize) -> Result<Arc<dyn Fft<T>>>,
) -> Result<Option<Arc<dyn Fft<T>>>> {
    match plan_contiguous(points, direction) {
        Some(fft) => Ok(Some(fft)),
        None => plan_direct_sums(points, direction, plan_rows),
    }
}

/// Returns whether a length has two factors of 5 and 7, which leave rustfft without vectors.
fn has_slow_factors(points: usize) -> bool {
    [25, 35, 49].iter().any(|&slow| points.is_multiple_of(slow))
}

/// Returns whether a line takes long by itself: sums for a large prime factor are computed for as
/// many others at once as there are of the other factors, which do not fill so many lanes here.
pub(crate) fn is_slow_alone(points: usize, lanes: usize) -> bool {
    let prime = largest_prime_factor(points);
    prime > 31 && points / prime < lanes
}

/// A planned transform, in both directions.
pub(crate) struct LaneFft<T> {
    points: usize,
    lanes: usize,
    steps: Vec<Step<T>>,
    /// In place of steps, for a large prime factor.
    chirp: Option<Chirp<T>>,
    arch: Instructions,
}

/// Asks for some numbers, which need not be valid, for a core's second cache.
#[inline(always)]
fn fetch_later<T>(first: *const T, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..count).step_by(64 / size_of::<T>()) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction ignores addresses that cannot be read.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, count);
}

/// A step of the transform: butterflies and the factors after them.
struct Step<T> {
    radix: usize,
    /// Number of butterflies with factors of their own.
    groups: usize,
    /// Number of butterflies with the same factors.
    repeats: usize,
    /// The factors of each group: real part, imaginary part, negated imaginary part.
    factors: Vec<[T; 3]>,
    roots: Roots<T>,
    /// The factors of the sums, where the radix is not that of a butterfly.
    terms: Vec<[T; 2]>,
}

impl<T: Lane> LaneFft<T> {
    /// Plans lines of `points`. `None` where they have no such transform: the number is zero or
    /// large, or has a prime factor for which others are faster, or the processor has no vectors.
    pub(crate) fn new(points: usize) -> Option<Self> {
        Self::suited(Instructions::Widest(Arch::new()), points)
    }

    /// Like [`Self::new`], with these instructions.
    fn suited(arch: Instructions, points: usize) -> Option<Self> {
        let plan = Self::with(arch, points)?;
        let prime = largest_prime_factor(points);
        (prime <= most_summed(plan.lanes) || plan.chirp.is_some()).then_some(plan)
    }

    /// Plans lines of at least two points, which may also have all prime factors up to 127, with
    /// the vectors that so many lines fill the fewest times. `None` for a single line.
    pub(crate) fn with_more_primes(points: usize, lines: usize) -> Option<Self> {
        let arch = instructions_for::<T>(lines).next()?;
        Self::with(arch, points).filter(|_| points > 1 && lines > 1)
    }

    /// Likewise, with the best vectors of which so many lines fill all lanes.
    fn filled_by(lines: usize, points: usize) -> Option<Self> {
        let (arch, _) = arch_of_at_most::<T>(lines)?;
        Self::with(Instructions::Widest(arch), points)
    }

    fn with(arch: Instructions, points: usize) -> Option<Self> {
        let lanes = arch.lanes::<T>();
        let mut plan = Self { points, lanes, steps: Vec::new(), chirp: None, arch };
        let has_lanes = (2..=MOST_LANES).contains(&lanes);
        if !has_lanes || points == 0 || plan.work_len() > WORK_BYTES / size_of::<T>() {
            return None;
        }
        let prime = largest_prime_factor(points);
        if prime > MOST_SUMMED {
            plan.chirp = Some(Chirp::with(arch, points, prime)?);
            return Some(plan);
        }
        let (mut rest, mut repeats) = (points, 1);
        while rest > 1 || plan.steps.is_empty() {
            let mut radices = RADICES.iter().chain(&MORE_PRIMES);
            let radix = match rest {
                1 => 1,
                // This is better cut into 4 and 4 than into 8 and 2.
                16 => 4,
                _ => *radices.find(|&&radix| rest.is_multiple_of(radix))?,
            };
            plan.steps.push(Step::new(radix, rest / radix, repeats));
            (rest, repeats) = (rest / radix, repeats * radix);
        }
        Some(plan)
    }

    /// Runs an operation with the instructions of the transform.
    pub(crate) fn dispatch<Op: WithSimd>(&self, operation: Op) -> Op::Output {
        self.arch.dispatch(operation)
    }

    /// Returns the number of points of a line.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of lines that are transformed at once.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// Returns how many lines vectors of the whole width would transform in about the same time.
    pub(crate) fn lanes_in_time(&self) -> usize {
        self.lanes * if self.arch.is_halved() { 2 } else { 1 }
    }

    /// Returns the bytes of the tables.
    pub(crate) fn table_bytes(&self) -> usize {
        let bytes = |step: &Step<T>| size_of_val(&step.factors[..]) + size_of_val(&step.terms[..]);
        let of_steps: usize = self.steps.iter().map(bytes).sum();
        of_steps + self.chirp.as_ref().map_or(0, Chirp::table_bytes)
    }

    /// Returns the numbers of work memory that a call needs: two copies of the lines, or of the
    /// longer ones of a convolution.
    pub(crate) fn work_len(&self) -> usize {
        let points = self.chirp.as_ref().map_or(self.points, |chirp| chirp.inner.points);
        points.saturating_mul(4 * self.lanes)
    }

    /// Returns where in the work memory lines may be before a call, and where they may be left.
    /// Points follow each other there, each a complex number for each lane.
    pub(crate) fn places(&self, work: *mut T) -> [*mut Complex<T>; 2] {
        let halves = self.halves(work);
        let of_steps = || [halves[1], halves[(self.steps.len() - 1) % 2]];
        self.chirp.as_ref().map_or_else(of_steps, |chirp| chirp.places(work)).map(<*mut T>::cast)
    }

    fn halves(&self, work: *mut T) -> [*mut T; 2] {
        [work, work.wrapping_add(self.work_len() / 2)]
    }

    /// Returns a place in the work memory where real and imaginary parts are apart.
    fn inside(&self, first: *mut T) -> Side<T> {
        let lanes = self.lanes as isize;
        Side { first, step: 2 * lanes, parts: Some(lanes), ahead: 0 }
    }

    /// Transforms as many lines as there are lanes, and multiplies the results by the factor.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for all points of all lanes. They are in one of the
    /// [`Self::places`] or apart from the work memory; and apart from each other, or equal. The
    /// work memory has [`Self::work_len`] numbers.
    pub(crate) unsafe fn run(
        &self,
        from: Side<T>,
        to: Side<T>,
        work: *mut T,
        (is_inverse, factor): (bool, T),
    ) {
        if let Some(chirp) = &self.chirp {
            // SAFETY: the caller guarantees the same.
            return unsafe { chirp.run(from, to, work, (is_inverse, factor)) };
        }
        let halves = self.halves(work);
        let last = self.steps.len() - 1;
        for (index, step) in self.steps.iter().enumerate() {
            let ends = (index == 0, index == last);
            let from = if ends.0 { from } else { self.inside(halves[(index + 1) % 2]) };
            let to = if ends.1 { to } else { self.inside(halves[index % 2]) };
            let is_backward = ends.0 && is_inverse;
            let (from, from_end) =
                if is_backward { from.backward(self.points) } else { from.forward() };
            let pass = Pass { step, from, from_end, to, factor };
            match step.radix {
                1 => pass.run::<1>(self.arch, ends),
                2 => pass.run::<2>(self.arch, ends),
                3 => pass.run::<3>(self.arch, ends),
                4 => pass.run::<4>(self.arch, ends),
                5 => pass.run::<5>(self.arch, ends),
                7 => pass.run::<7>(self.arch, ends),
                8 => pass.run::<8>(self.arch, ends),
                11 => pass.run::<11>(self.arch, ends),
                13 => pass.run::<13>(self.arch, ends),
                _ => pass.run_sums(self.arch, ends),
            }
        }
    }
}

impl<T: Lane> Step<T> {
    fn new(radix: usize, groups: usize, repeats: usize) -> Self {
        let root = |number: usize, of: usize| {
            let (sin, cos) = (2.0 * PI * number as f64 / of as f64).sin_cos();
            [cos, sin]
        };
        let factors = (0..groups).flat_map(|group| (1..radix).map(move |k| (group, k)));
        let factors = factors.map(|(group, k)| {
            let [cos, sin] = root(group * k, groups * radix);
            [cos, -sin, sin].map(T::rounded)
        });
        let mut roots = [[T::rounded(0.0); 2]; MOST_POINTS];
        for (number, parts) in roots.iter_mut().enumerate().take(radix) {
            *parts = root(number, radix).map(T::rounded);
        }
        let terms =
            if radix > MOST_POINTS { units(radix, FftDirection::Forward) } else { Vec::new() };
        Self { radix, groups, repeats, factors: factors.collect(), roots, terms }
    }
}

/// A step for one set of lines.
#[derive(Clone, Copy)]
struct Pass<'a, T> {
    step: &'a Step<T>,
    from: Side<T>,
    /// The point with the index 0 as others count from it: the end of a line that is read backward.
    from_end: *const T,
    to: Side<T>,
    factor: T,
}

impl<T: Lane> Pass<'_, T> {
    /// Runs the step, which has this radix. `ends`: whether it is the first and the last one.
    fn run<const R: usize>(self, arch: Instructions, ends: (bool, bool)) {
        match ends {
            (false, false) => arch.dispatch(PassOf::<T, R, false, false>(self)),
            (true, false) => arch.dispatch(PassOf::<T, R, true, false>(self)),
            (false, true) => arch.dispatch(PassOf::<T, R, false, true>(self)),
            (true, true) => arch.dispatch(PassOf::<T, R, true, true>(self)),
        }
    }

    /// Reads a point of all lines.
    #[inline(always)]
    fn read<S: Simd, const FIRST: bool>(&self, simd: S, index: usize) -> Complexes<T, S> {
        let Pass { from, from_end, .. } = *self;
        let source = from_end.wrapping_offset(index as isize * from.step);
        let source = if FIRST && index == 0 { from.first } else { source };
        if FIRST {
            from.fetch::<S>(source);
        }
        // SAFETY: the caller of `LaneFft::run` vouches for the memory of operands, and all points
        // are in the work memory.
        unsafe { Complexes::read::<FIRST>(simd, source, from.parts) }
    }

    /// Writes a point of all lines, and multiplies it by the factor if it is a result.
    #[inline(always)]
    fn write<S: Simd, const LAST: bool>(&self, simd: S, index: usize, value: Complexes<T, S>) {
        let Pass { to, factor, .. } = *self;
        let target = to.first.wrapping_offset(index as isize * to.step);
        if LAST {
            to.fetch::<S>(target);
        }
        let value = if LAST { value.scaled(simd, T::splat(simd, factor)) } else { value };
        // SAFETY: as for `read`.
        unsafe { value.write::<LAST>(simd, target, to.parts) };
    }
}

/// A step with its radix, and whether it is the first and the last one.
struct PassOf<'a, T, const R: usize, const FIRST: bool, const LAST: bool>(Pass<'a, T>);

impl<T: Lane, const R: usize, const FIRST: bool, const LAST: bool> WithSimd
    for PassOf<'_, T, R, FIRST, LAST>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (pass, step) = (self.0, self.0.step);
        let groups = if LAST { 1 } else { step.groups };
        let repeats = if FIRST { 1 } else { step.repeats };
        for group in 0..groups {
            let factors = &step.factors[group * (R - 1)..][..R - 1];
            for repeat in 0..repeats {
                let first = repeat + repeats * group;
                let between = repeats * step.groups;
                let mut points = [pass.read::<S, FIRST>(simd, first); R];
                unrolled!(J < R - 1, {
                    points[J + 1] = pass.read::<S, FIRST>(simd, first + (J + 1) * between);
                });
                let results = butterfly::<T, _, R>(simd, points, &step.roots);
                let first = repeat + repeats * R * group;
                unrolled!(K < R, {
                    let result = results[K];
                    let result =
                        if LAST || K == 0 { result } else { result.turned(simd, factors[K - 1]) };
                    pass.write::<S, LAST>(simd, first + K * repeats, result);
                });
            }
        }
    }
}

/// Returns the largest prime factor for which sums of products are worth while: their number grows
/// with its square, and each serves all lanes. The limits for 4 lanes and more were measured on
/// x86-64.
fn most_summed(lanes: usize) -> usize {
    match lanes {
        8.. => 107,
        4.. => 59,
        _ => 8 * lanes,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
