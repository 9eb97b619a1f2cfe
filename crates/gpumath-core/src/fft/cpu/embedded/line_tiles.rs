//! The lines of one axis: where each starts, and how a tile of them is copied between an operand
//! and a buffer.
//!
//! Lines along an axis that is not the fastest are strided, so one line alone would use one element
//! of each cache line that it touches. A tile is some neighbouring lines, which together use the
//! whole cache line.

use std::ops::Mul;

use crate::tensor::{BatchDims, Layout};

/// Returns the number of lines to copy together: 16 neighbours, whose equal points fill one to four
/// cache lines, or fewer where lines are very long.
pub(super) fn tile_width(line_bytes: usize) -> usize {
    const LINES: usize = 16;
    const TILE_BYTES: usize = 4 << 20;
    (TILE_BYTES / line_bytes.max(1)).clamp(1, LINES)
}

/// A distance in the operand that a pass reads and in the one that it writes, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct StridePair {
    pub(super) from: isize,
    pub(super) to: isize,
}

/// Some neighbouring lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Offset of the first line in the operand that is read, in elements.
    pub(super) from: isize,
    /// Offset of the first line in the operand that is written, in elements.
    pub(super) to: isize,
    /// Number of lines.
    pub(super) lines: usize,
}

/// All lines along one axis of an operand, cut into tiles of neighbouring lines.
#[derive(Clone, Debug)]
pub(super) struct LineTiles {
    /// Distance between the points of a line.
    pub(super) along: StridePair,
    /// Distance between the lines of a tile.
    pub(super) across: StridePair,
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
    pub(super) fn new(axis: usize, from: &Layout, to: &Layout) -> Self {
        let mut outer = BatchDims::outside(&[axis], [from, to]);
        let inner = outer.pop_fastest();
        let mut lines = Self {
            along: StridePair { from: from.strides[axis] as isize, to: to.strides[axis] as isize },
            across: StridePair { from: inner.strides[0] as isize, to: inner.strides[1] as isize },
            inner: inner.extent as usize,
            outer,
            width: 1,
            tiles: 0,
        };
        lines.cut_into_tiles(1);
        lines
    }

    /// Cuts the lines into tiles of at most `width`.
    pub(super) fn cut_into_tiles(&mut self, width: usize) {
        self.width = width.clamp(1, self.inner.max(1));
        self.tiles = self.outer.count() * self.inner.div_ceil(self.width);
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> usize {
        self.outer.count() * self.inner
    }

    /// Returns the number of tiles.
    pub(super) fn tiles(&self) -> usize {
        self.tiles
    }

    /// Returns the most lines that a tile has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the tile with this number, in the memory order of the operand that is written.
    pub(super) fn tile(&self, number: usize) -> Tile {
        let across = self.inner.div_ceil(self.width);
        let first = number % across * self.width;
        let [from, to] = self.outer.offsets(number / across);
        Tile {
            from: from as isize + first as isize * self.across.from,
            to: to as isize + first as isize * self.across.to,
            lines: self.width.min(self.inner - first),
        }
    }
}

/// How lines follow each other in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferLayout {
    /// Points of a line.
    pub(super) points: usize,
    /// Distance between the first points of neighbouring lines, in elements.
    pub(super) pitch: usize,
}

impl BufferLayout {
    /// Returns the layout for lines of `points` elements of `size` bytes. Lines of 1 KiB and more
    /// get a pitch of an odd number of cache lines, because equal points of neighbouring lines
    /// would compete for one cache set otherwise.
    pub(super) fn new(points: usize, size: usize) -> Self {
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
    pub(super) fn len(self, lines: usize) -> usize {
        self.pitch * lines
    }

    /// Returns whether lines follow each other without a gap.
    pub(super) fn is_gapless(self) -> bool {
        self.pitch == self.points
    }
}

/// Copies strided lines into `buffer`, as many as it has room for.
///
/// # Safety
/// - `from` is readable at `line * across + point * along` for all these lines and their points.
/// - The buffer is apart from these elements.
pub(super) unsafe fn gather<E: Copy>(
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
pub(super) unsafe fn scatter<E: Copy + Mul<T, Output = E>, T: Copy>(
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

/// Copies lines between two places, each given with its strides along and across the lines. Tiles
/// of 16 lines that are neighbours in memory take a faster loop.
///
/// # Safety
/// Both places are valid at `line * across + point * along` for all lines and points, and do not
/// overlap.
#[inline]
unsafe fn copy_tile<E: Copy>(
    from: (*const E, isize, isize),
    to: (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    // SAFETY: the caller guarantees what both functions require.
    unsafe {
        if (from.2 == 1 || to.2 == 1) && lines == 16 {
            copy_neighbours::<E, 16>(from, to, points, map);
        } else {
            copy_lines(from, to, lines, points, map);
        }
    }
}

/// Copies `LINES` lines. The inner loop goes over the lines, because the compiler knows their
/// number.
///
/// # Safety
/// As for [`copy_tile`].
#[inline]
unsafe fn copy_neighbours<E: Copy, const LINES: isize>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    points: usize,
    map: impl Fn(E) -> E,
) {
    for point in 0..points as isize {
        // SAFETY: these are points of lines that the caller guarantees to be valid.
        unsafe {
            let from = from.offset(point * from_along);
            let to = to.offset(point * to_along);
            for line in 0..LINES {
                *to.offset(line * to_across) = map(*from.offset(line * from_across));
            }
        }
    }
}

/// Copies any number of lines. The inner loop goes over the points of a line if they are nearer to
/// each other than the lines in both places, and over the lines otherwise.
///
/// # Safety
/// As for [`copy_tile`].
#[inline]
unsafe fn copy_lines<E: Copy>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    let far = |along: isize, across: isize| across.unsigned_abs() >= along.unsigned_abs();
    // SAFETY: these are points of lines that the caller guarantees to be valid.
    unsafe {
        if far(from_along, from_across) && far(to_along, to_across) {
            for line in 0..lines as isize {
                let (from, to) = (from.offset(line * from_across), to.offset(line * to_across));
                for point in 0..points as isize {
                    *to.offset(point * to_along) = map(*from.offset(point * from_along));
                }
            }
        } else {
            for point in 0..points as isize {
                let (from, to) = (from.offset(point * from_along), to.offset(point * to_along));
                for line in 0..lines as isize {
                    *to.offset(line * to_across) = map(*from.offset(line * from_across));
                }
            }
        }
    }
}
