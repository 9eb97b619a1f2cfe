//! The pass of a complex transform along one axis.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::four_step::FourStepFft;
use super::grid_shape::GridShape;
use super::line_tiles::{BufferLayout, LineTiles, gather, scatter};
use super::short_lines::{plan_line_by, table_bytes};
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::fft::cpu::scale::scale_slice;
use crate::memory::{ScratchBuffer, ScratchPieces, fetch};
use crate::parallel::{SyncPtr, parallel_for};

/// Bytes of lines that follow each other in memory and are transformed by one call of rustfft.
const BATCH_BYTES: usize = 1 << 15;

/// Like [`BATCH_BYTES`], but where the lines are scaled after the call: fewer, so that they are
/// still in the nearest cache then.
const SCALED_BYTES: usize = 1 << 13;

/// How many lines before its turn a line is asked for that does not follow the one before it, and
/// the points of lines of which processors fetch the rest by themselves.
const LINES_AHEAD: isize = 2;
const MOST_AHEAD: usize = 512;

/// The transform of a line, planned for a direction when that direction is first used.
struct ComplexKernel<T: Scalar> {
    points: usize,
    /// The grid of the four-step algorithm; `None` if rustfft transforms whole lines.
    grid: Option<GridShape>,
    forward: OnceLock<PlannedKernel<T>>,
    inverse: OnceLock<PlannedKernel<T>>,
    library: Option<FftwPlanner>,
}

enum PlannedKernel<T: Scalar> {
    Line(Arc<dyn Fft<T>>),
    FourStep(Box<FourStepFft<T>>),
}

impl<T: Scalar> ComplexKernel<T> {
    /// Returns the transform in a direction. The first call for a direction plans it; after an
    /// error the next call tries again.
    fn get(&self, direction: Direction, threads: NonZeroUsize) -> Result<&PlannedKernel<T>> {
        let (cell, direction) = match direction {
            Direction::Forward => (&self.forward, FftDirection::Forward),
            Direction::Inverse => (&self.inverse, FftDirection::Inverse),
        };
        if let Some(planned) = cell.get() {
            return Ok(planned);
        }
        // Threads that come at once may all plan, because no lock is held during long work. The
        // first to be done prevails.
        let library = self.library.as_ref();
        let planned = match self.grid {
            None => PlannedKernel::Line(plan_line_by(library, self.points, direction)?),
            Some(grid) => {
                let fft = FourStepFft::new(grid, direction, threads, library)?;
                PlannedKernel::FourStep(Box::new(fft))
            }
        };
        Ok(cell.get_or_init(|| planned))
    }

    /// Returns about how many bytes the tables of both directions take.
    fn table_bytes(&self) -> usize {
        2 * self.grid.map_or_else(|| table_bytes::<T>(self.points), FourStepFft::<T>::table_bytes)
    }
}

/// All lines along one axis, with the kernel that transforms a line.
pub(super) struct ComplexPass<T: Scalar> {
    kernel: ComplexKernel<T>,
    lines: LineTiles,
    /// Whether input and output are the same memory.
    inplace: bool,
    /// How the lines of a tile follow each other in a buffer; `None` if each line is a slice of the
    /// input and of the output, because that needs no buffer.
    layout: Option<BufferLayout>,
}

impl<T: Scalar> ComplexPass<T> {
    pub(super) fn new(
        points: usize,
        mut lines: LineTiles,
        inplace: bool,
        threads: NonZeroUsize,
        library: Option<&FftwPlanner>,
    ) -> Self {
        let size = size_of::<Complex<T>>();
        let sliced = lines.are_slices() || points == 1;
        let batched = lines.are_slices()
            && lines.across.from == points as isize
            && lines.across.to == points as isize;
        let grid = GridShape::new(points, lines.count(), threads);
        match grid {
            Some(_) => lines.cut_into_tiles(1),
            None if batched => lines.cut_into_tiles(BATCH_BYTES / (size * points)),
            None => lines.cut_for_copies(size * points, threads),
        }
        let layout = (!sliced).then(|| BufferLayout::new(points, size));
        let (forward, inverse) = (OnceLock::new(), OnceLock::new());
        let library = library.cloned();
        let kernel = ComplexKernel { points, grid, forward, inverse, library };
        Self { kernel, lines, inplace, layout }
    }
}

impl<T: Scalar> PassKernel<T> for ComplexPass<T> {
    fn table_bytes(&self) -> usize {
        self.kernel.table_bytes()
    }

    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        (direction, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let (from, to) = (from.cast::<Complex<T>>(), to.cast::<Complex<T>>());
        match self.kernel.get(direction, threads)? {
            // SAFETY: the caller guarantees the same of the addresses.
            PlannedKernel::Line(fft) => unsafe {
                self.run_lines(fft.as_ref(), from, to, factor, threads)
            },
            PlannedKernel::FourStep(fft) => {
                let along = self.lines.along;
                for number in 0..self.lines.tiles() {
                    let tile = self.lines.tile(number);
                    // SAFETY: the tile has one line of the layouts, for which the caller guarantees
                    // that the addresses are valid.
                    unsafe {
                        let (from, to) = (from.offset(tile.from), to.offset(tile.to));
                        fft.run((from, along.from), (to, along.to), factor, threads)?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl<T: Scalar> ComplexPass<T> {
    /// Transforms every line by rustfft.
    ///
    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_lines(
        &self,
        fft: &dyn Fft<T>,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        factor: Option<T>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let scratch = fft.get_inplace_scratch_len().max(fft.get_immutable_scratch_len());
        let buffered = self.layout.map_or(0, |layout| layout.len(self.lines.width()));
        let bytes = ScratchPieces::bytes::<Complex<T>>(scratch)
            + ScratchPieces::bytes::<Complex<T>>(buffered);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(threads, self.lines.tiles(), |numbers| {
            let mut buffer = ScratchBuffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let scratch = pieces.next(scratch);
            let buffered = pieces.next(buffered);
            for number in numbers {
                let tile = self.lines.tile(number);
                // SAFETY: the tile has lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    let from = from.get().offset(tile.from);
                    let to = to.get().offset(tile.to);
                    match self.layout {
                        None => self.run_sliced(fft, (from, to), tile.lines, factor, scratch),
                        Some(layout) => {
                            let buffered = &mut buffered[..layout.len(tile.lines)];
                            self.run_buffered(fft, (from, to), (buffered, layout), factor, scratch);
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// Transforms lines that are slices.
    ///
    /// # Safety
    /// `from` and `to` are valid for this many lines, each of which is a slice of both.
    unsafe fn run_sliced(
        &self,
        fft: &dyn Fft<T>,
        (from, to): (*const Complex<T>, *mut Complex<T>),
        lines: usize,
        factor: Option<T>,
        scratch: &mut [Complex<T>],
    ) {
        let points = self.kernel.points;
        let across = self.lines.across;
        let adjacent = |across: isize| across == points as isize || lines == 1;
        let joined = adjacent(across.to) && (self.inplace || adjacent(across.from));
        let together = match factor {
            _ if !joined => 1,
            None => lines,
            Some(_) => (SCALED_BYTES / (size_of::<Complex<T>>() * points)).clamp(1, lines),
        };
        let is_apart = !adjacent(across.from) && points < MOST_AHEAD;
        for first in (0..lines).step_by(together) {
            if is_apart {
                fetch(from.wrapping_offset((first as isize + LINES_AHEAD) * across.from), points);
            }
            let (line, len) = (first as isize, together.min(lines - first) * points);
            // SAFETY: the caller guarantees that the lines are slices, and joined lines
            // follow each other. Input and output are apart, or the same if `inplace`, and then
            // only the mutable slice is made.
            unsafe {
                let from = from.offset(line * across.from);
                let target = std::slice::from_raw_parts_mut(to.offset(line * across.to), len);
                if self.inplace {
                    fft.process_with_scratch(target, scratch);
                } else {
                    let source = std::slice::from_raw_parts(from, len);
                    fft.process_immutable_with_scratch(source, target, scratch);
                }
                if let Some(factor) = factor {
                    scale_slice(target, factor);
                }
            }
        }
    }

    /// Transforms lines that are strided in the input or in the output, from or in a buffer.
    ///
    /// # Safety
    /// `from` and `to` are valid for the lines that `buffered` has room for.
    unsafe fn run_buffered(
        &self,
        fft: &dyn Fft<T>,
        (from, to): (*const Complex<T>, *mut Complex<T>),
        (buffered, layout): (&mut [Complex<T>], BufferLayout),
        factor: Option<T>,
        scratch: &mut [Complex<T>],
    ) {
        let (along, across) = (self.lines.along, self.lines.across);
        // SAFETY: the caller guarantees that `from` is valid for these lines.
        unsafe { gather(from, along.from, across.from, buffered, layout) };
        if along.to == 1 {
            for (number, line) in buffered.chunks_exact(layout.pitch).enumerate() {
                // SAFETY: the caller guarantees that `to` is valid for these lines, which are apart
                // from the buffer.
                let target = unsafe {
                    let start = to.offset(number as isize * across.to);
                    std::slice::from_raw_parts_mut(start, layout.points)
                };
                fft.process_immutable_with_scratch(&line[..layout.points], target, scratch);
                if let Some(factor) = factor {
                    scale_slice(target, factor);
                }
            }
            return;
        }
        if layout.is_gapless() {
            fft.process_with_scratch(buffered, scratch);
        } else {
            for line in buffered.chunks_exact_mut(layout.pitch) {
                fft.process_with_scratch(&mut line[..layout.points], scratch);
            }
        }
        // SAFETY: the caller guarantees that `to` is valid for these lines.
        unsafe { scatter(buffered, layout, to, along.to, across.to, factor) };
    }
}
