//! The lines of one axis: where each starts, and how a tile of them is copied between an operand
//! and a buffer.
//!
//! Lines along an axis that is not the fastest are strided, so one line alone would use one element
//! of each cache line that it touches. A tile is some neighbouring lines, which together use the
//! whole cache line.

use std::num::NonZeroUsize;
use std::ops::{Mul, Range};

use crate::memory::copy_tile;
use crate::tensor::{BatchDims, Layout};

/// A distance in the operand that a pass reads and in the one that it writes, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridePair {
    pub(crate) from: isize,
    pub(crate) to: isize,
}

/// Some neighbouring lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// Offset of the first line in the operand that is read, in elements.
    pub(crate) from: isize,
    /// Offset of the first line in the operand that is written, in elements.
    pub(crate) to: isize,
    /// Number of lines.
    pub(crate) lines: usize,
}

/// All lines along one axis of an operand, cut into tiles of neighbouring lines.
#[derive(Clone, Debug)]
pub(crate) struct LineTiles {
    /// Distance between the points of a line.
    pub(crate) along: StridePair,
    /// Distance between the lines of a tile.
    pub(crate) across: StridePair,
    /// Number of lines along the fastest batch dimension; a tile does not reach beyond them.
    inner: usize,
    /// The other batch dimensions.
    outer: BatchDims<2>,
    /// Most lines in one tile.
    width: usize,
    tiles: usize,
}

impl LineTiles {
    /// Returns the lines along `axis`, in tiles of one line. Both layouts have the same extents
    /// along every other axis.
    pub(crate) fn new(axis: usize, from: &Layout, to: &Layout) -> Self {
        let mut outer = BatchDims::outside(&[axis], [from, to]);
        let along = StridePair { from: from.strides[axis] as isize, to: to.strides[axis] as isize };
        // Lines that are written as slices need not be neighbours there, but where they are read.
        let is_transposed = along.to == 1 && along.from != 1;
        let inner = outer.pop_fastest_of(usize::from(!is_transposed));
        let mut lines = Self {
            along,
            across: StridePair { from: inner.strides[0] as isize, to: inner.strides[1] as isize },
            inner: inner.extent as usize,
            outer,
            width: 1,
            tiles: 0,
        };
        lines.cut_into_tiles(1);
        lines
    }

    /// Returns the rows of memory that the lines fill in both operands, and the number of lines in
    /// a row, whose points take turns there. `None` if the lines are not in rows.
    pub(super) fn rows(&self) -> Option<(Self, usize)> {
        let (mut rows, lines) = (self.clone(), self.along.from);
        if lines != self.along.to || lines < 1 {
            return None;
        }
        if lines > 1 {
            if self.inner as isize != lines || self.across.from != 1 || self.across.to != 1 {
                return None;
            }
            let next = rows.outer.pop_fastest_of(1);
            rows.across =
                StridePair { from: next.strides[0] as isize, to: next.strides[1] as isize };
            rows.inner = next.extent as usize;
        }
        Some((rows, lines as usize))
    }

    /// Cuts the lines into tiles of lines to be copied together, each of so many bytes: 16 where
    /// they are neighbours, whose equal points fill one to four cache lines; more where the tile is
    /// in a cache and each thread has several of them, and fewer where lines are very long.
    pub(crate) fn cut_for_copies(&mut self, line_bytes: usize, threads: NonZeroUsize) {
        const MOST_LINES: usize = 64;
        const MOST_BYTES: usize = 4 << 20;
        let least = if self.across.from == 1 || self.across.to == 1 { 16 } else { 1 };
        let line_bytes = line_bytes.max(1);
        let is_strided = self.along.from != 1 || self.along.to != 1;
        let cached = if is_strided { 512 << 10 } else { 32 << 10 } / line_bytes;
        let fair = self.count() / (4 * threads.get());
        let width = (cached.min(fair) / least * least).clamp(least, MOST_LINES);
        self.cut_into_tiles(width.min(MOST_BYTES / line_bytes));
    }

    /// Returns whether each line is a slice of both operands.
    pub(crate) fn are_slices(&self) -> bool {
        self.along.from == 1 && self.along.to == 1
    }

    /// Returns the share of places that would have no line in tiles of `width`.
    pub(crate) fn share_of_empty(&self, width: usize) -> f64 {
        1.0 - self.inner as f64 / self.inner.next_multiple_of(width).max(1) as f64
    }

    /// Cuts the lines into tiles of at most `width`.
    pub(crate) fn cut_into_tiles(&mut self, width: usize) {
        self.width = width.clamp(1, self.inner.max(1));
        self.tiles = self.outer.count() * self.inner.div_ceil(self.width);
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> usize {
        self.outer.count() * self.inner
    }

    /// Returns the number of lines along the fastest batch dimension, which tiles do not exceed.
    pub(crate) fn neighbours(&self) -> usize {
        self.inner
    }

    /// Returns the number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.tiles
    }

    /// Returns the most lines that a tile has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the tile with this number, in the memory order of the operand that is written.
    pub(crate) fn tile(&self, number: usize) -> Tile {
        let across = self.inner.div_ceil(self.width);
        let first = number % across * self.width;
        self.tile_of(number / across, first, self.width.min(self.inner - first))
    }

    /// Returns the lines with these numbers, in the same order and whatever the tiles are: those
    /// that are neighbours together.
    pub(crate) fn parts(&self, mut numbers: Range<usize>) -> impl Iterator<Item = Tile> {
        std::iter::from_fn(move || {
            if numbers.is_empty() {
                return None;
            }
            let first = numbers.start % self.inner;
            let lines = numbers.len().min(self.inner - first);
            let part = self.tile_of(numbers.start / self.inner, first, lines);
            numbers.start += lines;
            Some(part)
        })
    }

    fn tile_of(&self, entry: usize, first: usize, lines: usize) -> Tile {
        let [from, to] = self.outer.offsets(entry);
        Tile {
            from: from as isize + first as isize * self.across.from,
            to: to as isize + first as isize * self.across.to,
            lines,
        }
    }
}

/// How lines follow each other in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferLayout {
    /// Points of a line.
    pub(crate) points: usize,
    /// Distance between the first points of neighbouring lines, in elements.
    pub(crate) pitch: usize,
}

impl BufferLayout {
    /// Returns the layout for lines of `points` elements of `size` bytes. Lines of 1 KiB and more
    /// get a pitch of an odd number of cache lines, because equal points of neighbouring lines
    /// would compete for one cache set otherwise.
    pub(crate) fn new(points: usize, size: usize) -> Self {
        const CACHE_LINE: usize = 64;
        let bytes = points * size;
        let pitch = if bytes < 16 * CACHE_LINE {
            points
        } else {
            (bytes.div_ceil(CACHE_LINE) | 1) * CACHE_LINE / size
        };
        Self { points, pitch }
    }

    /// Returns the number of elements that `lines` lines take.
    pub(crate) fn len(self, lines: usize) -> usize {
        self.pitch * lines
    }

    /// Returns whether lines follow each other without a gap.
    pub(crate) fn is_gapless(self) -> bool {
        self.pitch == self.points
    }
}

/// Copies strided lines into `buffer`, as many as it has room for.
///
/// # Safety
/// - `from` is readable at `line * across + point * along` for all these lines and their points.
/// - The buffer is apart from these elements.
pub(crate) unsafe fn gather<E: Copy>(
    from: *const E,
    along: isize,
    across: isize,
    buffer: &mut [E],
    layout: BufferLayout,
) {
    let lines = buffer.len() / layout.pitch;
    let to = buffer.as_mut_ptr();
    // SAFETY: `to` is indexed below lines * pitch <= buffer.len(). The caller guarantees that
    // `from` is readable.
    unsafe {
        let (from, to) = ((from, along, across), (to, 1, layout.pitch as isize));
        copy_tile(from, to, lines, layout.points, |value| value);
    }
}

/// Copies the lines of `buffer` to strided lines, multiplied by the factor if there is one.
///
/// # Safety
/// - `to` is writable at `line * across + point * along` for all these lines and their points.
/// - The buffer is apart from these elements.
pub(crate) unsafe fn scatter<E: Copy + Mul<T, Output = E>, T: Copy>(
    buffer: &[E],
    layout: BufferLayout,
    to: *mut E,
    along: isize,
    across: isize,
    factor: Option<T>,
) {
    let lines = buffer.len() / layout.pitch;
    let (from, to) = ((buffer.as_ptr(), 1, layout.pitch as isize), (to, along, across));
    // SAFETY: `from` is indexed below lines * pitch <= buffer.len(). The caller guarantees that
    // `to` is writable.
    unsafe {
        match factor {
            None => copy_tile(from, to, lines, layout.points, |value| value),
            Some(factor) => copy_tile(from, to, lines, layout.points, |value| value * factor),
        }
    }
}
