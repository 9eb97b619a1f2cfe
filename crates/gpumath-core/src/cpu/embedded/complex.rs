//! Complex transforms along one axis.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftPlanner};

use super::Scalar;
use super::lines::{Lines, Tile, gather, scatter};
use crate::cpu::buffer::{Buffer, Pieces};
use crate::cpu::parallel::{Address, share};
use crate::error::Result;
use crate::fft::Direction;

/// Lines gathered together: two cache lines of neighbours make good use of what memory delivers.
const TILE_BYTES: usize = 128;

/// Lines that follow each other in memory are transformed together until they fill this much.
const BATCH_BYTES: usize = 1 << 15;

/// A transform of one length, planned for a direction when that direction is first asked for.
pub(super) struct ComplexKernel<T: Scalar> {
    points: usize,
    forward: OnceLock<Arc<dyn Fft<T>>>,
    inverse: OnceLock<Arc<dyn Fft<T>>>,
}

impl<T: Scalar> ComplexKernel<T> {
    pub(super) fn new(points: usize) -> Self {
        Self { points, forward: OnceLock::new(), inverse: OnceLock::new() }
    }

    fn get(&self, direction: Direction) -> &Arc<dyn Fft<T>> {
        let (cell, direction) = match direction {
            Direction::Forward => (&self.forward, FftDirection::Forward),
            Direction::Inverse => (&self.inverse, FftDirection::Inverse),
        };
        cell.get_or_init(|| FftPlanner::new().plan_fft(self.points, direction))
    }
}

/// All lines of one axis, with the kernel that transforms a line.
pub(super) struct ComplexPass<T: Scalar> {
    kernel: ComplexKernel<T>,
    lines: Lines,
    /// Input and output are the same memory.
    inplace: bool,
}

impl<T: Scalar> ComplexPass<T> {
    pub(super) fn new(points: usize, mut lines: Lines, inplace: bool) -> Self {
        let size = size_of::<Complex<T>>();
        let batched = lines.along.from == 1
            && lines.along.to == 1
            && lines.across.from == points as isize
            && lines.across.to == points as isize;
        lines.cut(if batched { BATCH_BYTES / (size * points) } else { TILE_BYTES / size });
        Self { kernel: ComplexKernel::new(points), lines, inplace }
    }

    /// Transforms every line.
    ///
    /// # Safety
    /// The addresses must be valid for the layouts that the lines were made from.
    pub(super) unsafe fn run(
        &self,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        direction: Direction,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let fft = self.kernel.get(direction).as_ref();
        let points = self.kernel.points;
        let scratch = fft.get_inplace_scratch_len().max(fft.get_immutable_scratch_len());
        let held = points * self.lines.width();
        let bytes = Pieces::bytes::<Complex<T>>(scratch) + Pieces::bytes::<Complex<T>>(held);
        let (from, to) = (Address::of(from), Address::of(to));
        share(threads, self.lines.tiles(), |numbers| {
            let mut buffer = Buffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let scratch = pieces.next(scratch);
            let held = pieces.next(held);
            for number in numbers {
                let tile = self.lines.tile(number);
                // SAFETY: `Lines` yields offsets within its layouts, for which the caller's addresses are valid;
                // each line is written by this tile alone.
                unsafe {
                    self.run_tile(
                        fft,
                        from.get::<Complex<T>>().offset(tile.from),
                        to.get::<Complex<T>>().offset(tile.to),
                        tile,
                        &mut held[..tile.lines * points],
                        scratch,
                    );
                }
            }
            Ok(())
        })
    }

    /// # Safety
    /// `from` and `to` must be valid for the lines of `tile`.
    unsafe fn run_tile(
        &self,
        fft: &dyn Fft<T>,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        tile: Tile,
        held: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let points = self.kernel.points;
        let (along, across) = (self.lines.along, self.lines.across);
        let (count, len) = (tile.lines, held.len());
        let adjacent = |along: isize, across: isize| {
            (along == 1 || points == 1) && (across == points as isize || count == 1)
        };
        let (source_adjacent, target_adjacent) =
            (adjacent(along.from, across.from), adjacent(along.to, across.to));
        // SAFETY: adjacent lines are `len` consecutive elements; input and output are disjoint unless `inplace`, in
        // which case only the mutable slice is made. Everything else is `gather` and `scatter` within the tile.
        unsafe {
            if self.inplace && target_adjacent {
                fft.process_with_scratch(std::slice::from_raw_parts_mut(to, len), scratch);
                return;
            }
            let target =
                if target_adjacent { std::slice::from_raw_parts_mut(to, len) } else { held };
            if source_adjacent && !self.inplace {
                let source = std::slice::from_raw_parts(from, len);
                fft.process_immutable_with_scratch(source, target, scratch);
            } else {
                gather(from, along.from, across.from, count, target);
                fft.process_with_scratch(target, scratch);
            }
            if !target_adjacent {
                scatter(target, to, along.to, across.to, count);
            }
        }
    }
}
