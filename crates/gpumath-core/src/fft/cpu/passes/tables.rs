//! Tables of the long transforms, which several threads compute.

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::ops::Range;

use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::Scalar;
use super::grid_shape::{GridShape, TILE_WIDTH};
use super::line_tiles::BufferLayout;
use crate::error::Result;
use crate::memory::zeroed;
use crate::parallel::{SyncPtr, parallel_for};

/// What needs the memory, in errors.
pub(super) const PURPOSE: &str = "a transform of this many points on the CPU";

/// The twiddle factors between the two passes over a grid: exp(∓2πi·column·k1/points), as the
/// product of a factor for the first column of a tile and one for the column within the tile. These
/// two tables are small, but a table of the products would be as large as the grid.
pub(super) struct Twiddles<T: Scalar> {
    rows: usize,
    /// The factors for the first column of each tile, by tile and row.
    tiles: Vec<Complex<T>>,
    /// The factors for each column of a tile, by column and row.
    within: Vec<Complex<T>>,
}

impl<T: Scalar> Twiddles<T> {
    pub(super) fn new(shape: GridShape, sign: f64, threads: NonZeroUsize) -> Result<Self> {
        let rows = shape.rows;
        let turn = sign * 2.0 * PI / (rows * shape.columns) as f64;
        let mut tiles = zeroed(shape.columns.div_ceil(TILE_WIDTH) * rows, PURPOSE)?;
        let mut within = zeroed(TILE_WIDTH * rows, PURPOSE)?;
        fill_parallel(&mut tiles, threads, |at| {
            exp_i((at / rows * TILE_WIDTH * (at % rows)) as f64 * turn)
        })?;
        fill_parallel(&mut within, threads, |at| exp_i((at / rows * (at % rows)) as f64 * turn))?;
        Ok(Self { rows, tiles, within })
    }

    /// Returns the number of elements of both tables.
    pub(super) fn len(shape: GridShape) -> usize {
        (shape.columns.div_ceil(TILE_WIDTH) + TILE_WIDTH) * shape.rows
    }

    /// Multiplies the columns of a tile by their factors, or by the conjugates of these.
    pub(super) fn apply<const CONJUGATE: bool>(
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

/// Returns the sign of the exponent.
pub(super) fn sign(direction: FftDirection) -> f64 {
    if direction == FftDirection::Forward { -1.0 } else { 1.0 }
}

/// Returns exp(i·angle).
pub(crate) fn exp_i<T: Scalar>(angle: f64) -> Complex<T> {
    let (sin, cos) = angle.sin_cos();
    let number = |value| T::from_f64(value).unwrap_or_else(T::zero);
    Complex::new(number(cos), number(sin))
}

/// Sets every element to `value` of its index, on several threads.
pub(crate) fn fill_parallel<T: Scalar>(
    values: &mut [Complex<T>],
    threads: NonZeroUsize,
    value: impl Fn(usize) -> Complex<T> + Sync,
) -> Result<()> {
    let len = values.len();
    let values = SyncPtr::new(values.as_mut_ptr());
    for_each_index(len, threads, |at| {
        // SAFETY: the index is below the length of the slice, and no other thread has it.
        unsafe { *values.get().add(at) = value(at) };
    })
}

/// Calls `work` for each index below `count`, on several threads.
pub(super) fn for_each_index(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(usize) + Sync,
) -> Result<()> {
    for_each_range(count, threads, |range| range.for_each(&work))
}

/// Calls `work` for ranges of the indices below `count`, on several threads.
pub(crate) fn for_each_range(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(Range<usize>) + Sync,
) -> Result<()> {
    const LENGTH: usize = 4096;
    parallel_for(threads, count.div_ceil(LENGTH), |numbers| {
        for number in numbers {
            work(number * LENGTH..count.min((number + 1) * LENGTH));
        }
        Ok(())
    })
}
