//! Transforms of long lines of an odd number of real points, as a grid of real numbers.
//!
//! With j = j1·columns + j2 and k = k1 + rows·k2, these are real transforms of the columns
//! (j1 → k1), of which the first half is needed, a twiddle factor exp(∓2πi·j2·k1/points),
//! and complex transforms of the rows that this half has (j2 → k2). The numbers with another k1
//! are conjugates: number k is the conjugate of the one in row `rows - k1`, column
//! `columns - 1 - k2`.

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::grid_shape::{GridShape, LONG_CONVOLUTION};
use super::line_tiles::{BufferLayout, LineTiles};
use super::real_pass::plan_halved;
use super::short_lines::{plan_line_by, table_bytes};
use super::tables::{PURPOSE, exp_i, fill_parallel, sign};
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::memory::{ScratchBuffer, ScratchPieces, copy_tile, zeroed};
use crate::parallel::{SyncPtr, parallel_for};
use crate::tensor::{Dims, Layout};

/// Columns whose twiddle factors are products of that of the first one and one of the row.
const TURNED: usize = 64;
/// Columns that are copied together between the grid and the line.
const COPIED: usize = 32;

/// A planned transform of lines of an odd number of points, from real to complex or back.
pub(super) struct RealGrid<T: Scalar> {
    is_forward: bool,
    /// The lines, in tiles of one line.
    lines: LineTiles,
    rows: usize,
    columns: usize,
    /// The real transforms of all columns.
    column_pass: Box<dyn PassKernel<T>>,
    /// The transform of a row.
    row: Arc<dyn Fft<T>>,
    /// For each row, the twiddle factors of the first [`TURNED`] columns, and of every column that
    /// comes after a multiple of that.
    near: Vec<Complex<T>>,
    far: Vec<Complex<T>>,
}

/// Numbers that are copied between the grid and the line: where they begin, and the strides along
/// k1 and k2 in both.
struct Copied {
    grid: (isize, isize, isize),
    line: (isize, isize, isize),
    rows: usize,
    columns: usize,
}

impl<T: Scalar> RealGrid<T> {
    /// Plans transforms of lines, given in tiles of one line, as grids of this shape.
    pub(super) fn new(
        GridShape { rows, columns, .. }: GridShape,
        is_forward: bool,
        lines: LineTiles,
        threads: NonZeroUsize,
        library: Option<&FftwPlanner>,
    ) -> Result<Self> {
        let is_apart = Self::are_apart(rows * columns, &lines, threads);
        let threads = if is_apart { NonZeroUsize::MIN } else { threads };
        let half = rows / 2 + 1;
        let layout = |rows: usize, row_stride: usize, stride: isize| Layout {
            shape: Dims::from_slice(&[rows as i64, columns as i64]),
            strides: Dims::from_slice(&[row_stride as i64 * stride as i64, stride as i64]),
        };
        let grid = layout(half, Self::pitch(columns), 1);
        let (direction, all_columns) = if is_forward {
            let line = layout(rows, columns, lines.along.from);
            (FftDirection::Forward, LineTiles::new(0, &line, &grid))
        } else {
            let line = layout(rows, columns, lines.along.to);
            (FftDirection::Inverse, LineTiles::new(0, &grid, &line))
        };
        let turn = sign(direction) * 2.0 * PI / (rows * columns) as f64;
        let turns = |count: usize, step: usize| {
            let mut turns = zeroed(half * count, PURPOSE)?;
            fill_parallel(&mut turns, threads, |at| {
                exp_i((at / count * (at % count * step)) as f64 * turn)
            })?;
            Ok(turns)
        };
        Ok(Self {
            is_forward,
            lines,
            rows,
            columns,
            column_pass: plan_halved(rows, is_forward, all_columns, threads, library)?,
            row: plan_line_by(library, columns, direction)?,
            near: turns(TURNED, 1)?,
            far: turns(columns.div_ceil(TURNED), TURNED)?,
        })
    }

    /// Whether each line is transformed on one thread: short lines, of which there is one for every
    /// thread.
    fn are_apart(points: usize, lines: &LineTiles, threads: NonZeroUsize) -> bool {
        lines.tiles() >= threads.get() && points < LONG_CONVOLUTION
    }

    /// Returns the distance between the rows of the grid, in elements.
    fn pitch(columns: usize) -> usize {
        BufferLayout::new(columns, size_of::<Complex<T>>()).pitch
    }

    /// Transforms the rows, and multiplies them by the twiddle factors, before that or after it.
    ///
    /// # Safety
    /// `grid` is valid for the rows, and only this call uses it.
    unsafe fn transform_rows(
        &self,
        grid: SyncPtr<Complex<T>>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let Self { columns, row: fft, .. } = self;
        let scratch_len = fft.get_inplace_scratch_len();
        parallel_for(threads, self.rows / 2 + 1, |rows| {
            let mut buffer = ScratchBuffer::take(ScratchPieces::bytes::<Complex<T>>(scratch_len))?;
            let scratch = buffer.pieces().next::<Complex<T>>(scratch_len);
            for row in rows {
                // SAFETY: the caller guarantees that the grid is valid, and no other thread has
                // this row.
                let line = unsafe {
                    let start = grid.get().add(row * Self::pitch(*columns));
                    std::slice::from_raw_parts_mut(start, *columns)
                };
                if self.is_forward {
                    self.turn(row, line);
                    fft.process_with_scratch(line, scratch);
                } else {
                    fft.process_with_scratch(line, scratch);
                    self.turn(row, line);
                }
            }
            Ok(())
        })
    }

    /// Multiplies a row by its twiddle factors.
    fn turn(&self, row: usize, line: &mut [Complex<T>]) {
        let near = &self.near[row * TURNED..][..TURNED];
        let count = self.columns.div_ceil(TURNED);
        for (block, far) in line.chunks_mut(TURNED).zip(&self.far[row * count..]) {
            for (value, near) in block.iter_mut().zip(near) {
                *value = *value * (*far * *near);
            }
        }
    }

    /// Calls `copy` for parts of the first half of the line: with what is to be copied, and whether
    /// its conjugates are. No two calls have a number of the line in common.
    fn for_each_part(
        &self,
        threads: NonZeroUsize,
        copy: impl Fn(Copied, bool) + Sync,
    ) -> Result<()> {
        let (rows, columns) = (self.rows, self.columns);
        let (half, middle) = (rows / 2 + 1, columns / 2);
        let pitch = Self::pitch(columns) as isize;
        let at = |k1: usize, k2: usize| (k1 + rows * k2) as isize;
        parallel_for(threads, (middle + 1).div_ceil(COPIED), |numbers| {
            for number in numbers {
                let Range { start, end } = number * COPIED..(middle + 1).min((number + 1) * COPIED);
                let part = Copied {
                    grid: (start as isize, pitch, 1),
                    line: (at(0, start), 1, rows as isize),
                    rows: half,
                    columns: end - start,
                };
                copy(part, false);
                // In the middle column, these numbers are behind the first half of the line.
                let end = end.min(middle);
                if end > start {
                    let part = Copied {
                        grid: ((half - 1) as isize * pitch + (columns - end) as isize, -pitch, 1),
                        line: (at(half, end - 1), 1, -(rows as isize)),
                        rows: rows - half,
                        columns: end - start,
                    };
                    copy(part, true);
                }
            }
            Ok(())
        })
    }

    /// Copies the first half of the transform from the grid to the line, times the factor.
    ///
    /// # Safety
    /// `grid` is valid for the grid and `line` writable for half of the line, at the stride, and
    /// only this call uses them.
    unsafe fn write_half(
        &self,
        grid: SyncPtr<Complex<T>>,
        (line, stride): (SyncPtr<Complex<T>>, isize),
        factor: T,
        threads: NonZeroUsize,
    ) -> Result<()> {
        self.for_each_part(threads, |part, is_conjugate| {
            let ((grid_at, k1, k2), (line_at, along, across)) = (part.grid, part.line);
            // SAFETY: the caller guarantees that both are valid, and other calls have other parts.
            unsafe {
                let from = (grid.get().offset(grid_at).cast_const(), k1, k2);
                let to = line.get().offset(line_at * stride);
                let to = (to, along * stride, across * stride);
                if is_conjugate {
                    copy_tile(from, to, part.columns, part.rows, |value| value.conj() * factor);
                } else {
                    copy_tile(from, to, part.columns, part.rows, |value| value * factor);
                }
            }
        })?;
        // SAFETY: a line has a first number, and only this call uses it.
        unsafe { (*line.get()).im = T::zero() };
        Ok(())
    }

    /// Copies the first half of the transform from the line to the grid, whose other numbers are
    /// conjugates of that.
    ///
    /// # Safety
    /// `grid` is writable for the grid and `line` readable for half of the line, at the stride, and
    /// only this call uses the grid.
    unsafe fn read_half(
        &self,
        (line, stride): (SyncPtr<Complex<T>>, isize),
        grid: SyncPtr<Complex<T>>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        self.for_each_part(threads, |part, is_conjugate| {
            let ((grid_at, k1, k2), (line_at, along, across)) = (part.grid, part.line);
            // SAFETY: the caller guarantees that both are valid, and other calls have other parts.
            unsafe {
                let from = line.get().offset(line_at * stride).cast_const();
                let from = (from, along * stride, across * stride);
                let to = (grid.get().offset(grid_at), k1, k2);
                if is_conjugate {
                    copy_tile(from, to, part.columns, part.rows, |value| value.conj());
                } else {
                    copy_tile(from, to, part.columns, part.rows, |value| value);
                }
            }
        })?;
        // SAFETY: the first row is part of the grid, and its first half was written above.
        let first = unsafe { std::slice::from_raw_parts_mut(grid.get(), self.columns) };
        first[0].im = T::zero();
        for k2 in 1..=self.columns / 2 {
            first[self.columns - k2] = first[k2].conj();
        }
        Ok(())
    }
}

impl<T: Scalar> PassKernel<T> for RealGrid<T> {
    fn table_bytes(&self) -> usize {
        let turns = size_of_val(&self.near[..]) + size_of_val(&self.far[..]);
        turns + self.column_pass.table_bytes() + table_bytes::<T>(self.columns)
    }

    /// Transforms the lines one after the other, or each on one thread if they are short and
    /// there is one for every thread.
    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        how: (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let lines = self.lines.tiles();
        let is_apart = Self::are_apart(self.rows * self.columns, &self.lines, threads);
        let one = NonZeroUsize::MIN;
        let (at_once, threads) = if is_apart { (threads, one) } else { (one, threads) };
        let len = (self.rows / 2 + 1) * Self::pitch(self.columns);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(at_once, lines, |mut numbers| {
            let mut buffer = ScratchBuffer::take(len.saturating_mul(size_of::<Complex<T>>()))?;
            let grid = SyncPtr::new(buffer.pieces().next::<Complex<T>>(len).as_mut_ptr());
            // SAFETY: `grid` has room for all rows, and only this thread uses it. The caller
            // guarantees the rest.
            numbers.try_for_each(|number| unsafe {
                self.run_line(number, (from.get(), to.get()), grid, how, threads)
            })
        })
    }
}

impl<T: Scalar> RealGrid<T> {
    /// Transforms the line with this number.
    ///
    /// # Safety
    /// As for [`PassKernel::run`]; `grid` is writable for the grid, and only this call uses it.
    unsafe fn run_line(
        &self,
        number: usize,
        (from, to): (*const u8, *mut u8),
        grid: SyncPtr<Complex<T>>,
        (direction, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let (tile, along) = (self.lines.tile(number), self.lines.along);
        let memory = grid.get().cast::<u8>();
        // SAFETY: the tile has one line of the layouts, for which the caller guarantees that the
        // addresses are valid.
        unsafe {
            if self.is_forward {
                let line = from.cast::<T>().offset(tile.from).cast();
                self.column_pass.run(line, memory, (direction, None), threads)?;
                self.transform_rows(grid, threads)?;
                let half = SyncPtr::new(to.cast::<Complex<T>>().offset(tile.to));
                self.write_half(grid, (half, along.to), factor.unwrap_or_else(T::one), threads)
            } else {
                let half = from.cast::<Complex<T>>().offset(tile.from).cast_mut();
                self.read_half((SyncPtr::new(half), along.from), grid, threads)?;
                self.transform_rows(grid, threads)?;
                let line = to.cast::<T>().offset(tile.to).cast();
                self.column_pass.run(memory, line, (direction, factor), threads)
            }
        }
    }
}
