//! Steps of primes above 13: sums of products, of points that mirror each other together.
//!
//! With s = x(j) + x(P - j) and d = x(j) - x(P - j), the points k and P - k of the result are
//! x(0) + Σ cos(2πjk/P) s ∓ i Σ sin(2πjk/P) d.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::vectors::{Complexes, Lane};
use super::{MORE_PRIMES, Pass};

/// Most points that mirror others.
const MAX_HALF: usize = MORE_PRIMES[MORE_PRIMES.len() - 1] / 2;

impl<T: Lane> Pass<'_, T> {
    /// Runs the step. `ends`: whether it is the first and the last one.
    pub(super) fn run_sums(self, arch: Arch, ends: (bool, bool)) {
        match ends {
            (false, false) => arch.dispatch(Sums::<T, false, false>(self)),
            (true, false) => arch.dispatch(Sums::<T, true, false>(self)),
            (false, true) => arch.dispatch(Sums::<T, false, true>(self)),
            (true, true) => arch.dispatch(Sums::<T, true, true>(self)),
        }
    }
}

/// A step, and whether it is the first and the last one.
struct Sums<'a, T, const FIRST: bool, const LAST: bool>(Pass<'a, T>);

impl<T: Lane, const FIRST: bool, const LAST: bool> WithSimd for Sums<'_, T, FIRST, LAST> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let step = self.0.step;
        let (prime, half) = (step.radix, step.radix / 2);
        let zero = Complexes::<T, S>::zero(simd);
        let mut pairs = [const { MaybeUninit::<[Complexes<T, S>; 2]>::uninit() }; MAX_HALF];
        let pairs = &mut pairs[..half];
        for group in 0..step.groups {
            for repeat in 0..step.repeats {
                let at = (group, repeat);
                let start = self.read(simd, at, 0);
                let mut total = start;
                for (j, pair) in pairs.iter_mut().enumerate() {
                    let a = self.read(simd, at, j + 1);
                    let b = self.read(simd, at, prime - 1 - j);
                    let sum = a.plus(simd, b);
                    pair.write([sum, a.minus(simd, b)]);
                    total = total.plus(simd, sum);
                }
                self.write(simd, at, 0, total);
                // Two points at a time, so that the processor need not wait for its sums.
                for k in (1..=half).step_by(2) {
                    let next = (k + 1).min(half);
                    let of = |k: usize| &step.terms[(k - 1) * half..][..half];
                    let (mut even, mut odd) = (start, zero);
                    let (mut next_even, mut next_odd) = (start, zero);
                    for ((term, next_term), pair) in of(k).iter().zip(of(next)).zip(&*pairs) {
                        // SAFETY: all pairs were written above.
                        let [sum, difference] = unsafe { pair.assume_init_ref() };
                        even = sum.times_plus(simd, T::splat(simd, term[0]), even);
                        odd = difference.times_plus(simd, T::splat(simd, term[1]), odd);
                        let [cos, sin] = *next_term;
                        next_even = sum.times_plus(simd, T::splat(simd, cos), next_even);
                        next_odd = difference.times_plus(simd, T::splat(simd, sin), next_odd);
                    }
                    self.write(simd, at, k, even.plus_i(simd, odd));
                    self.write(simd, at, prime - k, even.minus_i(simd, odd));
                    self.write(simd, at, next, next_even.plus_i(simd, next_odd));
                    self.write(simd, at, prime - next, next_even.minus_i(simd, next_odd));
                }
            }
        }
    }
}

impl<T: Lane, const FIRST: bool, const LAST: bool> Sums<'_, T, FIRST, LAST> {
    /// Reads a point of one of the transforms of the step: the group and the repeat.
    #[inline(always)]
    fn read<S: Simd>(
        &self,
        simd: S,
        (group, repeat): (usize, usize),
        point: usize,
    ) -> Complexes<T, S> {
        let step = self.0.step;
        let index = repeat + step.repeats * (group + point * step.groups);
        self.0.read::<S, FIRST>(simd, index)
    }

    /// Writes a point of the result, with its factor.
    #[inline(always)]
    fn write<S: Simd>(
        &self,
        simd: S,
        (group, repeat): (usize, usize),
        point: usize,
        value: Complexes<T, S>,
    ) {
        let step = self.0.step;
        let value = if LAST || point == 0 {
            value
        } else {
            value.turned(simd, step.factors[group * (step.radix - 1) + point - 1])
        };
        let index = repeat + step.repeats * (step.radix * group + point);
        self.0.write::<S, LAST>(simd, index, value);
    }
}
