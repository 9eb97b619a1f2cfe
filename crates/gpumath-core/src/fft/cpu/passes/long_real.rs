//! Long transforms between real and complex lines, by one of complex lines on several threads.
//!
//! A line of an even number of real points is a complex line of half as many points: the even ones
//! as real parts, the odd ones as imaginary parts. Its transform Z and that of the real line, X,
//! follow from each other. With h = points/2 and w = exp(-2πi·k/points),
//! X(k) = E + w·O and X(h-k) = conj(E - w·O), where E = (Z(k) + conj(Z(h-k)))/2 and
//! O = (Z(k) - conj(Z(h-k)))/(2i). A line of an odd number of points is a grid of real numbers, or,
//! for a convolution, a complex line without imaginary parts, of whose transform one half is
//! needed.

use std::f64::consts::PI;
use std::num::NonZeroUsize;

use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::four_step::FourStepFft;
use super::grid_shape::{GridShape, LONG_CONVOLUTION};
use super::line_tiles::{LineTiles, StridePair};
use super::real_grid::RealGrid;
use super::short_lines::MAX_POINTS;
use super::tables::{PURPOSE, exp_i, fill_parallel, for_each_index};
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::memory::{ScratchBuffer, check_available, zeroed};
use crate::parallel::SyncPtr;

/// A planned transform of long lines, one after the other, from real to complex or back.
pub(super) struct LongReal<T: Scalar> {
    points: usize,
    is_forward: bool,
    lines: LineTiles,
    shape: GridShape,
    fft: FourStepFft<T>,
    /// exp(-2πi·k/points) for k up to a quarter of an even number of points; empty otherwise.
    turns: Vec<Complex<T>>,
}

/// Plans the transform of lines of so many real points. Returns `None` if whole lines are
/// transformed faster.
pub(super) fn plan_long<T: Scalar>(
    points: usize,
    is_forward: bool,
    lines: &LineTiles,
    threads: NonZeroUsize,
    library: Option<&FftwPlanner>,
) -> Result<Option<Box<dyn PassKernel<T>>>> {
    check_available::<T>(points, &format!("a transform of {points} points"))?;
    let count = lines.count();
    let mut lines = lines.clone();
    lines.cut_into_tiles(1);
    let shape = if points.is_multiple_of(2) {
        // Where there is a thread for each line, realfft is faster, also for large primes up to
        // some length.
        let complex = points / 2;
        let is_shared = count < threads.get() || points > MAX_POINTS;
        let is_faster =
            |shape: &GridShape| is_shared || shape.is_padded() && complex >= LONG_CONVOLUTION;
        GridShape::new(complex, count, threads).filter(is_faster)
    } else {
        GridShape::of_odd_real::<T>(points, is_forward, count, threads)
    };
    let Some(shape) = shape else { return Ok(None) };
    if !points.is_multiple_of(2) && !shape.is_padded() {
        return Ok(Some(Box::new(RealGrid::new(shape, is_forward, lines, threads, library)?)));
    }
    let direction = if is_forward { FftDirection::Forward } else { FftDirection::Inverse };
    let fft = FourStepFft::new(shape, direction, threads, library)?;
    let mut turns = zeroed(if points.is_multiple_of(2) { points / 4 + 1 } else { 0 }, PURPOSE)?;
    let turn = -2.0 * PI / points as f64;
    fill_parallel(&mut turns, threads, |k| exp_i(k as f64 * turn))?;
    Ok(Some(Box::new(LongReal { points, is_forward, lines, shape, fft, turns })))
}

impl<T: Scalar> PassKernel<T> for LongReal<T> {
    fn table_bytes(&self) -> usize {
        FourStepFft::<T>::table_bytes(self.shape) + size_of_val(&self.turns[..])
    }

    /// Transforms one line after the other.
    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        (_, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let factor = factor.unwrap_or_else(T::one);
        let lines = &self.lines;
        for number in 0..lines.tiles() {
            let tile = lines.tile(number);
            // SAFETY: the tile has one line of the layouts, for which the caller guarantees that
            // the addresses are valid.
            unsafe {
                if self.is_forward {
                    let from = from.cast::<T>().offset(tile.from);
                    let to = to.cast::<Complex<T>>().offset(tile.to);
                    self.forward(from, to, lines.along, factor, threads)?;
                } else {
                    let from = from.cast::<Complex<T>>().offset(tile.from);
                    let to = to.cast::<T>().offset(tile.to);
                    self.inverse(from, to, lines.along, factor, threads)?;
                }
            }
        }
        Ok(())
    }
}

impl<T: Scalar> LongReal<T> {
    /// Transforms a real line to the first half of its transform.
    ///
    /// # Safety
    /// As for [`PassKernel::run`], for one line.
    unsafe fn forward(
        &self,
        from: *const T,
        to: *mut Complex<T>,
        along: StridePair,
        factor: T,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let (source, target) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        let is_even = !self.turns.is_empty();
        if is_even && along.from == 1 {
            // SAFETY: two real neighbours are a complex number, and the caller guarantees the rest.
            return unsafe {
                self.fft.run((from.cast(), 1), (to, along.to), None, threads)?;
                self.untangle(target, along.to, factor, threads)
            };
        }
        let len = self.shape.points;
        let mut buffer = ScratchBuffer::take(len.saturating_mul(size_of::<Complex<T>>()))?;
        let packed = SyncPtr::new(buffer.pieces().next::<Complex<T>>(len).as_mut_ptr());
        for_each_index(len, threads, |j| {
            let at = |point: usize| point as isize * along.from;
            // SAFETY: the points are those of the line, and `packed` has room for `len` elements,
            // each of which one thread writes.
            unsafe {
                let source = source.get();
                *packed.get().add(j) = if is_even {
                    Complex::new(*source.offset(at(2 * j)), *source.offset(at(2 * j + 1)))
                } else {
                    Complex::new(*source.offset(at(j)), T::zero())
                };
            }
        })?;
        let line = (packed.get().cast_const(), 1);
        // SAFETY: `packed` has the points of the complex line; the caller guarantees the rest.
        unsafe {
            if is_even {
                self.fft.run(line, (to, along.to), None, threads)?;
                return self.untangle(target, along.to, factor, threads);
            }
            self.fft.run(line, (to, along.to), Some(factor), threads)?;
            (*to).im = T::zero();
        }
        Ok(())
    }

    /// Turns Z, of half the points, into X, which has one point more, in place.
    ///
    /// # Safety
    /// `line` is writable for X at the stride, and only this call uses it.
    unsafe fn untangle(
        &self,
        line: SyncPtr<Complex<T>>,
        stride: isize,
        factor: T,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let h = self.points / 2;
        let half = T::from_f64(0.5).unwrap_or_else(T::one) * factor;
        for_each_index(self.turns.len(), threads, |k| {
            // SAFETY: k and h - k are points of X, and no other k has them. Z has them too, but for
            // h, in the place of which it has 0.
            unsafe {
                let low = line.get().offset(k as isize * stride);
                let high = line.get().offset((h - k) as isize * stride);
                let (a, b) = (*low, if k == 0 { *low } else { *high }.conj());
                let even = a + b;
                // (a - b) / i
                let odd = Complex::new((a - b).im, -(a - b).re) * self.turns[k];
                *low = (even + odd) * half;
                *high = (even - odd).conj() * half;
                if k == 0 {
                    (*low).im = T::zero();
                    (*high).im = T::zero();
                }
            }
        })
    }

    /// Transforms the first half of a Hermitian line to the real line.
    ///
    /// # Safety
    /// As for [`PassKernel::run`], for one line.
    unsafe fn inverse(
        &self,
        from: *const Complex<T>,
        to: *mut T,
        along: StridePair,
        factor: T,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let (source, target) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        // SAFETY: the caller guarantees that the points up to half of the line can be read.
        let at = |k: usize| unsafe { *source.get().offset(k as isize * along.from) };
        // The first number, and the last one of an even line, are their own mirror images, so that
        // their imaginary parts count as zero.
        let first = || Complex::new(at(0).re, T::zero());
        let len = self.shape.points;
        let is_even = !self.turns.is_empty();
        let is_direct = is_even && along.to == 1;
        let needed = if is_direct { 0 } else { len.saturating_mul(size_of::<Complex<T>>()) };
        let mut buffer = ScratchBuffer::take(needed)?;
        let line = if is_direct {
            // Two real neighbours are a complex number.
            SyncPtr::new(to.cast::<Complex<T>>())
        } else {
            SyncPtr::new(buffer.pieces().next::<Complex<T>>(len).as_mut_ptr())
        };
        let put = |k: usize, value: Complex<T>| {
            // SAFETY: `line` has room for `len` elements, each of which one thread writes.
            unsafe { *line.get().add(k) = value }
        };
        if is_even {
            for_each_index(self.turns.len(), threads, |k| {
                let last = || Complex::new(at(len).re, T::zero());
                let (a, b) = if k == 0 { (first(), last()) } else { (at(k), at(len - k).conj()) };
                let even = a + b;
                let odd = (a - b) * self.turns[k].conj();
                // even + i * odd, and the same for len - k
                put(k, Complex::new(even.re - odd.im, even.im + odd.re));
                if k > 0 && 2 * k != len {
                    put(len - k, Complex::new(even.re + odd.im, odd.re - even.im));
                }
            })?;
        } else {
            // A padded grid reads one half, in which the other one's real parts are counted, too.
            for_each_index(len / 2 + 1, threads, |k| {
                put(k, if k == 0 { first() } else { at(k) + at(k) });
            })?;
        }
        let scale = if is_direct { Some(factor) } else { None };
        // SAFETY: `line` has the points of the complex line, and only this call uses it.
        unsafe { self.fft.run((line.get().cast_const(), 1), (line.get(), 1), scale, threads)? };
        if is_direct {
            return Ok(());
        }
        for_each_index(len, threads, |j| {
            // SAFETY: `line` has `len` elements. The real line has these points, each of which one
            // thread writes.
            unsafe {
                let value = *line.get().add(j) * factor;
                let put = |point: usize, value| {
                    *target.get().offset(point as isize * along.to) = value;
                };
                if is_even {
                    put(2 * j, value.re);
                    put(2 * j + 1, value.im);
                } else {
                    put(j, value.re);
                }
            }
        })
    }
}
