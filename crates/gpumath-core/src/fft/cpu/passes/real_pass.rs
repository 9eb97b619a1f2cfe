//! The pass of a real-to-complex or complex-to-real transform along one axis.

use std::num::NonZeroUsize;
use std::ops::Mul;
use std::sync::Arc;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::num_complex::Complex;

use super::lane_pass::LanePass;
use super::line_tiles::{BufferLayout, LineTiles, gather, scatter};
use super::long_real::plan_long;
use super::short_lines::{plan_half_line, plan_real_line, table_bytes};
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::fft::cpu::scale::{RealParts, scale_slice};
use crate::lane_fft::{HalfToReal, RealToHalf};
use crate::memory::{Pod, ScratchBuffer, ScratchPieces};
use crate::parallel::{SyncPtr, parallel_for};

/// The transform of one line.
pub(crate) trait LineKernel: Send + Sync {
    type Real: Scalar;
    type From: Pod;
    type To: RealParts<Self::Real> + Mul<Self::Real, Output = Self::To>;
    type Scratch: Pod;

    /// Returns the elements of an input line, of an output line and of the work memory.
    fn lengths(&self) -> (usize, usize, usize);

    /// Transforms a line, and overwrites `from`.
    fn run(&self, from: &mut [Self::From], to: &mut [Self::To], scratch: &mut [Self::Scratch]);
}

/// A line from real to complex numbers.
pub(crate) type ForwardLine<T> =
    Box<dyn LineKernel<Real = T, From = T, To = Complex<T>, Scratch = Complex<T>>>;

/// A line from complex to real numbers.
pub(crate) type InverseLine<T> =
    Box<dyn LineKernel<Real = T, From = Complex<T>, To = T, Scratch = Complex<T>>>;

/// Sets the imaginary parts at the ends of a Hermitian half of `points` to zero. The first number,
/// and the last one of an even length, are their own mirror images, but realfft returns an error
/// for other parts, and FFTW's interface does not say how they count.
pub(crate) fn make_ends_real<T: Scalar>(half: &mut [Complex<T>], points: usize) {
    if let Some(first) = half.first_mut() {
        first.im = T::zero();
    }
    if points.is_multiple_of(2)
        && let Some(last) = half.last_mut()
    {
        last.im = T::zero();
    }
}

struct R2cKernel<T: Scalar>(Arc<dyn RealToComplex<T>>);

impl<T: Scalar> LineKernel for R2cKernel<T> {
    type Real = T;
    type From = T;
    type To = Complex<T>;
    type Scratch = Complex<T>;

    fn lengths(&self) -> (usize, usize, usize) {
        (self.0.len(), self.0.complex_len(), self.0.get_scratch_len())
    }

    fn run(&self, from: &mut [T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let done = self.0.process_with_scratch(from, to, scratch);
        debug_assert!(done.is_ok(), "the lengths come from the plan");
    }
}

struct C2rKernel<T: Scalar>(Arc<dyn ComplexToReal<T>>);

impl<T: Scalar> LineKernel for C2rKernel<T> {
    type Real = T;
    type From = Complex<T>;
    type To = T;
    type Scratch = Complex<T>;

    fn lengths(&self) -> (usize, usize, usize) {
        (self.0.complex_len(), self.0.len(), self.0.get_scratch_len())
    }

    fn run(&self, from: &mut [Complex<T>], to: &mut [T], scratch: &mut [Complex<T>]) {
        make_ends_real(from, to.len());
        let done = self.0.process_with_scratch(from, to, scratch);
        debug_assert!(done.is_ok(), "the lengths come from the plan and the ends are real");
    }
}

/// Plans the transform of all lines of `points` along the axis that is real in the input, if
/// `is_forward`, or in the output.
pub(super) fn plan_halved<T: Scalar>(
    points: usize,
    is_forward: bool,
    mut lines: LineTiles,
    threads: NonZeroUsize,
    library: Option<&FftwPlanner>,
) -> Result<Box<dyn PassKernel<T>>> {
    if library.is_none() || !lines.are_slices() {
        if !is_forward && let Some(pass) = LanePass::<HalfToReal<T>>::new(points, &lines, threads) {
            return Ok(Box::new(pass));
        }
        if is_forward && let Some(pass) = LanePass::<RealToHalf<T>>::new(points, &lines, threads) {
            return Ok(Box::new(pass));
        }
    }
    if let Some(long) = plan_long(points, is_forward, &lines, threads, library)? {
        return Ok(long);
    }
    lines.cut_for_copies(points * size_of::<T>(), threads);
    Ok(match library {
        Some(library) if is_forward => Box::new(LinePass(library.real(points)?, lines)),
        Some(library) => Box::new(LinePass(library.half(points)?, lines)),
        None if is_forward => {
            Box::new(LinePass(Box::new(R2cKernel(plan_real_line(points)?)), lines))
        }
        None => Box::new(LinePass(Box::new(C2rKernel(plan_half_line(points)?)), lines)),
    })
}

/// Lines that are transformed one by one.
struct LinePass<K: ?Sized>(Box<K>, LineTiles);

impl<T: Scalar, K: LineKernel<Real = T> + ?Sized> PassKernel<T> for LinePass<K> {
    fn table_bytes(&self) -> usize {
        let (from, to, _) = self.0.lengths();
        table_bytes::<T>(from.max(to))
    }

    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        (_, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same of the addresses, and the element types.
        unsafe { run_lines(&*self.0, &self.1, (from.cast(), to.cast()), factor, threads) }
    }
}

/// Transforms every line with `kernel`.
///
/// # Safety
/// As for [`PassKernel::run`], with the layouts that `lines` were made from.
pub(crate) unsafe fn run_lines<K: LineKernel + ?Sized>(
    kernel: &K,
    lines: &LineTiles,
    (from, to): (*const K::From, *mut K::To),
    factor: Option<K::Real>,
    threads: NonZeroUsize,
) -> Result<()> {
    let (from_len, to_len, scratch_len) = kernel.lengths();
    let source_layout = BufferLayout::new(from_len, size_of::<K::From>());
    let target_layout = BufferLayout::new(to_len, size_of::<K::To>());
    let sliced = lines.along.to == 1 || to_len == 1;
    let source_room = source_layout.len(lines.width());
    let target_room = if sliced { 0 } else { target_layout.len(lines.width()) };
    let bytes = ScratchPieces::bytes::<K::From>(source_room)
        + ScratchPieces::bytes::<K::To>(target_room)
        + ScratchPieces::bytes::<K::Scratch>(scratch_len);
    let (along, across) = (lines.along, lines.across);
    let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
    parallel_for(threads, lines.tiles(), |numbers| {
        let mut buffer = ScratchBuffer::take(bytes)?;
        let mut pieces = buffer.pieces();
        let scratch = pieces.next::<K::Scratch>(scratch_len);
        let sources = pieces.next::<K::From>(source_room);
        let targets = pieces.next::<K::To>(target_room);
        for number in numbers {
            let tile = lines.tile(number);
            let sources = &mut sources[..source_layout.len(tile.lines)];
            // SAFETY: the tile has lines of the layouts, for which the caller guarantees that the
            // addresses are valid. No other tile has these lines, and a line of the output with a
            // stride of 1 is a slice.
            unsafe {
                let from = from.get().offset(tile.from);
                let to = to.get().offset(tile.to);
                gather(from, along.from, across.from, sources, source_layout);
                let sources = sources.chunks_exact_mut(source_layout.pitch);
                if sliced {
                    for (line, source) in sources.enumerate() {
                        let to = to.offset(line as isize * across.to);
                        let target = std::slice::from_raw_parts_mut(to, to_len);
                        kernel.run(&mut source[..from_len], target, scratch);
                        if let Some(factor) = factor {
                            scale_slice(target, factor);
                        }
                    }
                } else {
                    let targets = &mut targets[..target_layout.len(tile.lines)];
                    for (source, target) in
                        sources.zip(targets.chunks_exact_mut(target_layout.pitch))
                    {
                        kernel.run(&mut source[..from_len], &mut target[..to_len], scratch);
                    }
                    scatter(targets, target_layout, to, along.to, across.to, factor);
                }
            }
        }
        Ok(())
    })
}
