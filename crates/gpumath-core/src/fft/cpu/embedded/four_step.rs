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
use rustfft::{Fft, FftDirection, FftPlanner};

use super::Scalar;
use super::line_tiles::{BufferLayout, gather, scatter};
use crate::error::Result;
use crate::fft::cpu::scratch::{ScratchBuffer, ScratchPieces};
use crate::parallel::{SyncPtr, parallel_for};

/// Columns, or rows, that a thread works on together: their equal points fill two cache lines, or
/// four in double precision.
const TILE_WIDTH: usize = 16;

/// Points of the shortest line for which several passes over memory are worth while.
const MIN_POINTS: usize = 1 << 14;

/// The grid that a long line is laid out as.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridShape {
    /// Points of the line: rows times columns, or fewer where the grid is padded.
    points: usize,
    rows: usize,
    columns: usize,
}

impl GridShape {
    /// Returns the grid for `lines` lines of `points`, or `None` if rustfft transforms whole lines
    /// faster.
    pub(super) fn new(points: usize, lines: usize, threads: NonZeroUsize) -> Option<Self> {
        if points < MIN_POINTS {
            return None;
        }
        let largest = largest_prime_factor(points);
        if largest > 1000 && points / largest <= 8 {
            let (rows, columns) = padded_grid(2 * points - 1)?;
            return Some(Self { points, rows, columns });
        }
        if largest > 31 || lines >= threads.get() {
            return None;
        }
        let rows = (1..=points.isqrt()).rev().find(|rows| points.is_multiple_of(*rows))?;
        let columns = points / rows;
        (columns <= 8 * rows).then_some(Self { points, rows, columns })
    }
}

fn largest_prime_factor(mut number: usize) -> usize {
    let mut largest = 1;
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            number /= factor;
            largest = factor;
        }
        factor += 1;
    }
    largest.max(number)
}

/// Returns the sides of the smallest grid of at least `least` points whose sides have fast
/// transforms and are near each other.
fn padded_grid(least: usize) -> Option<(usize, usize)> {
    let low = (least / 2).isqrt();
    let fast = |side: usize| side.is_multiple_of(TILE_WIDTH) && largest_prime_factor(side) <= 5;
    let sides: Vec<usize> = (low..=4 * low).filter(|side| fast(*side)).collect();
    sides
        .iter()
        .filter_map(|&rows| {
            let columns = *sides.iter().find(|&&columns| rows * columns >= least)?;
            (columns <= 2 * rows).then_some((rows, columns))
        })
        .min_by_key(|(rows, columns)| rows * columns)
}

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
    ) -> Result<Self> {
        let mut planner = FftPlanner::new();
        let grid = shape.rows * shape.columns;
        let padded = grid != shape.points;
        // The convolution is the same in both directions, but the wave differs.
        let first = if padded { FftDirection::Forward } else { direction };
        let mut fft = Self {
            shape,
            columns: planner.plan_fft(shape.rows, first),
            rows: planner.plan_fft(shape.columns, first),
            twiddles: Twiddles::new(shape, sign(first), threads)?,
            chirp: None,
        };
        if padded {
            let mut wave = vec![Complex::new(T::zero(), T::zero()); shape.points];
            let turn = sign(direction) * PI / shape.points as f64;
            let period = 2 * shape.points as u128;
            fill_parallel(&mut wave, threads, |j| {
                exp_i((j as u128 * j as u128 % period) as f64 * turn)
            })?;
            let zero = Complex::new(T::zero(), T::zero());
            let scale = T::from_f64(1.0 / grid as f64).unwrap_or_else(T::one);
            let mut mirrored = vec![zero; grid];
            for (j, value) in wave.iter().enumerate() {
                mirrored[j] = value.conj() * scale;
                mirrored[(grid - j) % grid] = mirrored[j];
            }
            let mut spectrum = vec![zero; shape.rows * Self::pitch(shape)];
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
                inverse_columns: planner.plan_fft_inverse(shape.rows),
                inverse_rows: planner.plan_fft_inverse(shape.columns),
            });
        }
        Ok(fft)
    }

    /// Transforms one line, and multiplies the result by the factor if there is one. Input and
    /// output may be the same memory.
    ///
    /// # Safety
    /// - `from` is readable and `to` writable for the points of the line, at their strides.
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
    /// - `from` is readable, at the stride, for the points of the line; for as many as the grid has
    ///   if there is no chirp.
    /// - `grid` has room for the grid, and only this call uses it.
    unsafe fn transform_columns(
        &self,
        from: *const Complex<T>,
        stride: isize,
        grid: SyncPtr<Complex<T>>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let GridShape { points, rows, columns } = self.shape;
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
                        for (row, start) in (first..points).step_by(columns).enumerate() {
                            for column in 0..width.min(points - start) {
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

    /// Transforms the columns of a padded grid inversely and writes the points of the line to the
    /// output, multiplied by the wave and the factor.
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
        let GridShape { points, rows, columns } = self.shape;
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
                    for (row, start) in (first..points).step_by(columns).enumerate() {
                        for column in 0..width.min(points - start) {
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

/// The twiddle factors between the two passes over a grid: exp(∓2πi·column·k1/points), as the
/// product of a factor for the first column of a tile and one for the column within the tile. These
/// two tables are small, but a table of the products would be as large as the grid.
struct Twiddles<T: Scalar> {
    rows: usize,
    /// The factors for the first column of each tile, by tile and row.
    tiles: Vec<Complex<T>>,
    /// The factors for each column of a tile, by column and row.
    within: Vec<Complex<T>>,
}

impl<T: Scalar> Twiddles<T> {
    fn new(shape: GridShape, sign: f64, threads: NonZeroUsize) -> Result<Self> {
        let rows = shape.rows;
        let turn = sign * 2.0 * PI / (rows * shape.columns) as f64;
        let zero = Complex::new(T::zero(), T::zero());
        let mut tiles = vec![zero; shape.columns.div_ceil(TILE_WIDTH) * rows];
        let mut within = vec![zero; TILE_WIDTH * rows];
        fill_parallel(&mut tiles, threads, |at| {
            exp_i((at / rows * TILE_WIDTH * (at % rows)) as f64 * turn)
        })?;
        fill_parallel(&mut within, threads, |at| exp_i((at / rows * (at % rows)) as f64 * turn))?;
        Ok(Self { rows, tiles, within })
    }

    /// Multiplies the columns of a tile by their factors, or by the conjugates of these.
    fn apply<const CONJUGATE: bool>(
        &self,
        tile: usize,
        lines: &mut [Complex<T>],
        layout: BufferLayout,
    ) {
        let tile = &self.tiles[tile * self.rows..][..self.rows];
        for (line, within) in
            lines.chunks_exact_mut(layout.pitch).zip(self.within.chunks_exact(self.rows))
        {
            for ((value, tile), within) in line.iter_mut().zip(tile).zip(within) {
                let factor = *tile * *within;
                *value = *value * if CONJUGATE { factor.conj() } else { factor };
            }
        }
    }
}

fn multiply<T: Scalar>(line: &mut [Complex<T>], by: &[Complex<T>]) {
    for (value, by) in line.iter_mut().zip(by) {
        *value = *value * *by;
    }
}

/// Returns the sign of the exponent.
fn sign(direction: FftDirection) -> f64 {
    if direction == FftDirection::Forward { -1.0 } else { 1.0 }
}

/// Returns exp(i·angle).
fn exp_i<T: Scalar>(angle: f64) -> Complex<T> {
    let (sin, cos) = angle.sin_cos();
    let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
    Complex::new(number(cos), number(sin))
}

/// Sets every element to `value` of its index, on several threads.
fn fill_parallel<T: Scalar>(
    values: &mut [Complex<T>],
    threads: NonZeroUsize,
    value: impl Fn(usize) -> Complex<T> + Sync,
) -> Result<()> {
    const CHUNK: usize = 4096;
    let len = values.len();
    let values = SyncPtr::new(values.as_mut_ptr());
    parallel_for(threads, len.div_ceil(CHUNK), |numbers| {
        for number in numbers {
            for at in number * CHUNK..len.min((number + 1) * CHUNK) {
                // SAFETY: the index is below the length of the slice, in a chunk that no other
                // thread has.
                unsafe { *values.get().add(at) = value(at) };
            }
        }
        Ok(())
    })
}
