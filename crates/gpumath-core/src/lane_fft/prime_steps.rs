//! Steps of primes above 13: `sums` of products.

use pulp::{Simd, WithSimd};

use super::sums::sums;
use super::vectors::{Complexes, Lane};
use super::{Instructions, Pass};

impl<T: Lane> Pass<'_, T> {
    /// Runs the step. `ends`: whether it is the first and the last one.
    pub(super) fn run_sums(self, arch: Instructions, ends: (bool, bool)) {
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
        for group in 0..step.groups {
            for repeat in 0..step.repeats {
                let at = (group, repeat);
                sums(
                    simd,
                    step.radix,
                    &step.terms,
                    #[inline(always)]
                    |point| self.read(simd, at, point),
                    #[inline(always)]
                    |point, value| self.write(simd, at, point, value),
                );
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
