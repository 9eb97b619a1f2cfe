//! Complex Fourier transforms of several lines at once on the CPU, one line in each lane of the
//! processor's vectors.
//!
//! Lines that are neighbours in memory are read and written as they lie there, and no number has to
//! move from one lane to another. Others are copied (`strided_lines`) or transposed (`rows`) in a
//! core's cache. `pulp` chooses among the sets of instructions that a processor may have. The
//! algorithm is Stockham's with steps of 2 to 8 points (decimation in frequency), which goes
//! through memory in order and leaves the result in order. `direct_sums` transforms lines of
//! another kind: those whose lengths have prime factors from 13 to 71.

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

mod butterflies;
mod direct_sums;
mod rows;
mod strided_lines;
mod vectors;

use std::f64::consts::PI;
use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};
use rustfft::num_complex::Complex;

use self::butterflies::{MOST_POINTS, Roots, butterfly};
pub(crate) use self::direct_sums::{largest_prime_factor, plan_direct_sums};
pub(crate) use self::rows::Rows;
pub(crate) use self::strided_lines::StridedLines;
pub(crate) use self::vectors::Lane;
use self::vectors::{Complexes, CountLanes};

/// Most bytes of work memory: a part of a core's second cache.
const WORK_BYTES: usize = 1 << 19;

/// Points for which it is worth while to fill the lanes. There are at least two steps then, so that
/// the operand is read before it is written.
const LEAST_POINTS: usize = 16;

/// Points of the butterflies, in the order in which they are preferred.
const RADICES: [usize; 6] = [8, 4, 2, 7, 5, 3];

/// Returns the best set of instructions whose vectors have so many lanes at most, and the lanes.
fn arch_of_at_most<T: Lane>(lanes: usize) -> Option<(Arch, usize)> {
    let mut sets = vec![Arch::new()];
    #[cfg(target_arch = "x86_64")]
    sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
    let mut counted =
        sets.into_iter().map(|arch| (arch, arch.dispatch(CountLanes::<T>(PhantomData))));
    counted.find(|(_, count)| (2..=lanes).contains(count))
}

/// A planned transform, in both directions.
pub(crate) struct LaneFft<T> {
    points: usize,
    lanes: usize,
    steps: Vec<Step<T>>,
    arch: Arch,
}

/// What is asked for at each point that is read, so that it is in a cache when it is needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    /// Bytes from the point.
    pub(crate) distance: isize,
    /// Number of bytes.
    pub(crate) bytes: usize,
}

/// Asks for the cache lines of so many bytes, which need not be valid.
#[inline(always)]
fn fetch<T>(first: *const T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction ignores addresses that cannot be read.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_byte_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, bytes);
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
}

impl<T: Lane> LaneFft<T> {
    /// Plans lines of `points`. `None` where they have no such transform: the number has a prime
    /// factor above 7, or is large, or the processor has no vectors.
    pub(crate) fn new(points: usize) -> Option<Self> {
        Self::with(Arch::new(), points)
    }

    fn with(arch: Arch, points: usize) -> Option<Self> {
        let lanes = arch.dispatch(CountLanes::<T>(PhantomData));
        let mut plan = Self { points, lanes, steps: Vec::new(), arch };
        if lanes == 1 || points < LEAST_POINTS || plan.work_len() > WORK_BYTES / size_of::<T>() {
            return None;
        }
        let (mut rest, mut repeats) = (points, 1);
        while rest > 1 {
            // A remainder of 16 is better cut into 4 and 4 than into 8 and 2.
            let radix =
                if rest == 16 { 4 } else { *RADICES.iter().find(|&&r| rest.is_multiple_of(r))? };
            plan.steps.push(Step::new(radix, rest / radix, repeats));
            (rest, repeats) = (rest / radix, repeats * radix);
        }
        Some(plan)
    }

    /// Returns the number of points of a line.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of lines that are transformed at once.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// Returns the bytes of the tables.
    pub(crate) fn table_bytes(&self) -> usize {
        self.steps.iter().map(|step| size_of_val(step.factors.as_slice())).sum()
    }

    /// Returns the numbers of work memory that a call needs: two copies of the lines.
    pub(crate) fn work_len(&self) -> usize {
        self.points.saturating_mul(4 * self.lanes)
    }

    /// Returns where in the work memory lines may be before a call, and where they may be left.
    /// Points follow each other there, each a complex number for each lane.
    pub(crate) fn places(&self, work: &mut [T]) -> [*mut Complex<T>; 2] {
        let halves = self.halves(work);
        [halves[1], halves[(self.steps.len() - 1) % 2]].map(<*mut T>::cast)
    }

    fn halves(&self, work: &mut [T]) -> [*mut T; 2] {
        debug_assert!(work.len() >= self.work_len(), "work memory for all lines");
        let first = work.as_mut_ptr();
        [first, first.wrapping_add(self.work_len() / 2)]
    }

    /// Transforms as many lines as there are lanes, and multiplies the results by the factor. Each
    /// side has the address of its first points, which are neighbours, and the distance to the next
    /// points.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for all points of all lanes. They are in one of the
    /// [`Self::places`] or apart from the work memory; and apart from each other, or equal. The
    /// work memory has [`Self::work_len`] numbers.
    pub(crate) unsafe fn run(
        &self,
        from: (*const Complex<T>, isize),
        to: (*mut Complex<T>, isize),
        work: &mut [T],
        (is_inverse, factor): (bool, T),
        ahead: Ahead,
    ) {
        let halves = self.halves(work);
        let within = 2 * self.lanes as isize;
        let last = self.steps.len() - 1;
        for (index, step) in self.steps.iter().enumerate() {
            let ends = (index == 0, index == last);
            let (mut from, mut from_step) = (from.0.cast(), 2 * from.1);
            if !ends.0 {
                (from, from_step) = (halves[(index + 1) % 2].cast_const(), within);
            }
            let (mut to, mut to_step) = (to.0.cast(), 2 * to.1);
            if !ends.1 {
                (to, to_step) = (halves[index % 2], within);
            }
            // Backward through its points, a line has the inverse transform.
            let (from_end, from_step) = if ends.0 && is_inverse {
                (from.wrapping_offset(self.points as isize * from_step), -from_step)
            } else {
                (from, from_step)
            };
            let pass = Pass { step, from, from_end, from_step, ahead, to, to_step, factor };
            match step.radix {
                2 => pass.run::<2>(self.arch, ends),
                3 => pass.run::<3>(self.arch, ends),
                4 => pass.run::<4>(self.arch, ends),
                5 => pass.run::<5>(self.arch, ends),
                7 => pass.run::<7>(self.arch, ends),
                _ => pass.run::<8>(self.arch, ends),
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
        Self { radix, groups, repeats, factors: factors.collect(), roots }
    }
}

/// A step for one set of lines. Distances are those between points, in numbers.
#[derive(Clone, Copy)]
struct Pass<'a, T> {
    step: &'a Step<T>,
    from: *const T,
    /// The point with the index 0 as others count from it: the end of a line that is read backward.
    from_end: *const T,
    from_step: isize,
    ahead: Ahead,
    to: *mut T,
    to_step: isize,
    factor: T,
}

impl<T: Lane> Pass<'_, T> {
    /// Runs the step, which has this radix. `ends`: whether it is the first and the last one.
    fn run<const R: usize>(self, arch: Arch, ends: (bool, bool)) {
        match ends {
            (false, false) => arch.dispatch(PassOf::<T, R, false, false>(self)),
            (true, false) => arch.dispatch(PassOf::<T, R, true, false>(self)),
            (false, true) => arch.dispatch(PassOf::<T, R, false, true>(self)),
            (true, true) => debug_assert!(false, "lines have more points than a butterfly"),
        }
    }
}

/// Repeats a block with a constant index below a count of at most [`MOST_POINTS`]. Compilers do not
/// unroll loops as long as these, and then keep the points in memory.
macro_rules! unrolled {
    ($index:ident < $count:expr, $body:block) => {
        unrolled!($index < $count, $body, 0, 1, 2, 3, 4, 5, 6, 7)
    };
    ($index:ident < $count:expr, $body:block, $($number:literal),*) => {
        $({
            const $index: usize = $number;
            if $index < $count $body
        })*
    };
}

/// A step with its radix, and whether it is the first and the last one.
struct PassOf<'a, T, const R: usize, const FIRST: bool, const LAST: bool>(Pass<'a, T>);

impl<T: Lane, const R: usize, const FIRST: bool, const LAST: bool> WithSimd
    for PassOf<'_, T, R, FIRST, LAST>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Pass { step, to, to_step, factor, .. } = self.0;
        let groups = if LAST { 1 } else { step.groups };
        let repeats = if FIRST { 1 } else { step.repeats };
        let scale = T::splat(simd, factor);
        for group in 0..groups {
            let factors = &step.factors[group * (R - 1)..][..R - 1];
            for repeat in 0..repeats {
                let first = repeat + repeats * group;
                let between = repeats * step.groups;
                let mut points = [self.read(simd, first); R];
                unrolled!(J < R - 1, {
                    points[J + 1] = self.read(simd, first + (J + 1) * between);
                });
                let results = butterfly::<T, S, R>(simd, points, &step.roots);
                let first = to.wrapping_offset((repeat + repeats * R * group) as isize * to_step);
                let between = repeats as isize * to_step;
                unrolled!(K < R, {
                    let target = first.wrapping_offset(K as isize * between);
                    let result = results[K];
                    let result = if LAST {
                        result.scaled(simd, scale)
                    } else if K == 0 {
                        result
                    } else {
                        result.turned(simd, factors[K - 1])
                    };
                    let parts = [result.re, result.im];
                    let pair = if LAST { T::join(simd, parts) } else { parts };
                    // SAFETY: as for `read`.
                    unsafe { target.cast::<[T::Vector<S>; 2]>().write_unaligned(pair) };
                });
            }
        }
    }
}

impl<T: Lane, const R: usize, const FIRST: bool, const LAST: bool> PassOf<'_, T, R, FIRST, LAST> {
    /// Reads a point of all lines.
    #[inline(always)]
    fn read<S: Simd>(&self, simd: S, index: usize) -> Complexes<T, S> {
        let Pass { from, from_end, from_step, ahead, .. } = self.0;
        let source = from_end.wrapping_offset(index as isize * from_step);
        let source = if FIRST && index == 0 { from } else { source };
        if FIRST {
            fetch(source.wrapping_byte_offset(ahead.distance), ahead.bytes);
        }
        // SAFETY: the caller of `LaneFft::run` vouches for the memory of operands, and all points
        // are in the work memory.
        let pair = unsafe { source.cast::<[T::Vector<S>; 2]>().read_unaligned() };
        let [re, im] = if FIRST { T::split(simd, pair) } else { pair };
        Complexes { re, im }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
