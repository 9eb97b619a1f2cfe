//! Sums of products along lines in host memory.
//!
//! Vectors of neighbouring results stay in registers while all their products are added up. `pulp`
//! chooses among the sets of instructions that a processor may have.

#![expect(
    clippy::inline_always,
    reason = "vector code is compiled for an instruction set only where it is inlined into the \
              function that has chosen it"
)]

use std::num::Wrapping;
use std::ops::{Add, Mul, Range, Sub};

use pulp::{Simd, WithSimd};

use crate::memory::Pod;

/// Vectors of results that are computed at a time, or twice as many: a processor begins so many
/// instructions before the first one is done.
const SOME: usize = 4;

/// The longest vector, in bytes.
pub(super) const LONGEST_VECTOR: usize = 64;

/// The two precisions, and integers. A complex number is two real ones.
pub(super) trait Real:
    Pod + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    /// The number 0.
    const ZERO: Self;

    /// As many numbers as an instruction processes.
    type Vector<S: Simd>: Copy;

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// Returns a vector of this number.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// Returns `a * b + c`, rounded once or twice.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
}

macro_rules! real {
    ($real:ident, $vector:ident, $splat:ident, $multiply_add:ident) => {
        impl Real for $real {
            const ZERO: Self = 0.0;

            type Vector<S: Simd> = S::$vector;

            fn is_finite(self) -> bool {
                <$real>::is_finite(self)
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$multiply_add(a, b, c)
            }
        }
    };
}

/// Integers of 64 bits, for which processors have no instruction of vectors. Four numbers at a time
/// let the compiler combine others.
impl Real for Wrapping<u64> {
    const ZERO: Self = Self(0);

    type Vector<S: Simd> = [Self; 4];

    fn is_finite(self) -> bool {
        true
    }

    #[inline(always)]
    fn splat<S: Simd>(_: S, value: Self) -> [Self; 4] {
        [value; 4]
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(_: S, a: [Self; 4], b: [Self; 4], mut c: [Self; 4]) -> [Self; 4] {
        for (c, (a, b)) in c.iter_mut().zip(a.into_iter().zip(b)) {
            *c += a * b;
        }
        c
    }
}

real!(f32, f32s, splat_f32s, mul_add_e_f32s);
real!(f64, f64s, splat_f64s, mul_add_e_f64s);

/// A line of the operand and the line of the filter that it is multiplied by.
#[derive(Clone, Copy)]
pub(super) struct Term {
    /// Where the operand's line begins, in real numbers.
    pub(super) from: isize,
    /// Where the filter's line begins, in real numbers.
    pub(super) taps: isize,
}

/// Neighbouring elements of a line of the result, with `PARTS` real numbers each.
pub(super) struct Strip<'a, R, const PARTS: usize> {
    pub(super) to: *mut R,
    /// How many real numbers are computed.
    pub(super) count: usize,
    /// The operand: what the first element of a filter's line is multiplied by for the first
    /// element of the result.
    pub(super) from: *const R,
    /// The filter, with its lines reversed.
    pub(super) taps: *const R,
    pub(super) taps_of_line: usize,
    /// From what one of these is multiplied by to what the next one is, in real numbers.
    pub(super) step: usize,
    pub(super) terms: &'a [Term],
}

impl<R: Real, const PARTS: usize> WithSimd for Strip<'_, R, PARTS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = size_of::<R::Vector<S>>() / size_of::<R>();
        // Without instructions of vectors, a complex number is longer than a vector.
        if lanes < PARTS {
            // SAFETY: whoever makes a strip guarantees its memory.
            return unsafe { self.compute_exactly(0, &(0..usize::MAX)) };
        }
        let (mut at, mut rest) = (0, self.count);
        // SAFETY: whoever makes a strip guarantees its memory, which holds one vector in any case.
        unsafe {
            // Complex results take twice as many sums.
            while PARTS == 1 && rest >= 2 * SOME * lanes {
                self.compute::<S, { 2 * SOME }>(simd, at, lanes * (2 * SOME - 1));
                (at, rest) = (at + 2 * SOME * lanes, rest - 2 * SOME * lanes);
            }
            while rest >= SOME * lanes {
                self.compute::<S, SOME>(simd, at, lanes * (SOME - 1));
                (at, rest) = (at + SOME * lanes, rest - SOME * lanes);
            }
            if self.count < lanes {
                let mut room = [R::ZERO; LONGEST_VECTOR];
                Self { to: room.as_mut_ptr(), ..self }.compute::<S, 1>(simd, 0, 0);
                self.to.copy_from_nonoverlapping(room.as_ptr(), self.count);
                return;
            }
            // The last vector computes some results once more.
            match rest.div_ceil(lanes) {
                0 => {}
                1 => self.compute::<S, 1>(simd, self.count - lanes, 0),
                2 => self.compute::<S, 2>(simd, at, rest - lanes),
                3 => self.compute::<S, 3>(simd, at, rest - lanes),
                _ => self.compute::<S, SOME>(simd, at, rest - lanes),
            }
        }
    }
}

impl<R: Real, const PARTS: usize> Strip<'_, R, PARTS> {
    /// Computes `N` vectors of results, from the real number `at` on: one after the other, but the
    /// last one `last` numbers after the first.
    ///
    /// # Safety
    /// All that they need can be read, and their places can be written.
    #[inline(always)]
    unsafe fn compute<S: Simd, const N: usize>(&self, simd: S, at: usize, last: usize) {
        let lanes = size_of::<R::Vector<S>>() / size_of::<R>();
        let place = |vector: usize| if vector + 1 == N { last } else { vector * lanes };
        let mut sums = [[R::splat(simd, R::ZERO); N]; PARTS];
        // SAFETY: the caller guarantees the memory.
        unsafe {
            for term in self.terms {
                let mut from = self.from.offset(term.from).add(at);
                let mut taps = self.taps.offset(term.taps);
                for _ in 0..self.taps_of_line {
                    let mut factors = [R::splat(simd, R::ZERO); PARTS];
                    for (part, factor) in factors.iter_mut().enumerate() {
                        *factor = R::splat(simd, *taps.add(part));
                    }
                    for vector in 0..N {
                        let numbers = from.add(place(vector)).cast::<R::Vector<S>>();
                        let numbers = numbers.read_unaligned();
                        for (sums, &factor) in sums.iter_mut().zip(&factors) {
                            sums[vector] = R::multiply_add(simd, numbers, factor, sums[vector]);
                        }
                    }
                    from = from.wrapping_add(self.step);
                    taps = taps.wrapping_add(PARTS);
                }
            }
            let to = self.to.add(at);
            for (vector, (&first, &second)) in sums[0].iter().zip(&sums[PARTS - 1]).enumerate() {
                let to = to.add(place(vector));
                if PARTS == 1 {
                    to.cast::<R::Vector<S>>().write_unaligned(first);
                    continue;
                }
                // Products with the real parts of the filter, and with the imaginary ones.
                let [real, imaginary] =
                    [&raw const first, &raw const second].map(<*const _>::cast::<R>);
                for at in (0..lanes).step_by(2) {
                    *to.add(at) = *real.add(at) - *imaginary.add(at + 1);
                    *to.add(at + 1) = *real.add(at + 1) + *imaginary.add(at);
                }
            }
        }
    }

    /// Computes the strip without products with elements beyond the ends of the operand's lines:
    /// an infinity of the filter times such a zero would be a NaN. The strip begins with the number
    /// `at` of a line, and the operand's own elements are at `points`.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    pub(super) unsafe fn compute_exactly(&self, at: usize, points: &Range<usize>) {
        for place in (0..self.count).step_by(PARTS) {
            let mut sums = [R::ZERO; 2];
            let first = (at + place) / self.step;
            for term in self.terms {
                for tap in 0..self.taps_of_line {
                    if !points.contains(&(first + tap)) {
                        continue;
                    }
                    let number = |array: *const R, offset: isize, part: usize| {
                        // SAFETY: the caller guarantees the memory, of such elements.
                        unsafe { *array.offset(offset).add(part) }
                    };
                    let from = term.from + (place + tap * self.step) as isize;
                    let taps = term.taps + (tap * PARTS) as isize;
                    let [x, h] = [(self.from, from), (self.taps, taps)]
                        .map(|(array, at)| [number(array, at, 0), number(array, at, PARTS - 1)]);
                    if PARTS == 1 {
                        sums[0] = sums[0] + x[0] * h[0];
                    } else {
                        sums[0] = sums[0] + (x[0] * h[0] - x[1] * h[1]);
                        sums[1] = sums[1] + (x[0] * h[1] + x[1] * h[0]);
                    }
                }
            }
            // SAFETY: the caller guarantees the result.
            unsafe { self.to.add(place).copy_from_nonoverlapping(sums.as_ptr(), PARTS) };
        }
    }
}

#[cfg(test)]
#[path = "host_lines_tests.rs"]
mod tests;
