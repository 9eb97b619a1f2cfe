//! Cosine and sine transforms of two real lines at a time: as the two parts of a complex line.
//!
//! The transforms are linear, so those of the parts are the parts of the complex line's, which one
//! Fourier transform of complex numbers gives. Short lines are many, and a tile of them needs one
//! call of it. With w = exp(-iπk/2N) and m = N - k:
//!
//! | type | the Fourier transform's line | the result, from its result Z |
//! |---|---|---|
//! | I | mirrored, 2 (N - 1) points; sine: 2 (N + 1) | Z; sine: iZ |
//! | II | even elements, odd ones backwards | Y(k) = wZ(k) + w̄Z(m) |
//! | III | V(k) = w̄(X(k) - iX(m)), inversely | even and odd elements put back |
//! | IV, even N | two of N / 2 points, one for each part | turned, pairs put back |
//!
//! Lines of type IV of an odd length are transformed one by one.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::{CosineFactors, CosineStep};
use crate::error::Result;
use crate::fft::cpu::lines::{BufferLayout, Scalar, StridePair, exp_i, plan_line};

/// Elements of a line that are equally spaced, and so are their places in a buffer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The first element, and the distance to the next one.
    element: (isize, isize),
    place: (isize, isize),
    count: usize,
    sign: f64,
}

impl Piece {
    fn new(element: (isize, isize), place: (isize, isize), count: usize, sign: f64) -> Self {
        Self { element, place, count, sign }
    }

    /// The same elements of the line from its other end.
    fn reversed(self, points: isize) -> Self {
        Self { element: (points - 1 - self.element.0, -self.element.1), ..self }
    }
}

/// What is computed of complex lines.
pub(super) struct PairPlan<T: Scalar> {
    kind: u8,
    is_sine: bool,
    points: usize,
    /// Where the elements go before the Fourier transform, and where they come from after it.
    before: [Piece; 2],
    after: [Piece; 2],
    fft: Arc<dyn Fft<T>>,
    turns: Vec<Complex<T>>,
    /// Only of type IV; doubled.
    last_turns: Vec<Complex<T>>,
}

impl<T: Scalar> PairPlan<T> {
    /// Plans a transform of a type and length that [`Self::takes`].
    pub(super) fn new(kind: u8, points: usize, is_sine: bool) -> Result<Self> {
        let (n, half) = (points as isize, points / 2);
        let sign = if is_sine { -1.0 } else { 1.0 };
        let plain = [Piece::new((0, 1), (0, 1), points, 1.0), Piece::new((0, 1), (0, 1), 0, 1.0)];
        let folded = [
            Piece::new((0, 2), (0, 1), points.div_ceil(2), 1.0),
            Piece::new((1, 2), (n - 1, -1), half, sign),
        ];
        let paired = [
            Piece::new((0, 2), (0, 1), half, 1.0),
            Piece::new((n - 1, -2), (n / 2, 1), half, sign),
        ];
        let turn_back = |piece: Piece| if is_sine { piece.reversed(n) } else { piece };
        let (mut turns, mut last_turns) = (Vec::new(), Vec::new());
        let turn = |count: usize, angle: &dyn Fn(f64) -> f64| -> Vec<Complex<T>> {
            (0..count).map(|j| exp_i(-PI * angle(j as f64))).collect()
        };
        let (mut length, mut direction) = (points, FftDirection::Forward);
        let (before, after) = match kind {
            1 => {
                length = CosineStep::Extend.lengths(n as i64, is_sine).1 as usize;
                let mirrored = if is_sine {
                    Piece::new((n - 1, -1), (n + 2, 1), points, -1.0)
                } else {
                    Piece::new((n - 2, -1), (n, 1), points - 2, 1.0)
                };
                let first = isize::from(is_sine);
                let shifted = plain.map(|piece| Piece { place: (first, 1), ..piece });
                ([shifted[0], mirrored], shifted)
            }
            2 => {
                turns = turn(half + 1, &|k| k / (2 * points) as f64);
                (folded, plain.map(turn_back))
            }
            3 => {
                turns = turn(half + 1, &|k| k / (2 * points) as f64);
                direction = FftDirection::Inverse;
                (plain.map(turn_back), folded)
            }
            _ => {
                length = half;
                turns = turn(half, &|j| (4.0 * j + 1.0) / (4 * points) as f64);
                last_turns = turn(half, &|j| j / points as f64);
                for value in &mut last_turns {
                    *value = *value + *value;
                }
                let unsigned = paired.map(|piece| Piece { sign: 1.0, ..piece });
                (unsigned.map(turn_back), paired)
            }
        };
        let fft = plan_line(length, direction)?;
        Ok(Self { kind, is_sine, points, before, after, fft, turns, last_turns })
    }

    /// Returns whether lines of this type and length are transformed in pairs.
    pub(super) fn takes(kind: u8, points: i64) -> bool {
        kind != 4 || points % 2 == 0
    }

    /// Returns how lines follow each other in the buffer.
    pub(super) fn layout(&self) -> BufferLayout {
        let points = if self.kind == 1 { self.fft.len() } else { self.points };
        BufferLayout::new(points, size_of::<Complex<T>>())
    }

    /// Returns the complex numbers that the Fourier transform works in.
    pub(super) fn scratch_len(&self) -> usize {
        self.fft.get_inplace_scratch_len()
    }

    /// Transforms `lines` real lines. A last one without a partner is paired with zeros.
    ///
    /// # Safety
    /// - `from` is readable and `to` writable at `line * across + element * along` for all these
    ///   lines and their elements.
    /// - `buffer` has room for half as many lines, rounded up.
    pub(super) unsafe fn run(
        &self,
        factors: CosineFactors,
        (from, to): (*const T, *mut T),
        (along, across): (StridePair, StridePair),
        lines: usize,
        buffer: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let layout = self.layout();
        let buffer = &mut buffer[..layout.len(lines.div_ceil(2))];
        for piece in self.before {
            let sign = number::<T>(piece.sign);
            let next = across.from;
            let put = |place: &mut Complex<T>, element: *mut T, is_pair: bool| {
                // SAFETY: the caller guarantees that the elements of both lines can be read.
                unsafe {
                    let other = if is_pair { *element.offset(next) } else { T::zero() };
                    *place = Complex::new(*element * sign, other * sign);
                }
            };
            let strides = (along.from, across.from);
            // SAFETY: the caller guarantees that the lines are valid, and that there is room.
            unsafe {
                for_each_pair(piece, (from.cast_mut(), strides), lines, buffer, layout.pitch, put);
            }
        }
        for line in buffer.chunks_exact_mut(layout.pitch) {
            let line = &mut line[..layout.points];
            weigh(line, &self.before, self.points, factors.before);
            self.prepare(line);
            if !layout.is_gapless() {
                self.fft.process_with_scratch(line, scratch);
            }
        }
        if layout.is_gapless() {
            self.fft.process_with_scratch(buffer, scratch);
        }
        for line in buffer.chunks_exact_mut(layout.pitch) {
            let line = &mut line[..layout.points];
            self.finish(line);
            weigh(line, &self.after, self.points, factors.after);
        }
        for piece in self.after {
            let scale = number::<T>(piece.sign * factors.scale);
            let next = across.to;
            let put = |place: &mut Complex<T>, element: *mut T, is_pair: bool| {
                // SAFETY: the caller guarantees that the elements of both lines can be written.
                unsafe {
                    *element = place.re * scale;
                    if is_pair {
                        *element.offset(next) = place.im * scale;
                    }
                }
            };
            let strides = (along.to, across.to);
            // SAFETY: the caller guarantees that the lines are valid, and that there is room.
            unsafe { for_each_pair(piece, (to, strides), lines, buffer, layout.pitch, put) };
        }
    }

    /// Does in place what comes between the elements' way and the Fourier transform.
    fn prepare(&self, line: &mut [Complex<T>]) {
        match self.kind {
            1 if self.is_sine => {
                line[0] = Complex::new(T::zero(), T::zero());
                line[self.points + 1] = line[0];
            }
            3 => for_each_mirrored(line, &self.turns, |turn, low, high| {
                let (turned, back) = (Complex::new(-high.im, high.re), turn.conj());
                (back * (low - turned), turn * (low + turned))
            }),
            4 => for_each_half(line, &self.turns, |turn, a, b| {
                (Complex::new(a.re, b.re) * turn, Complex::new(a.im, b.im) * turn)
            }),
            _ => {}
        }
    }

    /// Does in place what comes after the Fourier transform.
    fn finish(&self, line: &mut [Complex<T>]) {
        match self.kind {
            1 if self.is_sine => {
                for value in line {
                    *value = Complex::new(-value.im, value.re);
                }
            }
            2 => {
                line[0] = line[0] + line[0];
                for_each_mirrored(line, &self.turns, |turn, low, high| {
                    let (sum, difference) = (low + high, low - high);
                    let turned = Complex::new(-difference.im, difference.re);
                    (sum * turn.re + turned * turn.im, turned * turn.re - sum * turn.im)
                });
            }
            4 => {
                for_each_half(line, &self.last_turns, |turn, a, b| {
                    let (a, b) = (a * turn, b * turn);
                    (Complex::new(a.re, b.re), Complex::new(-a.im, -b.im))
                });
            }
            _ => {}
        }
    }
}

fn number<T: Scalar>(value: f64) -> T {
    T::from_f64(value).unwrap_or_else(T::zero)
}

/// Multiplies the elements at the ends of a line, where they are in the buffer.
fn weigh<T: Scalar>(line: &mut [Complex<T>], pieces: &[Piece; 2], points: usize, ends: [f64; 2]) {
    for (element, factor) in [(0, ends[0]), (points as isize - 1, ends[1])] {
        if factor.to_bits() == 1f64.to_bits() {
            continue;
        }
        for Piece { element: (first, step), place, count, .. } in *pieces {
            let nth = (element - first) / step;
            let has = (element - first) % step == 0 && (0..count as isize).contains(&nth);
            if has && let Some(value) = line.get_mut((place.0 + nth * place.1) as usize) {
                *value = *value * number::<T>(factor);
            }
        }
    }
}

/// Replaces the elements k and N - k of a line, for all k from 1 up to the middle.
fn for_each_mirrored<T: Scalar>(
    line: &mut [Complex<T>],
    turns: &[Complex<T>],
    change: impl Fn(Complex<T>, Complex<T>, Complex<T>) -> (Complex<T>, Complex<T>),
) {
    let points = line.len();
    let (low, high) = line.split_at_mut(points / 2 + 1);
    let middle = low.len() - 1;
    let pairs = low[1..].iter_mut().zip(high.iter_mut().rev());
    for ((low, high), turn) in pairs.zip(&turns[1..]) {
        (*low, *high) = change(*turn, *low, *high);
    }
    if points.is_multiple_of(2) {
        low[middle] = change(turns[middle], low[middle], low[middle]).0;
    }
}

/// Replaces the elements j and N / 2 + j of a line.
fn for_each_half<T: Scalar>(
    line: &mut [Complex<T>],
    turns: &[Complex<T>],
    change: impl Fn(Complex<T>, Complex<T>, Complex<T>) -> (Complex<T>, Complex<T>),
) {
    let (ahead, behind) = line.split_at_mut(turns.len());
    for ((a, b), turn) in ahead.iter_mut().zip(behind).zip(turns) {
        (*a, *b) = change(*turn, *a, *b);
    }
}

/// Calls `work` for each element of a piece and each pair of lines, with its place in the buffer,
/// the element of the first line, and whether there is a second one.
///
/// # Safety
/// As for [`PairPlan::run`].
unsafe fn for_each_pair<T: Scalar>(
    piece: Piece,
    (first, (along, across)): (*mut T, (isize, isize)),
    lines: usize,
    buffer: &mut [Complex<T>],
    pitch: usize,
    work: impl Fn(&mut Complex<T>, *mut T, bool),
) {
    let (pairs, pair_steps) = (lines / 2, (pitch as isize, 2 * across));
    let element_steps = (piece.place.1, piece.element.1 * along);
    // SAFETY: the elements of a piece are in a line, and their places in a line of the buffer; the
    // caller guarantees that both are valid.
    unsafe {
        let place = buffer.as_mut_ptr().offset(piece.place.0);
        let element = first.offset(piece.element.0 * along);
        let start = |pair: usize, nth: usize, steps: (isize, isize)| {
            let (pair, nth) = (pair as isize, nth as isize);
            let place = place.offset(pair * pair_steps.0 + nth * steps.0);
            (place, element.offset(pair * pair_steps.1 + nth * steps.1))
        };
        if across.abs() < along.abs() {
            for nth in 0..piece.count {
                walk(start(0, nth, element_steps), pair_steps, pairs, |a, b| work(a, b, true));
            }
        } else {
            for pair in 0..pairs {
                let count = piece.count;
                walk(start(pair, 0, element_steps), element_steps, count, |a, b| work(a, b, true));
            }
        }
        if lines % 2 == 1 {
            let count = piece.count;
            walk(start(pairs, 0, element_steps), element_steps, count, |a, b| work(a, b, false));
        }
    }
}

/// Calls `work` at equally spaced places and elements.
///
/// # Safety
/// They are valid.
#[inline]
unsafe fn walk<T>(
    (place, element): (*mut Complex<T>, *mut T),
    (place_step, element_step): (isize, isize),
    count: usize,
    work: impl Fn(&mut Complex<T>, *mut T),
) {
    for nth in 0..count as isize {
        // SAFETY: the caller guarantees that they are valid.
        unsafe { work(&mut *place.offset(nth * place_step), element.offset(nth * element_step)) };
    }
}
