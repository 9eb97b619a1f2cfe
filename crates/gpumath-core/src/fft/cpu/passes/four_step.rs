//! The four-step algorithm (Bailey, 1990): a long line as a grid, so that several threads can work
//! on it and each column fits in a cache.
//!
//! With j = j1·columns + j2 and k = k1 + rows·k2, a transform of rows·columns points is one over
//! the columns (j1 → k1), a twiddle factor exp(∓2πi·j2·k1/points), and one over the rows (j2 → k2).
//! Lengths with a large prime factor become a convolution with a chirp ([Bluestein][]), whose two
//! transforms of a padded grid share their pass over the rows.
//!
//! [Bluestein]: https://en.wikipedia.org/wiki/Chirp_Z-transform#Bluestein's_algorithm

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::Scalar;
use super::grid_shape::{GridShape, TILE_WIDTH};
use super::line_tiles::{BufferLayout, gather, scatter};
use super::short_lines::{plan_line_by, table_bytes};
use super::tables::{PURPOSE, Twiddles, exp_i, fill_parallel, for_each_index, sign};
use crate::error::Result;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::memory::{ScratchBuffer, ScratchPieces, zeroed};
use crate::parallel::{SyncPtr, parallel_for};

/// A planned transform of one long line in one direction.
pub(super) struct FourStepFft<T: Scalar> {
    shape: GridShape,
    /// The transform of a column.
    columns: Arc<dyn Fft<T>>,
    /// The transform of a row.
    rows: Arc<dyn Fft<T>>,
    twiddles: Twiddles<T>,
    /// `None` if the grid is not padded.
    chirp: Option<Chirp<T>>,
}

/// The additions to a padded grid that make its two transforms a convolution (Bluestein).
struct Chirp<T: Scalar> {
    /// exp(∓πi·j²/points)
    wave: Vec<Complex<T>>,
    /// The transform of the conjugate wave over the padded grid, divided by the number of points of
    /// the grid, in the order in which the pass over the rows leaves it.
    spectrum: Vec<Complex<T>>,
    inverse_columns: Arc<dyn Fft<T>>,
    inverse_rows: Arc<dyn Fft<T>>,
}

impl<T: Scalar> FourStepFft<T> {
    pub(super) fn new(
        shape: GridShape,
        direction: FftDirection,
        threads: NonZeroUsize,
        library: Option<&FftwPlanner>,
    ) -> Result<Self> {
        let grid = shape.rows * shape.columns;
        let padded = shape.is_padded();
        // The convolution is the same in both directions, but the wave differs.
        let first = if padded { FftDirection::Forward } else { direction };
        let mut fft = Self {
            shape,
            columns: plan_line_by(library, shape.rows, first)?,
            rows: plan_line_by(library, shape.columns, first)?,
            twiddles: Twiddles::new(shape, sign(first), threads)?,
            chirp: None,
        };
        if padded {
            let mut wave = zeroed(shape.points, PURPOSE)?;
            let turn = sign(direction) * PI / shape.points as f64;
            let period = 2 * shape.points as u128;
            fill_parallel(&mut wave, threads, |j| {
                exp_i((j as u128 * j as u128 % period) as f64 * turn)
            })?;
            let scale = T::from_f64(1.0 / grid as f64).unwrap_or_else(T::one);
            let mut mirrored = zeroed::<Complex<T>>(grid, PURPOSE)?;
            let at = SyncPtr::new(mirrored.as_mut_ptr());
            for_each_index(shape.points, threads, |j| {
                let value = wave[j].conj() * scale;
                // SAFETY: both indices are below the length, and no other `j` has them, because the
                // grid has at least `read + written - 1` points.
                unsafe {
                    if j < shape.written {
                        *at.get().add(j) = value;
                    }
                    if j < shape.read {
                        *at.get().add((grid - j) % grid) = value;
                    }
                }
            })?;
            let mut spectrum = zeroed(shape.rows * Self::pitch(shape), PURPOSE)?;
            let at = SyncPtr::new(spectrum.as_mut_ptr());
            // SAFETY: `mirrored` and `spectrum` have room for the grid, and belong to this
            // function.
            unsafe {
                fft.transform_columns(mirrored.as_ptr(), 1, at, threads)?;
                fft.for_each_row(at, threads, |rows, _, line, scratch| {
                    rows.process_with_scratch(line, scratch);
                })?;
            }
            fft.chirp = Some(Chirp {
                wave,
                spectrum,
                inverse_columns: plan_line_by(library, shape.rows, FftDirection::Inverse)?,
                inverse_rows: plan_line_by(library, shape.columns, FftDirection::Inverse)?,
            });
        }
        Ok(fft)
    }

    /// Returns about how many bytes the tables take of such a transform, in one direction.
    pub(super) fn table_bytes(shape: GridShape) -> usize {
        let element = size_of::<Complex<T>>();
        let sides = table_bytes::<T>(shape.rows) + table_bytes::<T>(shape.columns);
        let twiddles = Twiddles::<T>::len(shape) * element;
        if shape.is_padded() {
            let chirp = shape.points + shape.rows * Self::pitch(shape);
            2 * sides + twiddles + chirp * element
        } else {
            sides + twiddles
        }
    }

    /// Transforms one line, and multiplies the result by the factor if there is one. Input and
    /// output may be the same memory.
    ///
    /// # Safety
    /// - `from` is readable and `to` writable, at their strides, for as many points as the shape
    ///   says that are read and written.
    /// - No other thread uses that memory during the call.
    pub(super) unsafe fn run(
        &self,
        (from, from_stride): (*const Complex<T>, isize),
        (to, to_stride): (*mut Complex<T>, isize),
        factor: Option<T>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let len = self.shape.rows * Self::pitch(self.shape);
        let mut buffer = ScratchBuffer::take(len * size_of::<Complex<T>>())?;
        let grid = SyncPtr::new(buffer.pieces().next::<Complex<T>>(len).as_mut_ptr());
        // SAFETY: `grid` has room for all rows. The caller guarantees that `from` and `to` are
        // valid.
        unsafe {
            self.transform_columns(from, from_stride, grid, threads)?;
            match &self.chirp {
                None => self.rows_to_output(grid, (to, to_stride), factor, threads),
                Some(chirp) => {
                    let pitch = Self::pitch(self.shape);
                    self.for_each_row(grid, threads, |rows, number, line, scratch| {
                        rows.process_with_scratch(line, scratch);
                        multiply(line, &chirp.spectrum[number * pitch..]);
                        chirp.inverse_rows.process_with_scratch(line, scratch);
                    })?;
                    self.columns_to_output(chirp, grid, (to, to_stride), factor, threads)
                }
            }
        }
    }

    /// Returns the distance between the rows of the grid, in elements.
    fn pitch(shape: GridShape) -> usize {
        BufferLayout::new(shape.columns, size_of::<Complex<T>>()).pitch
    }

    /// Transforms the columns of the input, or of its product with the wave, and writes them to the
    /// grid, multiplied by the twiddles.
    ///
    /// # Safety
    /// - `from` is readable, at the stride, for the points that are read; for as many as the grid
    ///   has if there is no chirp.
    /// - `grid` has room for the grid, and only this call uses it.
    unsafe fn transform_columns(
        &self,
        from: *const Complex<T>,
        stride: isize,
        grid: SyncPtr<Complex<T>>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let GridShape { read, rows, columns, .. } = self.shape;
        let from = SyncPtr::new(from.cast_mut());
        let fft = self.columns.as_ref();
        let layout = BufferLayout::new(rows, size_of::<Complex<T>>());
        Self::for_each_tile(
            columns,
            layout,
            fft.get_inplace_scratch_len(),
            threads,
            |tile, lines, scratch| {
                let first = tile * TILE_WIDTH;
                // SAFETY: these are columns of the line and of the grid, for which the caller
                // guarantees that both are valid. No other tile has these columns.
                unsafe {
                    let from = from.get();
                    if let Some(chirp) = &self.chirp {
                        lines.fill(Complex::new(T::zero(), T::zero()));
                        let width = lines.len() / layout.pitch;
                        for (row, start) in (first..read).step_by(columns).enumerate() {
                            for column in 0..width.min(read - start) {
                                let j = start + column;
                                lines[column * layout.pitch + row] =
                                    *from.offset(j as isize * stride) * chirp.wave[j];
                            }
                        }
                    } else {
                        let from = from.offset(first as isize * stride);
                        gather(from, columns as isize * stride, stride, lines, layout);
                    }
                    for line in lines.chunks_exact_mut(layout.pitch) {
                        fft.process_with_scratch(&mut line[..rows], scratch);
                    }
                    self.twiddles.apply::<false>(tile, lines, layout);
                    let grid = grid.get().add(first);
                    scatter::<_, T>(lines, layout, grid, Self::pitch(self.shape) as isize, 1, None);
                }
            },
        )
    }

    /// Calls `work` for each row, with the transform of a row, the number of the row, the row, and
    /// work memory.
    ///
    /// # Safety
    /// `grid` is valid for the grid, and only this call uses it.
    unsafe fn for_each_row<F>(
        &self,
        grid: SyncPtr<Complex<T>>,
        threads: NonZeroUsize,
        work: F,
    ) -> Result<()>
    where
        F: Fn(&dyn Fft<T>, usize, &mut [Complex<T>], &mut [Complex<T>]) + Sync,
    {
        let GridShape { rows, columns, .. } = self.shape;
        let fft = self.rows.as_ref();
        let back =
            self.chirp.as_ref().map_or(0, |chirp| chirp.inverse_rows.get_inplace_scratch_len());
        let scratch_len = fft.get_inplace_scratch_len().max(back);
        parallel_for(threads, rows, |numbers| {
            let mut buffer = ScratchBuffer::take(scratch_len * size_of::<Complex<T>>())?;
            let scratch = buffer.pieces().next::<Complex<T>>(scratch_len);
            for number in numbers {
                // SAFETY: the caller guarantees that the grid is valid, and no other thread has
                // this row.
                let line = unsafe {
                    let start = grid.get().add(number * Self::pitch(self.shape));
                    std::slice::from_raw_parts_mut(start, columns)
                };
                work(fft, number, line, scratch);
            }
            Ok(())
        })
    }

    /// Transforms the rows of the grid and writes them to the output, multiplied by the factor.
    ///
    /// # Safety
    /// - `grid` is valid for the grid, and nobody writes to it during the call.
    /// - `to` is writable for the points of the line, at the stride, and only this call uses it.
    unsafe fn rows_to_output(
        &self,
        grid: SyncPtr<Complex<T>>,
        (to, stride): (*mut Complex<T>, isize),
        factor: Option<T>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let GridShape { rows, columns, .. } = self.shape;
        let to = SyncPtr::new(to);
        let fft = self.rows.as_ref();
        let layout = BufferLayout::new(columns, size_of::<Complex<T>>());
        let scratch_len = fft.get_immutable_scratch_len();
        Self::for_each_tile(rows, layout, scratch_len, threads, |tile, lines, scratch| {
            let first = tile * TILE_WIDTH;
            // SAFETY: these are rows of the grid, which are only read, and their points of the
            // line. The caller guarantees that both are valid, and no other tile has these points.
            unsafe {
                for (row, line) in lines.chunks_exact_mut(layout.pitch).enumerate() {
                    let start = grid.get().add((first + row) * layout.pitch);
                    let source = std::slice::from_raw_parts(start, columns);
                    fft.process_immutable_with_scratch(source, &mut line[..columns], scratch);
                }
                let to = to.get().offset(first as isize * stride);
                scatter(lines, layout, to, rows as isize * stride, stride, factor);
            }
        })
    }

    /// Transforms the columns of a padded grid inversely and writes the points that are wanted of
    /// the line to the output, multiplied by the wave and the factor.
    ///
    /// # Safety
    /// As for [`Self::rows_to_output`].
    unsafe fn columns_to_output(
        &self,
        chirp: &Chirp<T>,
        grid: SyncPtr<Complex<T>>,
        (to, stride): (*mut Complex<T>, isize),
        factor: Option<T>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let GridShape { written, rows, columns, .. } = self.shape;
        let to = SyncPtr::new(to);
        let factor = factor.unwrap_or_else(T::one);
        let fft = chirp.inverse_columns.as_ref();
        let layout = BufferLayout::new(rows, size_of::<Complex<T>>());
        Self::for_each_tile(
            columns,
            layout,
            fft.get_inplace_scratch_len(),
            threads,
            |tile, lines, scratch| {
                let first = tile * TILE_WIDTH;
                // SAFETY: these are columns of the grid, which are only read, and their points of
                // the line. The caller guarantees that both are valid, and no other tile has these
                // points.
                unsafe {
                    let pitch = Self::pitch(self.shape) as isize;
                    gather(grid.get().add(first), pitch, 1, lines, layout);
                    self.twiddles.apply::<true>(tile, lines, layout);
                    let to = to.get();
                    for line in lines.chunks_exact_mut(layout.pitch) {
                        fft.process_with_scratch(&mut line[..rows], scratch);
                    }
                    let width = lines.len() / layout.pitch;
                    for (row, start) in (first..written).step_by(columns).enumerate() {
                        for column in 0..width.min(written - start) {
                            let j = start + column;
                            *to.offset(j as isize * stride) =
                                lines[column * layout.pitch + row] * chirp.wave[j] * factor;
                        }
                    }
                }
            },
        )
    }

    /// Calls `work` for each tile of up to [`TILE_WIDTH`] of `count` lines, with the number of the
    /// tile, a buffer for its lines, and work memory.
    fn for_each_tile<F>(
        count: usize,
        layout: BufferLayout,
        scratch_len: usize,
        threads: NonZeroUsize,
        work: F,
    ) -> Result<()>
    where
        F: Fn(usize, &mut [Complex<T>], &mut [Complex<T>]) + Sync,
    {
        let lines_len = layout.len(TILE_WIDTH);
        let bytes = ScratchPieces::bytes::<Complex<T>>(lines_len)
            + ScratchPieces::bytes::<Complex<T>>(scratch_len);
        parallel_for(threads, count.div_ceil(TILE_WIDTH), |numbers| {
            let mut buffer = ScratchBuffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let lines = pieces.next::<Complex<T>>(lines_len);
            let scratch = pieces.next::<Complex<T>>(scratch_len);
            for tile in numbers {
                let width = TILE_WIDTH.min(count - tile * TILE_WIDTH);
                work(tile, &mut lines[..layout.len(width)], scratch);
            }
            Ok(())
        })
    }
}

fn multiply<T: Scalar>(line: &mut [Complex<T>], by: &[Complex<T>]) {
    for (value, by) in line.iter_mut().zip(by) {
        *value = *value * *by;
    }
}
