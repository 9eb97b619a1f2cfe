//! The pass of a transform along one axis by a transform of several lines at once, mostly of lines
//! that are strided.

use std::num::NonZeroUsize;

use super::blocks::are_crowded;
use super::line_tiles::{LineTiles, StridePair, Tile};
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::lane_fft::{Ahead, LaneLines, Rows, StridedLines};
use crate::memory::{ScratchBuffer, ScratchPieces};
use crate::parallel::{SyncPtr, parallel_for};

/// Bytes of a tile, which a thread asks for before it gets there, and most lines of it.
const TILE_BYTES: usize = 1 << 17;
const MOST_LINES: usize = 64;

/// Points of the longest lines for which copies to the lanes and back are worth while.
const MOST_COPIED: usize = 512;

/// All lines along one axis, with the transform of several.
pub(super) struct LanePass<K> {
    fft: K,
    lines: LineTiles,
    /// The number of lines in each row, where `lines` are rows of memory.
    in_rows: Option<usize>,
    /// Whether equal points of a tile are copied together first, because those at such distances
    /// displace each other in a cache: otherwise each would come from memory for every group.
    is_crowded: bool,
}

impl<K: LaneLines> LanePass<K> {
    /// Returns `None` where such lines are transformed one by one.
    pub(super) fn new(points: usize, lines: &LineTiles, threads: NonZeroUsize) -> Option<Self> {
        let fft = K::new(points).filter(|fft| fft.lanes() <= lines.count())?;
        if let Some((mut rows, in_rows)) = lines.rows() {
            rows.cut_into_tiles(fft.lanes());
            let is_filled = rows.fills(fft.lanes()) && rows.tiles() >= threads.get();
            let fits = in_rows < fft.lanes() && fft.rows_work_len(in_rows).is_some();
            // Other lines that are slices take no more time one by one.
            if (in_rows > 1 || fft.suits_rows()) && is_filled && fits {
                return Some(Self { fft, lines: rows, in_rows: Some(in_rows), is_crowded: false });
            }
        }
        if points == 1 || (lines.are_slices() && !fft.suits_rows()) {
            return None;
        }
        let mut lines = lines.clone();
        lines.cut_into_tiles(fft.lanes());
        let is_read_in_place = lines.across.from == 1 && lines.width() == fft.lanes();
        if !is_read_in_place && !lines.are_slices() && points > MOST_COPIED {
            return None;
        }
        let fair = lines.count() / (4 * threads.get());
        let most = (TILE_BYTES / (points * size_of::<K::From>())).min(fair);
        lines.cut_into_tiles((most / fft.lanes() * fft.lanes()).clamp(fft.lanes(), MOST_LINES));
        let step = lines.along.from.unsigned_abs() * size_of::<K::From>();
        let is_crowded =
            is_read_in_place && lines.width() > fft.lanes() && are_crowded(fft.points(), step);
        Some(Self { fft, lines, in_rows: None, is_crowded })
    }
}

impl<T: Scalar, K: LaneLines<Real = T>> PassKernel<T> for LanePass<K> {
    fn table_bytes(&self) -> usize {
        self.fft.table_bytes()
    }

    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        (direction, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let (from, to) = (from.cast::<K::From>(), to.cast::<K::To>());
        let Self { fft, lines, in_rows, is_crowded } = self;
        let along = lines.along;
        let copied = if *is_crowded { lines.width() * fft.points() } else { 0 };
        let how = (direction == Direction::Inverse, factor.unwrap_or_else(T::one));
        // Narrow tiles share the lanes, wide ones fill them several times.
        let together = (fft.lanes() / lines.width()).max(1);
        let work_len = in_rows.map_or(Some(fft.work_len()), |rows| fft.rows_work_len(rows));
        let work_len = work_len.unwrap_or_default();
        let bytes =
            ScratchPieces::bytes::<K::Real>(work_len) + ScratchPieces::bytes::<K::From>(copied);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(threads, lines.tiles().div_ceil(together), |numbers| {
            let mut buffer = ScratchBuffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let work = pieces.next::<K::Real>(work_len);
            let copy = pieces.next::<K::From>(copied).as_mut_ptr();
            let (from, to) = (from.get().cast_const(), to.get());
            let mut group = Group { from: Vec::new(), to: Vec::new() };
            let mut numbers = numbers.peekable();
            while let Some(number) = numbers.next() {
                // SAFETY: the tiles have lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    if let Some(in_rows) = *in_rows {
                        let tile = lines.tile(number);
                        let (first, count) = (from.cast_mut().offset(tile.from), tile.lines);
                        let from = Rows { first, across: lines.across.from, count };
                        let first = to.offset(tile.to);
                        let to = Rows { first, across: lines.across.to, count };
                        fft.run_rows(from, to, in_rows, work, how);
                        continue;
                    }
                    if together > 1 {
                        let first = number * together;
                        let tiles = first..lines.tiles().min(first + together);
                        group.clear();
                        for tile in tiles.map(|tile| lines.tile(tile)) {
                            group.push(tile, (from, to), along, lines.across);
                        }
                        fft.run_lines(&group.from, &group.to, work, how, Ahead::default());
                        continue;
                    }
                    let tile = lines.tile(number);
                    let mut ahead = match numbers.peek().map(|&next| lines.tile(next)) {
                        Some(next) if lines.across.from == 1 && !is_crowded => {
                            let size = size_of::<K::From>();
                            let distance = (next.from - tile.from) * size as isize;
                            Ahead { distance, bytes: next.lines * size }
                        }
                        _ => Ahead::default(),
                    };
                    let (mut source, mut start, mut along) = (from, tile.from, along);
                    if *is_crowded {
                        for point in 0..fft.points() {
                            let row = from.offset(tile.from + point as isize * along.from);
                            copy.add(point * lines.width())
                                .copy_from_nonoverlapping(row, tile.lines);
                        }
                        (source, start) = (copy.cast_const(), 0);
                        along.from = lines.width() as isize;
                    }
                    let last = tile.lines.saturating_sub(fft.lanes());
                    for first in (0..tile.lines).step_by(fft.lanes()) {
                        // Whole lanes take less time, even if some lines come again.
                        let first = if K::IS_APART { first.min(last) } else { first };
                        let part = Tile {
                            from: start + first as isize * lines.across.from,
                            to: tile.to + first as isize * lines.across.to,
                            lines: fft.lanes().min(tile.lines - first),
                        };
                        group.clear();
                        group.push(part, (source, to), along, lines.across);
                        let ahead = std::mem::take(&mut ahead);
                        fft.run_lines(&group.from, &group.to, work, how, ahead);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Tiles whose lines are transformed at once.
struct Group<From, To> {
    from: Vec<StridedLines<From>>,
    to: Vec<StridedLines<To>>,
}

impl<From, To> Group<From, To> {
    fn clear(&mut self) {
        self.from.clear();
        self.to.clear();
    }

    /// Adds the lines of a tile of the operands at these addresses.
    fn push(
        &mut self,
        tile: Tile,
        (from, to): (*const From, *mut To),
        along: StridePair,
        across: StridePair,
    ) {
        let (first, count) = (from.cast_mut().wrapping_offset(tile.from), tile.lines);
        self.from.push(StridedLines { first, along: along.from, across: across.from, count });
        let first = to.wrapping_offset(tile.to);
        self.to.push(StridedLines { first, along: along.to, across: across.to, count });
    }
}
