//! What comes before and after the Fourier transform of lines in the lanes of vectors, which is the
//! same in all lanes. [`super::pairs`] has the formulas.

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

use pulp::{Simd, WithSimd};
use rustfft::num_complex::Complex;

use super::lanes::{LanePlan, number};
use super::turns::eighth_turn;
use crate::fft::cpu::lines::Scalar;
use crate::lane_fft::{Complexes, Lane};

/// The lines' way into the Fourier transform.
pub(super) struct Before<'a, T: Scalar> {
    pub(super) plan: &'a LanePlan<T>,
    /// The first element of the lines, and the distance to the next one.
    pub(super) from: (*const T, isize),
    pub(super) to: *mut Complex<T>,
}

/// The lines' way out of it.
pub(super) struct After<'a, T: Scalar> {
    pub(super) plan: &'a LanePlan<T>,
    pub(super) from: *const Complex<T>,
    /// The first element of the lines, and the distance to the next one.
    pub(super) to: (*mut T, isize),
}

/// Reads complex numbers as they lie in memory, without splitting them into their parts.
///
/// # Safety
/// There is a number for each lane.
#[inline(always)]
unsafe fn read<T: Lane, S: Simd>(from: *const T) -> Complexes<T, S> {
    // SAFETY: the caller guarantees the same.
    let [re, im] = unsafe { from.cast::<[T::Vector<S>; 2]>().read_unaligned() };
    Complexes { re, im }
}

/// Writes complex numbers that [`read`] read.
///
/// # Safety
/// There is room for a number for each lane.
#[inline(always)]
unsafe fn write<T: Lane, S: Simd>(to: *mut T, value: Complexes<T, S>) {
    // SAFETY: the caller guarantees the same.
    unsafe { to.cast::<[T::Vector<S>; 2]>().write_unaligned([value.re, value.im]) };
}

#[inline(always)]
fn split<T: Lane, S: Simd>(simd: S, value: Complexes<T, S>) -> Complexes<T, S> {
    let [re, im] = T::split(simd, [value.re, value.im]);
    Complexes { re, im }
}

#[inline(always)]
fn join<T: Lane, S: Simd>(simd: S, value: Complexes<T, S>) -> Complexes<T, S> {
    let [re, im] = T::join(simd, [value.re, value.im]);
    Complexes { re, im }
}

/// Returns the factor as [`Complexes::turned`] takes it.
#[inline(always)]
fn turn<T: Scalar>(factor: Complex<T>) -> [T; 3] {
    [factor.re, factor.im, -factor.im]
}

/// Returns the conjugate of the factor in this way.
#[inline(always)]
fn turn_back<T: Scalar>(factor: Complex<T>) -> [T; 3] {
    [factor.re, -factor.im, factor.im]
}

impl<T: Scalar> WithSimd for Before<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LanePlan { kind, is_sine, points, fft, turns, .. } = self.plan;
        let (n, half) = (*points, points / 2);
        let minus = T::splat(simd, -T::one());
        match kind {
            1 => {
                let first = usize::from(*is_sine);
                let length = fft.points();
                for at in 0..n {
                    let value = self.get::<S>(at);
                    self.put(first + at, value);
                    if *is_sine {
                        self.put(length - 1 - at, value.scaled(simd, minus));
                    } else if at > 0 && at + 1 < n {
                        self.put(length - at, value);
                    }
                }
                if *is_sine {
                    self.put(0, Complexes::zero(simd));
                    self.put(n + 1, Complexes::zero(simd));
                }
            }
            2 => {
                for at in 0..n.div_ceil(2) {
                    self.put(at, self.get::<S>(2 * at));
                }
                for at in 0..half {
                    let value = self.get::<S>(2 * at + 1);
                    self.put(n - 1 - at, if *is_sine { value.scaled(simd, minus) } else { value });
                }
            }
            3 => {
                let turned = |at: usize| if *is_sine { n - 1 - at } else { at };
                self.put(0, self.get::<S>(turned(0)));
                for at in 1..n.div_ceil(2) {
                    let a = split(simd, self.get::<S>(turned(at)));
                    let b = split(simd, self.get::<S>(turned(n - at)));
                    let low = a.minus_i(simd, b).turned(simd, turn_back(turns.first[at]));
                    let high = a.plus_i(simd, b).turned(simd, turn(turns.first[at]));
                    self.put(at, join(simd, low));
                    self.put(n - at, join(simd, high));
                }
                if n.is_multiple_of(2) {
                    let value = split(simd, self.get::<S>(turned(half)));
                    let value = value.minus_i(simd, value);
                    self.put(half, join(simd, value.turned(simd, turn_back(turns.first[half]))));
                }
            }
            _ if self.plan.is_by_halves => {
                for at in 0..half {
                    let ends = (self.one::<S>(2 * at), self.one::<S>(n - 1 - 2 * at));
                    let (re, im) = if *is_sine { (ends.1, ends.0) } else { ends };
                    let value = Complexes { re, im }.turned(simd, turn(turns.first[at]));
                    self.put(at, join(simd, value));
                }
            }
            _ => {
                for (place, eighth) in turns.eighths.iter().enumerate() {
                    let at = eighth.element;
                    let value = self.get::<S>(if *is_sine { n - 1 - at } else { at });
                    self.put(
                        place,
                        if eighth.is_negative { value.scaled(simd, minus) } else { value },
                    );
                }
            }
        }
    }
}

impl<T: Scalar> Before<'_, T> {
    /// Reads an element of all lines; the vectors hold as many as are transformed at once.
    #[inline(always)]
    fn get<S: Simd>(&self, at: usize) -> Complexes<T, S> {
        // SAFETY: `LanePlan::run` gives a place with so many lines.
        unsafe { read(self.from.0.offset(at as isize * self.from.1)) }
    }

    /// Reads an element of as many lines as there are lanes.
    #[inline(always)]
    fn one<S: Simd>(&self, at: usize) -> T::Vector<S> {
        // SAFETY: as above.
        unsafe {
            self.from.0.offset(at as isize * self.from.1).cast::<T::Vector<S>>().read_unaligned()
        }
    }

    #[inline(always)]
    fn put<S: Simd>(&self, place: usize, value: Complexes<T, S>) {
        // SAFETY: the places are below the length of the Fourier transform.
        unsafe { write(self.to.add(place * self.plan.fft.lanes()).cast::<T>(), value) };
    }
}

impl<T: Scalar> WithSimd for After<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LanePlan { kind, is_sine, points, turns, .. } = self.plan;
        let (n, half) = (*points, points / 2);
        let minus = T::splat(simd, -T::one());
        match kind {
            1 if !is_sine => {
                for at in 0..n {
                    self.put(at, self.get::<S>(at));
                }
            }
            1 => {
                for at in 0..n {
                    let value = split(simd, self.get::<S>(at + 1));
                    self.put(at, join(simd, Complexes::zero(simd).plus_i(simd, value)));
                }
            }
            2 => {
                let turned = |at: usize| if *is_sine { n - 1 - at } else { at };
                let value = self.get::<S>(0);
                self.put(turned(0), value.plus(simd, value));
                for at in 1..n.div_ceil(2) {
                    let (a, b) =
                        (split(simd, self.get::<S>(at)), split(simd, self.get::<S>(n - at)));
                    let (low, high) = mirrored(simd, a, b, turns.first[at]);
                    self.put(turned(at), join(simd, low));
                    self.put(turned(n - at), join(simd, high));
                }
                if n.is_multiple_of(2) {
                    let factor = T::splat(simd, turns.first[half].re + turns.first[half].re);
                    self.put(turned(half), self.get::<S>(half).scaled(simd, factor));
                }
            }
            3 => {
                for at in 0..n.div_ceil(2) {
                    self.put(2 * at, self.get::<S>(at));
                }
                for at in 0..half {
                    let value = self.get::<S>(n - 1 - at);
                    self.put(2 * at + 1, if *is_sine { value.scaled(simd, minus) } else { value });
                }
            }
            _ if self.plan.is_by_halves => {
                for at in 0..half {
                    let value = split(simd, self.get::<S>(at)).turned(simd, turn(turns.last[at]));
                    self.put_one::<S>(2 * at, value.re);
                    let last = if *is_sine { value.im } else { T::multiply(simd, value.im, minus) };
                    self.put_one::<S>(n - 1 - 2 * at, last);
                }
            }
            _ => {
                let zero = Complexes::<T, S>::zero(simd);
                for (at, factors) in turns.of_eighths.iter().enumerate() {
                    let a = split(simd, self.get::<S>(1 + 2 * at));
                    let b = split(simd, self.get::<S>(n - 1 - 2 * at));
                    let (sum, turned) = (a.plus(simd, b), zero.minus_i(simd, a.minus(simd, b)));
                    let [of_sum, of_turned, of_sum_high, of_turned_high] = *factors;
                    let low = sum.scaled(simd, T::splat(simd, of_sum));
                    let low = turned.times_plus(simd, T::splat(simd, of_turned), low);
                    let high = sum.scaled(simd, T::splat(simd, of_sum_high));
                    let high = turned.times_plus(simd, T::splat(simd, of_turned_high), high);
                    self.put(at, join(simd, low));
                    self.put(n - 1 - at, join(simd, high));
                }
                let factor = number::<T>(2.0 * eighth_turn(half, *is_sine)[0]);
                self.put(half, self.get::<S>(0).scaled(simd, T::splat(simd, factor)));
            }
        }
    }
}

impl<T: Scalar> After<'_, T> {
    #[inline(always)]
    fn get<S: Simd>(&self, place: usize) -> Complexes<T, S> {
        // SAFETY: the places are below the length of the Fourier transform.
        unsafe { read(self.from.add(place * self.plan.fft.lanes()).cast::<T>()) }
    }

    /// Writes an element of all lines; the vectors hold as many as are transformed at once.
    #[inline(always)]
    fn put<S: Simd>(&self, at: usize, value: Complexes<T, S>) {
        // SAFETY: `LanePlan::run` gives a place with so many lines.
        unsafe { write(self.to.0.offset(at as isize * self.to.1), value) };
    }

    /// Writes an element of as many lines as there are lanes.
    #[inline(always)]
    fn put_one<S: Simd>(&self, at: usize, value: T::Vector<S>) {
        // SAFETY: as above.
        unsafe {
            self.to.0.offset(at as isize * self.to.1).cast::<T::Vector<S>>().write_unaligned(value);
        };
    }
}

/// Returns the elements of a transform of type II that come from numbers that mirror each other.
#[inline(always)]
fn mirrored<T: Scalar, S: Simd>(
    simd: S,
    a: Complexes<T, S>,
    b: Complexes<T, S>,
    factor: Complex<T>,
) -> (Complexes<T, S>, Complexes<T, S>) {
    let sum = a.plus(simd, b);
    let turned = Complexes::zero(simd).plus_i(simd, a.minus(simd, b));
    let (re, im) = (T::splat(simd, factor.re), T::splat(simd, factor.im));
    let negated = T::splat(simd, -factor.im);
    (
        turned.times_plus(simd, im, sum.scaled(simd, re)),
        sum.times_plus(simd, negated, turned.scaled(simd, re)),
    )
}
