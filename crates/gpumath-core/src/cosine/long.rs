//! Cosine and sine transforms of long lines: all threads share each step, which is a loop over
//! memory before or after a Fourier transform. [`super`] says what the steps are.

use std::array;
use std::f64::consts::PI;
use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use super::turns::{EighthRun, eighth_turns_of};
use super::{CosineFactors, CosineStep};
use crate::error::Result;
use crate::fft::cpu::CpuFft;
use crate::fft::cpu::lines::{Scalar, StridePair, exp_i, fill_parallel, for_each_range};
use crate::fft::{Direction, FftProblem, Precision, TransformKind};
use crate::memory::{ScratchBuffer, ScratchPieces, zeroed};
use crate::operation::Engine;
use crate::parallel::SyncPtr;
use crate::tensor::{Dims, Layout};

/// What the tables are for.
const PURPOSE: &str = "the tables of a cosine transform";

/// A planned transform of a long line.
pub(super) struct LongPlan<T: Scalar> {
    kind: u8,
    is_sine: bool,
    points: usize,
    threads: NonZeroUsize,
    fourier: CpuFft,
    direction: Direction,
    /// Lengths of the real line of the Fourier transform, if it has one, and of the complex line.
    reals: usize,
    complexes: usize,
    /// The numbers on the unit circle before the transform and after it, for the types that turn.
    before: Vec<Complex<T>>,
    after: Vec<Complex<T>>,
    /// Only of type IV of an odd length.
    eighths: Vec<EighthRun>,
}

/// A line of the operand or of the result, from one end or from the other.
#[derive(Clone, Copy)]
struct Line<T> {
    start: *mut T,
    stride: isize,
    points: usize,
    /// The factors of the elements at `start` and at the other end.
    ends: [T; 2],
}

impl<T: Scalar> Line<T> {
    fn reversed(self) -> Self {
        let last = (self.points - 1) as isize * self.stride;
        let [first, second] = self.ends;
        Self {
            start: self.start.wrapping_offset(last),
            stride: -self.stride,
            ends: [second, first],
            ..self
        }
    }

    /// Returns an element, multiplied by its factor if it is at an end and `WEIGHED` says so.
    ///
    /// # Safety
    /// The line is readable, and `at` below its length.
    unsafe fn get<const WEIGHED: bool>(self, at: usize) -> T {
        // SAFETY: the caller guarantees that the line has this element.
        let value = unsafe { *self.start.offset(at as isize * self.stride) };
        if WEIGHED && at == 0 {
            value * self.ends[0]
        } else if WEIGHED && at == self.points - 1 {
            value * self.ends[1]
        } else {
            value
        }
    }

    /// # Safety
    /// The line is writable, `at` is below its length, and no other thread has this element.
    unsafe fn set(self, at: usize, value: T) {
        // SAFETY: the caller guarantees that the line has this element.
        unsafe { *self.start.offset(at as isize * self.stride) = value };
    }

    /// Multiplies the elements at the ends by their factors.
    ///
    /// # Safety
    /// The line is writable, and no other thread uses it.
    unsafe fn weigh(self) {
        // SAFETY: a line has these elements.
        unsafe {
            self.set(0, self.get::<true>(0));
            self.set(self.points - 1, self.get::<true>(self.points - 1));
        }
    }
}

// SAFETY: the functions that read and write the elements say what is needed of other threads.
unsafe impl<T: Scalar> Sync for Line<T> {}

impl<T: Scalar> LongPlan<T> {
    /// Plans a transform of type 1 to 4 of at least three points.
    pub(super) fn new(
        kind: u8,
        points: usize,
        is_sine: bool,
        threads: NonZeroUsize,
    ) -> Result<Self> {
        let half = points / 2;
        let turns = |count: usize, angle: &(dyn Fn(f64) -> f64 + Sync)| {
            let mut turns = zeroed(count, PURPOSE)?;
            fill_parallel(&mut turns, threads, |at| exp_i(PI * angle(at as f64)))?;
            Ok(turns)
        };
        let n = points as f64;
        let (mut before, mut after, mut eighths) = (Vec::new(), Vec::new(), Vec::new());
        let (mut transform, mut reals) = (TransformKind::R2C, points);
        match kind {
            1 => reals = CosineStep::Extend.lengths(points as i64, is_sine).1 as usize,
            2 => after = turns(half + 1, &|k| k / (2.0 * n))?,
            3 => {
                transform = TransformKind::C2R;
                before = turns(half + 1, &|k| k / (2.0 * n))?;
            }
            _ if points.is_multiple_of(2) => {
                (transform, reals) = (TransformKind::C2C, 0);
                before = turns(half, &|j| -(4.0 * j + 1.0) / (4.0 * n))?;
                after = turns(half, &|j| -j / n)?;
            }
            _ => eighths = EighthRun::all_of(points),
        }
        let complexes = if reals > 0 { reals / 2 + 1 } else { half };
        let [real, complex] = [reals, complexes].map(|count| Layout::contiguous(&[count as i64]));
        let (from, to) = match transform {
            TransformKind::R2C => (real, complex),
            TransformKind::C2R => (complex, real),
            TransformKind::C2C => (complex.clone(), complex),
        };
        let precision =
            if size_of::<T>() == size_of::<f64>() { Precision::Double } else { Precision::Single };
        let is_in_place = transform == TransformKind::C2C;
        let axes = Dims::from_slice(&[0]);
        let problem = FftProblem::new(transform, precision, axes, from, to, is_in_place)?;
        let fourier = CpuFft::new(&problem, threads, None)?;
        let direction =
            if transform == TransformKind::C2R { Direction::Inverse } else { Direction::Forward };
        Ok(Self {
            kind,
            is_sine,
            points,
            threads,
            fourier,
            direction,
            reals,
            complexes,
            before,
            after,
            eighths,
        })
    }

    /// Returns the bytes of the tables.
    pub(super) fn table_bytes(&self) -> usize {
        self.fourier.host_memory()
            + size_of_val(&self.before[..])
            + size_of_val(&self.after[..])
            + size_of_val(&self.eighths[..])
    }

    /// Transforms a line.
    ///
    /// # Safety
    /// - `from` is readable and `to` writable for the points of the line, at their strides.
    /// - They do not overlap, and no other thread uses `to` during the call.
    pub(super) unsafe fn run(
        &self,
        factors: CosineFactors,
        (from, to): (*const T, *mut T),
        along: StridePair,
    ) -> Result<()> {
        let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
        let (points, stride) = (self.points, along.from);
        let ends = factors.before.map(number);
        let mut source = Line { start: from.cast_mut(), stride, points, ends };
        let ends = factors.after.map(number);
        let mut target = Line { start: to, stride: along.to, points, ends };
        match self.kind {
            2 if self.is_sine => target = target.reversed(),
            3 | 4 if self.is_sine => source = source.reversed(),
            _ => {}
        }
        // The line of the Fourier transform is there if it is not needed when results are written.
        let is_in_target = self.reals == points && self.kind != 3 && along.to == 1;
        let line_bytes = if is_in_target { 0 } else { ScratchPieces::bytes::<T>(self.reals) };
        let mut memory =
            ScratchBuffer::take(line_bytes + ScratchPieces::bytes::<Complex<T>>(self.complexes))?;
        let mut pieces = memory.pieces();
        let line = if is_in_target { to } else { pieces.next::<T>(self.reals).as_mut_ptr() };
        let line = SyncPtr::new(line);
        let spectrum = SyncPtr::new(pieces.next::<Complex<T>>(self.complexes).as_mut_ptr());
        let (real, complex) = (line.get().expose_provenance(), spectrum.get().expose_provenance());
        let (input, output) = match self.direction {
            _ if self.reals == 0 => (complex, complex),
            Direction::Forward => (real, complex),
            Direction::Inverse => (complex, real),
        };
        // SAFETY: the pieces have the lengths of the Fourier transform, and only this call uses
        // them. The caller guarantees that both lines are valid.
        unsafe {
            if source.ends == [T::one(); 2] {
                self.prepare::<false>(&source, line, spectrum)?;
            } else {
                self.prepare::<true>(&source, line, spectrum)?;
            }
            self.fourier.execute(input, output, self.direction, None)?;
            self.finish(line, spectrum, &target, number(factors.scale))?;
            target.weigh();
        }
        Ok(())
    }

    /// Computes the operand of the Fourier transform. `WEIGHED` says whether the elements at the
    /// ends have factors.
    ///
    /// # Safety
    /// As for [`Self::run`]; `line` and `spectrum` are writable for the lengths of the plan.
    unsafe fn prepare<const WEIGHED: bool>(
        &self,
        from: &Line<T>,
        line: SyncPtr<T>,
        spectrum: SyncPtr<Complex<T>>,
    ) -> Result<()> {
        let (points, half) = (self.points, self.points / 2);
        let count = if self.kind == 1 { points } else { half };
        let sign = self.sign_of_odd();
        let mut place = 0;
        for run in &self.eighths {
            let start = place;
            place += run.count;
            for_each_range(run.count, self.threads, |range| {
                let (from, line) = (*from, line.get());
                for at in range {
                    let (element, is_negative) = run.element(at);
                    // SAFETY: a run has elements of the line, for places of its own.
                    unsafe {
                        let value = from.get::<WEIGHED>(element);
                        *line.add(start + at) = if is_negative { -value } else { value };
                    }
                }
            })?;
        }
        if !self.eighths.is_empty() {
            return Ok(());
        }
        for_each_range(count, self.threads, |range| {
            let (from, line, spectrum) = (*from, line.get(), spectrum.get());
            let get = |at: usize| {
                // SAFETY: `at` is below the length of the line.
                unsafe { from.get::<WEIGHED>(at) }
            };
            // SAFETY: the places are below the lengths of the plan, and no other index has them.
            unsafe {
                match self.kind {
                    1 if self.is_sine => {
                        for at in range {
                            *line.add(at + 1) = get(at);
                            *line.add(2 * points + 1 - at) = -get(at);
                        }
                    }
                    1 => {
                        for at in range {
                            *line.add(at) = get(at);
                            if at > 0 {
                                *line.add(2 * points - 2 - at) = get(at);
                            }
                        }
                    }
                    2 => {
                        for pair in range {
                            *line.add(pair) = get(2 * pair);
                            *line.add(points - 1 - pair) = get(2 * pair + 1) * sign;
                        }
                    }
                    3 => {
                        for at in range.map(|at| at + 1) {
                            let (turn, a, b) = (self.before[at], get(at), get(points - at));
                            *spectrum.add(at) =
                                Complex::new(turn.re * a + turn.im * b, turn.im * a - turn.re * b);
                        }
                    }
                    _ => {
                        for pair in range {
                            let value = Complex::new(get(2 * pair), get(points - 1 - 2 * pair));
                            *spectrum.add(pair) = value * self.before[pair];
                        }
                    }
                }
            }
        })?;
        // SAFETY: these places are below the lengths of the plan.
        unsafe {
            match self.kind {
                1 if self.is_sine => {
                    *line.get() = T::zero();
                    *line.get().add(points + 1) = T::zero();
                }
                2 if !points.is_multiple_of(2) => {
                    *line.get().add(half) = from.get::<WEIGHED>(points - 1);
                }
                3 => *spectrum.get() = Complex::new(from.get::<WEIGHED>(0), T::zero()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Computes the result from that of the Fourier transform.
    ///
    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn finish(
        &self,
        line: SyncPtr<T>,
        spectrum: SyncPtr<Complex<T>>,
        to: &Line<T>,
        scale: T,
    ) -> Result<()> {
        let (points, half) = (self.points, self.points / 2);
        let (twice, sign) = (scale + scale, self.sign_of_odd());
        let is_even = points.is_multiple_of(2);
        let eighths: [[T; 4]; 4] = array::from_fn(|at| eighth_turns_of(at, points, self.is_sine));
        let count = match self.kind {
            1 => points,
            // The middle of an even line and the first element have no mirror image.
            2 => (points - 1) / 2,
            _ => half,
        };
        for_each_range(count, self.threads, |range| {
            let (to, line, spectrum) = (*to, line.get(), spectrum.get());
            // SAFETY: the places are below the lengths of the plan, the elements below that of the
            // line, and no other index has these elements.
            unsafe {
                match self.kind {
                    1 if self.is_sine => {
                        for at in range {
                            to.set(at, -(*spectrum.add(at + 1)).im * scale);
                        }
                    }
                    1 => {
                        for at in range {
                            to.set(at, (*spectrum.add(at)).re * scale);
                        }
                    }
                    // Elements k and N - k come from the same number.
                    2 => {
                        for at in range.map(|at| at + 1) {
                            let (turn, value) = (self.after[at], *spectrum.add(at));
                            to.set(at, (turn.re * value.re + turn.im * value.im) * twice);
                            let mirrored = turn.im * value.re - turn.re * value.im;
                            to.set(points - at, mirrored * twice);
                        }
                    }
                    3 => {
                        for pair in range {
                            to.set(2 * pair, *line.add(pair) * scale);
                            to.set(2 * pair + 1, *line.add(points - 1 - pair) * (scale * sign));
                        }
                    }
                    _ if is_even => {
                        for pair in range {
                            let turned = *spectrum.add(pair) * self.after[pair];
                            to.set(2 * pair, turned.re * twice);
                            to.set(points - 1 - 2 * pair, -turned.im * (twice * sign));
                        }
                    }
                    _ => {
                        for at in range {
                            let (odd, turn) = (2 * at + 1, eighths[at % 4]);
                            let value = if odd <= half {
                                *spectrum.add(odd)
                            } else {
                                (*spectrum.add(points - odd)).conj()
                            };
                            to.set(at, (value.re * turn[0] + value.im * turn[1]) * twice);
                            let mirrored = value.re * turn[2] + value.im * turn[3];
                            to.set(points - 1 - at, mirrored * twice);
                        }
                    }
                }
            }
        })?;
        // SAFETY: as above.
        unsafe {
            let spectrum = spectrum.get();
            match self.kind {
                2 => {
                    to.set(0, (*spectrum).re * twice);
                    if is_even {
                        let (turn, value) = (self.after[half], *spectrum.add(half));
                        to.set(half, (turn.re * value.re + turn.im * value.im) * twice);
                    }
                }
                3 if !is_even => to.set(points - 1, *line.get().add(half) * scale),
                4 if !is_even => to.set(half, (*spectrum).re * twice * eighths[half % 4][0]),
                _ => {}
            }
        }
        Ok(())
    }

    /// The factor of every other element.
    fn sign_of_odd(&self) -> T {
        if self.is_sine { -T::one() } else { T::one() }
    }
}
