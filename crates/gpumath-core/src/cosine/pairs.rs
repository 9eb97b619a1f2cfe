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
//! | IV, odd N | every eighth element | turned by odd eighths of a circle |

use std::sync::Arc;

use pulp::Arch;
use rustfft::num_complex::Complex;
use rustfft::num_traits::Zero;
use rustfft::{Fft, FftDirection};

use super::balance::{self, Neighbours};
use super::lanes::is_long;
use super::order::{ComplexLines, Order, RealLines};
use super::turns::{EighthRun, Turns, eighth_turn};
use super::{CosineFactors, CosineStep, passes};
use crate::error::Result;
use crate::fft::cpu::lines::{BufferLayout, Scalar, StridePair, plan_line};
use crate::lane_fft::{LaneFft, Rows};

/// What is computed of complex lines.
pub(super) struct PairPlan<T: Scalar> {
    kind: u8,
    is_sine: bool,
    points: usize,
    /// Where the elements go before the Fourier transform, and where they come from after it.
    before: Order,
    after: Order,
    fft: Arc<dyn Fft<T>>,
    /// The same of several lines at once, where that takes less time.
    in_lanes: Option<LaneFft<T>>,
    /// The processor's instructions, by which lines are added up.
    arch: Arch,
    turns: Turns<T>,
    /// Only of type IV of an odd length: the elements for all places.
    eighths: Vec<EighthRun>,
}

impl<T: Scalar> PairPlan<T> {
    /// Plans a transform of type 1 to 4, of at least two points if it is a cosine transform of type
    /// 1.
    pub(super) fn new(kind: u8, points: usize, is_sine: bool) -> Result<Self> {
        let folded = Order::Folded { odd_sign: if is_sine { -1.0 } else { 1.0 } };
        let straight = Order::Straight { first: 0, is_reversed: is_sine };
        let turns = Turns::new(kind, points, is_sine);
        let (mut length, mut direction) = (points, FftDirection::Forward);
        let (before, after) = match kind {
            1 => {
                length = CosineStep::Extend.lengths(points as i64, is_sine).1 as usize;
                let ahead = Order::Straight { first: usize::from(is_sine), is_reversed: false };
                (ahead, ahead)
            }
            2 => (folded, straight),
            3 => {
                direction = FftDirection::Inverse;
                (straight, folded)
            }
            _ if !points.is_multiple_of(2) => {
                (straight, Order::Straight { first: 0, is_reversed: false })
            }
            _ => {
                length = points / 2;
                (if is_sine { Order::FoldedReversed } else { folded }, folded)
            }
        };
        let fft = plan_line(length, direction)?;
        let is_by_eighths = kind == 4 && !points.is_multiple_of(2);
        let eighths = if is_by_eighths { EighthRun::all_of(points) } else { Vec::new() };
        let in_lanes = LaneFft::new(length).filter(|_| eighths.is_empty());
        let in_lanes = in_lanes.filter(LaneFft::suits_rows);
        let arch = Arch::new();
        Ok(Self { kind, is_sine, points, before, after, fft, in_lanes, arch, turns, eighths })
    }

    /// Returns how lines follow each other in the buffer.
    pub(super) fn layout(&self) -> BufferLayout {
        let points = if self.kind == 1 { self.fft.len() } else { self.points };
        BufferLayout::new(points, size_of::<Complex<T>>())
    }

    /// Returns how many lines are transformed at once, if they are.
    pub(super) fn lines_at_once(&self) -> Option<usize> {
        self.in_lanes.as_ref().map(|fft| 2 * fft.lanes())
    }

    /// Returns the complex numbers that a line and the Fourier transform are worked on in.
    pub(super) fn scratch_len(&self) -> usize {
        let of_line = if self.eighths.is_empty() { 0 } else { self.points };
        let of_lanes = self.in_lanes.as_ref().map_or(0, |fft| fft.work_len().div_ceil(2));
        of_lanes.max(of_line + self.fft.get_inplace_scratch_len())
    }

    /// Transforms real lines. `buffer` has room for half as many complex ones, rounded up.
    ///
    /// # Safety
    /// `from` is readable and `to` writable at `line * across + element * along` for all these
    /// lines and their elements.
    pub(super) unsafe fn run(
        &self,
        factors: CosineFactors,
        (from, to): (*mut T, *mut T),
        (along, across): (StridePair, StridePair),
        lines: usize,
        buffer: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let real = |first, along, across| RealLines {
            first,
            along,
            across,
            points: self.points,
            count: lines,
        };
        let (from, to) = (real(from, along.from, across.from), real(to, along.to, across.to));
        let buffer = &mut buffer[..self.layout().len(lines.div_ceil(2))];
        let (pitch, points) = (self.layout().pitch, self.layout().points);
        let complex = ComplexLines { first: buffer.as_mut_ptr(), pitch };
        // SAFETY: the caller guarantees that the lines are valid, and the buffer has room.
        unsafe { self.before.read(from, complex) };
        let mut repairs = Vec::new();
        for (index, line) in buffer.chunks_exact_mut(pitch).enumerate() {
            let line = &mut line[..points];
            weigh(line, self.before, self.points, factors.before);
            if let Some(parts) = self.parts_of(line, lines - 2 * index) {
                // SAFETY: these are the parts of the line.
                unsafe {
                    let found = balance::repairs(parts, |sums| self.arch.dispatch(sums));
                    parts.scale(&found);
                    if !found.is_empty() {
                        repairs.push((index, found));
                    }
                }
            }
            self.prepare(line, scratch);
        }
        if self.eighths.is_empty() {
            self.transform(buffer, scratch);
        }
        for line in buffer.chunks_exact_mut(pitch) {
            let line = &mut line[..points];
            self.finish(line);
            weigh(line, self.after, self.points, factors.after);
        }
        for (index, repairs) in repairs {
            let line = &mut buffer[index * pitch..][..points];
            if let Some(parts) = self.parts_of(line, 2) {
                // SAFETY: as above.
                unsafe { parts.scale_back(&repairs) };
            }
        }
        let complex = ComplexLines { first: buffer.as_mut_ptr(), pitch };
        // SAFETY: as above.
        unsafe { self.after.write(complex, to, number(factors.scale)) };
    }

    /// Returns the two real lines that are the parts of this one; `None` where it has one, of the
    /// lines that are left, or where the parts are transformed apart from each other.
    fn parts_of(&self, line: &mut [Complex<T>], left: usize) -> Option<Neighbours<T>> {
        let are_apart = self.kind == 4 && self.points.is_multiple_of(2);
        // For type I, the line goes on with what mirrors the elements.
        let begin = usize::from(self.kind == 1 && self.is_sine);
        let elements = &mut line[begin..][..self.points];
        let (first, points) = (elements.as_mut_ptr().cast::<T>(), elements.len());
        let parts = Neighbours { first, along: 2, points, width: 2, used: 2 };
        (left > 1 && !are_apart).then_some(parts)
    }

    /// Transforms the lines of the buffer, which follow each other as the layout says.
    fn transform(&self, buffer: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let layout = self.layout();
        let rest = match &self.in_lanes {
            Some(fft) => self.transform_in_lanes(fft, buffer, scratch),
            None => buffer,
        };
        if layout.is_gapless() {
            self.fft.process_with_scratch(rest, scratch);
        } else {
            for line in rest.chunks_exact_mut(layout.pitch) {
                self.fft.process_with_scratch(&mut line[..layout.points], scratch);
            }
        }
    }

    /// Transforms the first lines, as many as fill half of the lanes or more, or two thirds where
    /// lines are long, and returns the rest.
    fn transform_in_lanes<'a>(
        &self,
        fft: &LaneFft<T>,
        buffer: &'a mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> &'a mut [Complex<T>] {
        let BufferLayout { points, pitch } = self.layout();
        let (work, lanes) = (parts_of(scratch), fft.lanes());
        let how = (self.fft.fft_direction() == FftDirection::Inverse, T::one());
        let all = buffer.len() / pitch;
        let filled = all % lanes;
        let is_worthwhile =
            if is_long::<T>(fft.points()) { 3 * filled >= 2 * lanes } else { 2 * filled >= lanes };
        let left = if is_worthwhile { 0 } else { filled };
        let (ahead, rest) = buffer.split_at_mut((all - left) * pitch);
        for group in ahead.chunks_mut(lanes * pitch) {
            // A line has two transforms of half the points, or one.
            for first in (0..points).step_by(fft.points()) {
                let count = group.len() / pitch;
                let first = group[first..].as_mut_ptr();
                let rows = Rows { first, across: pitch as isize, count };
                // SAFETY: these are parts of the lines of the group, which nothing else uses, and
                // the work memory is as long as it has to be.
                unsafe { fft.run_rows(rows, rows, 1, work, how) };
            }
        }
        rest
    }

    /// Does in place what comes between the elements' way and the Fourier transform; for type IV of
    /// an odd length, that and all that follows.
    fn prepare(&self, line: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        match self.kind {
            1 if self.is_sine => {
                let (ahead, behind) = line.split_at_mut(self.points + 1);
                (ahead[0], behind[0]) = (Complex::zero(), Complex::zero());
                passes::mirror(&ahead[1..], &mut behind[1..], -T::one());
            }
            1 => {
                let (ahead, behind) = line.split_at_mut(self.points);
                passes::mirror(&ahead[1..self.points - 1], behind, T::one());
            }
            3 => {
                let (middle, turns) = (self.points / 2, &self.turns.first);
                if self.points.is_multiple_of(2) {
                    let value = line[middle];
                    let turned = Complex::new(value.re + value.im, value.im - value.re);
                    line[middle] = turns[middle].conj() * turned;
                }
                let (low, high) = halves(line);
                passes::turn3(low, high, &turns[1..]);
            }
            4 if !self.eighths.is_empty() => self.by_eighths(line, scratch),
            4 => {
                let (ahead, behind) = line.split_at_mut(self.points / 2);
                passes::pack4(ahead, behind, &self.turns.first);
            }
            _ => {}
        }
    }

    /// Transforms a line of an odd length by type IV.
    fn by_eighths(&self, line: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (spectrum, scratch) = scratch.split_at_mut(line.len());
        EighthRun::copy::<T, _>(&self.eighths, line, spectrum);
        self.fft.process_with_scratch(spectrum, scratch);
        let (ahead, behind) = line.split_at_mut(self.points / 2);
        let turn = eighth_turn(self.points / 2, self.is_sine)[0];
        behind[0] = (spectrum[0] + spectrum[0]) * number::<T>(turn);
        let turns = &self.turns.of_eighths;
        passes::turn_by_eighths(ahead, &mut behind[1..], &spectrum[1..], turns);
    }

    /// Does in place what comes after the Fourier transform.
    fn finish(&self, line: &mut [Complex<T>]) {
        match self.kind {
            1 if self.is_sine => passes::multiply_by_i(line),
            2 => {
                let (middle, turns) = (self.points / 2, &self.turns.first);
                line[0] = line[0] + line[0];
                if self.points.is_multiple_of(2) {
                    line[middle] = (line[middle] + line[middle]) * turns[middle].re;
                }
                let (low, high) = halves(line);
                passes::turn2(low, high, &turns[1..]);
            }
            4 if !self.eighths.is_empty() => {}
            4 => {
                let (ahead, behind) = line.split_at_mut(self.points / 2);
                passes::unpack4(ahead, behind, &self.turns.last);
            }
            _ => {}
        }
    }
}

/// Returns the parts of complex numbers, which lie one after the other.
fn parts_of<T>(numbers: &mut [Complex<T>]) -> &mut [T] {
    // SAFETY: these are the same elements, for as long as they are borrowed.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), 2 * numbers.len()) }
}

fn number<T: Scalar>(value: f64) -> T {
    T::from_f64(value).unwrap_or_else(T::zero)
}

/// Multiplies the elements at the ends of a line, where they are in the buffer.
fn weigh<T: Scalar>(line: &mut [Complex<T>], order: Order, points: usize, ends: [f64; 2]) {
    for (element, factor) in [(0, ends[0]), (points - 1, ends[1])] {
        if factor.to_bits() != 1f64.to_bits()
            && let Some(value) = line.get_mut(order.place(element, points))
        {
            *value = *value * number::<T>(factor);
        }
    }
}

/// Returns the elements before the middle of a line, without the first one, and as many at its end.
fn halves<T>(line: &mut [T]) -> (&mut [T], &mut [T]) {
    let count = (line.len() - 1) / 2;
    let middle = line.len() - count;
    let (low, high) = line.split_at_mut(middle);
    (&mut low[1..=count], high)
}
