//! The lines of one axis: where each starts, and how a tile of them moves between memory and a
//! buffer.

use std::ops::Mul;

use crate::tensor::{BatchDims, Layout};

/// Lines to gather together: two or four cache lines of neighbours, fewer when lines are very long.
pub(super) fn tile_width(line_bytes: usize) -> usize {
    const LINES: usize = 16;
    const TILE_BYTES: usize = 4 << 20;
    (TILE_BYTES / line_bytes.max(1)).clamp(1, LINES)
}

/// Distances along a line or between lines, in elements, on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct StridePair {
    pub(super) from: isize,
    pub(super) to: isize,
}

/// Some neighbouring lines: where the first one starts on both sides, and how many they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub(super) from: isize,
    pub(super) to: isize,
    pub(super) lines: usize,
}

/// All lines along one axis of an operand, cut into tiles of neighbouring lines.
#[derive(Clone, Debug)]
pub(super) struct LineTiles {
    /// Distance between the points of a line.
    pub(super) along: StridePair,
    /// Distance between the lines of a tile.
    pub(super) across: StridePair,
    inner: usize,
    outer: BatchDims<2>,
    width: usize,
    tiles: usize,
}

impl LineTiles {
    /// The lines along `axis` from one layout to another; the layouts agree on every other extent.
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

    /// Number of lines.
    pub(super) fn count(&self) -> usize {
        self.outer.count() * self.inner
    }

    /// Number of tiles.
    pub(super) fn tiles(&self) -> usize {
        self.tiles
    }

    /// Most lines in one tile.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The tile with this number, in memory order of the `to` side.
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

/// Lines that stand one behind the other in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferLayout {
    /// Points of a line.
    pub(super) points: usize,
    /// Distance between the first points of neighbouring lines.
    pub(super) pitch: usize,
}

impl BufferLayout {
    /// Room for lines of `points` elements of `size` bytes. Longer lines get a pitch of an odd
    /// number of cache lines, so that equal points of neighbouring lines do not compete for one
    /// cache set.
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

    /// Elements that `lines` lines take.
    pub(super) fn len(self, lines: usize) -> usize {
        self.pitch * lines
    }

    /// Whether lines follow each other without a gap.
    pub(super) fn is_gapless(self) -> bool {
        self.pitch == self.points
    }
}

/// Copies strided lines into the racked lines of `buffer`, as many as it has room for.
///
/// # Safety
/// `from` must be readable at `line * across + point * along` for each of those lines and every
/// point.
pub(super) unsafe fn gather<E: Copy>(
    from: *const E,
    along: isize,
    across: isize,
    buffer: &mut [E],
    layout: BufferLayout,
) {
    let lines = buffer.len() / layout.pitch;
    let to = buffer.as_mut_ptr();
    // SAFETY: `to` is indexed below lines * pitch <= buffer.len(); the caller vouches for `from`.
    unsafe {
        let (from, to) = ((from, along, across), (to, 1, layout.pitch as isize));
        copy_tile(from, to, lines, layout.points, |value| value);
    }
}

/// Copies the racked lines of `buffer` to strided lines, times the factor if there is one.
///
/// # Safety
/// `to` must be writable at `line * across + point * along` for each of those lines and every
/// point.
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
    // SAFETY: `from` is indexed below lines * pitch <= buffer.len(); the caller vouches for `to`.
    unsafe {
        match factor {
            None => copy_tile(from, to, lines, layout.points, |value| value),
            Some(factor) => copy_tile(from, to, lines, layout.points, |value| value * factor),
        }
    }
}

/// Copies lines between two places, each with its distances along and across the lines. Full tiles
/// of neighbours have a way of their own.
///
/// # Safety
/// Both sides must be valid at `line * across + point * along` for all lines and points, and must
/// not overlap.
#[inline]
unsafe fn copy_tile<E: Copy>(
    from: (*const E, isize, isize),
    to: (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    // SAFETY: passed on.
    unsafe {
        if (from.2 == 1 || to.2 == 1) && lines == 16 {
            copy_neighbours::<E, 16>(from, to, points, map);
        } else {
            copy_lines(from, to, lines, points, map);
        }
    }
}

/// Copies `LINES` lines, the points outside and a loop of known length inside.
///
/// # Safety
/// Both sides must be valid at `line * across + point * along` for all lines and points, and must
/// not overlap.
#[inline]
unsafe fn copy_neighbours<E: Copy, const LINES: isize>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    points: usize,
    map: impl Fn(E) -> E,
) {
    for point in 0..points as isize {
        // SAFETY: within the extents that the caller vouches for.
        unsafe {
            let from = from.offset(point * from_along);
            let to = to.offset(point * to_along);
            for line in 0..LINES {
                *to.offset(line * to_across) = map(*from.offset(line * from_across));
            }
        }
    }
}

/// Copies lines between two places, each with its distances along and across the lines. The inner
/// loop goes where the strided side has its neighbours.
///
/// # Safety
/// Both sides must be valid at `line * across + point * along` for all lines and points, and must
/// not overlap.
#[inline]
unsafe fn copy_lines<E: Copy>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    let far = |along: isize, across: isize| across.unsigned_abs() >= along.unsigned_abs();
    // SAFETY: within the extents that the caller vouches for.
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
