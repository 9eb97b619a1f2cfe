//! Cosine and sine transforms of one line: what comes before and after the Fourier transform is
//! computed while the line is in a cache. [`super`] says what that is.

use std::array;
use std::sync::Arc;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::turns::{EighthRun, eighth_turns_of};
use super::{CosineFactors, CosineStep};
use crate::error::Result;
use crate::fft::cpu::lines::{LineKernel, Scalar, plan_half_line, plan_line, plan_real_line};

/// The Fourier transform, and the numbers on the unit circle that a type needs.
pub(super) struct LinePlan<T: Scalar> {
    kind: u8,
    is_sine: bool,
    points: usize,
    fourier: Fourier<T>,
    before: Vec<Complex<T>>,
    after: Vec<Complex<T>>,
    /// Only of type IV of an odd length.
    eighths: Vec<EighthRun>,
}

enum Fourier<T: Scalar> {
    Forward(Arc<dyn RealToComplex<T>>),
    Half(Arc<dyn ComplexToReal<T>>),
    Complex(Arc<dyn Fft<T>>),
}

impl<T: Scalar> LinePlan<T> {
    /// Plans a transform of type 1 to 4, which has at least two points if it is a cosine transform
    /// of type 1.
    pub(super) fn new(kind: u8, points: i64, is_sine: bool) -> Result<Self> {
        let half = points / 2;
        let turns = |count: i64, turn: &dyn Fn(f64) -> f64| -> Vec<Complex<T>> {
            let of = |j: i64| {
                let (sine, cosine) = (std::f64::consts::PI * turn(j as f64)).sin_cos();
                let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
                Complex { re: number(cosine), im: number(sine) }
            };
            (0..count).map(of).collect()
        };
        let n = points as f64;
        let length = CosineStep::Extend.lengths(points, is_sine).1 as usize;
        let (mut before, mut after, mut eighths) = (Vec::new(), Vec::new(), Vec::new());
        let fourier = match kind {
            1 => Fourier::Forward(plan_real_line(length)?),
            2 => {
                after = turns(half + 1, &|j| j / (2.0 * n));
                Fourier::Forward(plan_real_line(points as usize)?)
            }
            3 => {
                before = turns(half + 1, &|j| j / (2.0 * n));
                Fourier::Half(plan_half_line(points as usize)?)
            }
            _ if points % 2 == 0 => {
                before = turns(half, &|j| -(4.0 * j + 1.0) / (4.0 * n));
                after = turns(half, &|j| -j / n);
                Fourier::Complex(plan_line(half as usize, FftDirection::Forward)?)
            }
            _ => {
                eighths = EighthRun::all_of(points as usize);
                Fourier::Forward(plan_real_line(points as usize)?)
            }
        };
        Ok(Self { kind, is_sine, points: points as usize, fourier, before, after, eighths })
    }

    /// Returns the numbers of a real line, and the complex ones of its transform and of the work
    /// memory.
    fn lengths(&self) -> (usize, usize, usize) {
        match &self.fourier {
            Fourier::Forward(plan) => (plan.len(), plan.complex_len(), plan.get_scratch_len()),
            Fourier::Half(plan) => (plan.len(), plan.complex_len(), plan.get_scratch_len()),
            Fourier::Complex(plan) => (0, plan.len(), plan.get_inplace_scratch_len()),
        }
    }
}

/// A plan with the factors of one execution.
pub(super) struct CosineKernel<'a, T: Scalar> {
    pub(super) plan: &'a LinePlan<T>,
    pub(super) factors: CosineFactors,
}

impl<T: Scalar> LineKernel for CosineKernel<'_, T> {
    type Real = T;
    type From = T;
    type To = T;
    type Scratch = Complex<T>;

    fn lengths(&self) -> (usize, usize, usize) {
        let (real, complex, scratch) = self.plan.lengths();
        (self.plan.points, self.plan.points, real.div_ceil(2) + complex + scratch)
    }

    fn run(&self, from: &mut [T], to: &mut [T], scratch: &mut [Complex<T>]) {
        let (real, complex, _) = self.plan.lengths();
        let (line, rest) = scratch.split_at_mut(real.div_ceil(2));
        let (spectrum, scratch) = rest.split_at_mut(complex);
        // SAFETY: a complex number is two real ones side by side, without padding.
        let line = unsafe { std::slice::from_raw_parts_mut(line.as_mut_ptr().cast::<T>(), real) };
        let LinePlan { kind, is_sine, .. } = *self.plan;
        let CosineFactors { scale, before, after } = self.factors;
        let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
        weigh(from, before.map(number));
        let scale = number(scale);
        // Of every other element.
        let sign = if is_sine { -T::one() } else { T::one() };
        if is_sine && matches!(kind, 3 | 4) {
            from.reverse();
        }
        match &self.plan.fourier {
            Fourier::Forward(plan) => {
                match kind {
                    1 => extend(from, line, is_sine),
                    2 => fold2(from, line, sign),
                    _ => EighthRun::copy::<T, _>(&self.plan.eighths, from, line),
                }
                let done = plan.process_with_scratch(line, spectrum, scratch);
                debug_assert!(done.is_ok(), "the lengths come from the plan");
                match kind {
                    1 => take(spectrum, to, scale, is_sine),
                    2 => turn2(spectrum, to, scale + scale, &self.plan.after),
                    _ => turn4(spectrum, to, scale + scale, is_sine),
                }
                if is_sine && kind == 2 {
                    to.reverse();
                }
            }
            Fourier::Half(plan) => {
                turn3(from, spectrum, &self.plan.before);
                let done = plan.process_with_scratch(spectrum, line, scratch);
                debug_assert!(done.is_ok(), "the lengths come from the plan and the ends are real");
                unfold3(line, to, scale, sign);
            }
            Fourier::Complex(plan) => {
                pack4(from, spectrum, &self.plan.before);
                plan.process_with_scratch(spectrum, scratch);
                unpack4(spectrum, to, scale + scale, sign, &self.plan.after);
            }
        }
        weigh(to, after.map(number));
    }
}

/// Multiplies the elements at the ends.
fn weigh<T: Scalar>(line: &mut [T], [first, last]: [T; 2]) {
    if let Some(element) = line.first_mut() {
        *element = *element * first;
    }
    if let Some(element) = line.last_mut() {
        *element = *element * last;
    }
}

fn extend<T: Scalar>(from: &[T], line: &mut [T], is_sine: bool) {
    let points = from.len();
    if is_sine {
        let (ahead, behind) = line.split_at_mut(points + 1);
        ahead[0] = T::zero();
        behind[0] = T::zero();
        ahead[1..].copy_from_slice(from);
        for (to, value) in behind[1..].iter_mut().zip(from.iter().rev()) {
            *to = -*value;
        }
    } else {
        let (ahead, behind) = line.split_at_mut(points);
        ahead.copy_from_slice(from);
        for (to, value) in behind.iter_mut().zip(from[1..].iter().rev().skip(1)) {
            *to = *value;
        }
    }
}

fn take<T: Scalar>(spectrum: &[Complex<T>], to: &mut [T], scale: T, is_sine: bool) {
    if is_sine {
        for (to, value) in to.iter_mut().zip(&spectrum[1..]) {
            *to = -value.im * scale;
        }
    } else {
        for (to, value) in to.iter_mut().zip(spectrum) {
            *to = value.re * scale;
        }
    }
}

fn fold2<T: Scalar>(from: &[T], line: &mut [T], sign: T) {
    let (even, odd) = line.split_at_mut(from.len().div_ceil(2));
    let (pairs, rest) = from.as_chunks();
    for (&[a, b], (even, odd)) in pairs.iter().zip(even.iter_mut().zip(odd.iter_mut().rev())) {
        (*even, *odd) = (a, b * sign);
    }
    if let ([value], Some(last)) = (rest, even.last_mut()) {
        *last = *value;
    }
}

fn turn2<T: Scalar>(spectrum: &[Complex<T>], to: &mut [T], scale: T, turns: &[Complex<T>]) {
    let points = to.len();
    to[0] = spectrum[0].re * scale;
    let half = points / 2;
    if points.is_multiple_of(2) {
        let (value, turn) = (spectrum[half], turns[half]);
        to[half] = (turn.re * value.re + turn.im * value.im) * scale;
    }
    // Elements k and N - k come from the same number.
    let (ahead, behind) = to.split_at_mut(half + 1);
    let pairs = ahead[1..].iter_mut().zip(behind.iter_mut().rev());
    for ((to, mirrored), (value, turn)) in pairs.zip(spectrum[1..].iter().zip(&turns[1..])) {
        *to = (turn.re * value.re + turn.im * value.im) * scale;
        *mirrored = (turn.im * value.re - turn.re * value.im) * scale;
    }
}

fn turn3<T: Scalar>(from: &[T], spectrum: &mut [Complex<T>], turns: &[Complex<T>]) {
    let points = from.len();
    spectrum[0] = Complex { re: from[0], im: T::zero() };
    let pairs = from[1..].iter().zip(from[1..].iter().rev());
    for ((to, turn), (a, b)) in spectrum[1..].iter_mut().zip(&turns[1..]).zip(pairs) {
        to.re = turn.re * *a + turn.im * *b;
        to.im = turn.im * *a - turn.re * *b;
    }
    if points.is_multiple_of(2)
        && let Some(last) = spectrum.last_mut()
    {
        last.im = T::zero();
    }
}

fn unfold3<T: Scalar>(line: &[T], to: &mut [T], scale: T, sign: T) {
    let (even, odd) = line.split_at(to.len().div_ceil(2));
    let (pairs, rest) = to.as_chunks_mut();
    for ([a, b], (even, odd)) in pairs.iter_mut().zip(even.iter().zip(odd.iter().rev())) {
        (*a, *b) = (*even * scale, *odd * (scale * sign));
    }
    if let ([value], Some(last)) = (rest, even.last()) {
        *value = *last * scale;
    }
}

fn pack4<T: Scalar>(from: &[T], spectrum: &mut [Complex<T>], turns: &[Complex<T>]) {
    let pairs = from.iter().step_by(2).zip(from.iter().rev().step_by(2));
    for ((to, turn), (a, b)) in spectrum.iter_mut().zip(turns).zip(pairs) {
        *to = Complex { re: *a, im: *b } * *turn;
    }
}

fn unpack4<T: Scalar>(
    spectrum: &[Complex<T>],
    to: &mut [T],
    scale: T,
    sign: T,
    turns: &[Complex<T>],
) {
    let last = to.len() - 1;
    for (j, (value, turn)) in spectrum.iter().zip(turns).enumerate() {
        let turned = *value * *turn;
        to[2 * j] = turned.re * scale;
        to[last - 2 * j] = -turned.im * scale * sign;
    }
}

/// Turns the numbers of the spectrum by odd eighths of a circle. Each but the first one gives two
/// elements, which are mirror images.
fn turn4<T: Scalar>(spectrum: &[Complex<T>], to: &mut [T], scale: T, is_sine: bool) {
    let (points, half) = (to.len(), to.len() / 2);
    let turns: [[T; 4]; 4] = array::from_fn(|k| eighth_turns_of(k, points, is_sine));
    let (low, rest) = to.split_at_mut(half);
    let (middle, high) = rest.split_at_mut(1);
    middle[0] = spectrum[0].re * scale * turns[half % 4][0];
    // The odd numbers, then the even ones backwards, which stand for those after the middle.
    let odd = spectrum[1..].iter().step_by(2).copied();
    let even = spectrum[1..].iter().skip(1).step_by(2).rev().map(Complex::conj);
    let pairs = low.iter_mut().zip(high.iter_mut().rev());
    for (((to, mirrored), value), turn) in pairs.zip(odd.chain(even)).zip(turns.iter().cycle()) {
        *to = (value.re * turn[0] + value.im * turn[1]) * scale;
        *mirrored = (value.re * turn[2] + value.im * turn[3]) * scale;
    }
}
