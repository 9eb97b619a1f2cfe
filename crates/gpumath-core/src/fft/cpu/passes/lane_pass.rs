//! The pass of a transform along one axis by a transform of several lines at once, mostly of lines
//! that are strided.

use std::num::NonZeroUsize;

use super::blocks::MOST_BYTES;
use super::line_tiles::LineTiles;
use super::{PassKernel, Scalar};
use crate::error::Result;
use crate::fft::Direction;
use crate::lane_fft::{LaneLines, Rows, StridedLines};
use crate::memory::{ScratchBuffer, ScratchPieces};
use crate::parallel::{SyncPtr, parallel_for};

/// Bytes of a tile, which a thread asks for before it gets there, and most lines of it.
const TILE_BYTES: usize = 1 << 17;
const MOST_LINES: usize = 32;

/// Points of the longest lines for which copies to the lanes and back are worth while, where slices
/// take less time one by one.
const MOST_COPIED: usize = 512;

/// All lines along one axis, with the transform of several.
pub(super) struct LanePass<K> {
    fft: K,
    lines: LineTiles,
    /// The number of lines in each row, where `lines` are rows of memory.
    in_rows: Option<usize>,
}

impl<K: LaneLines> LanePass<K> {
    /// Returns `None` where such lines are transformed one by one.
    pub(super) fn new(points: usize, lines: &LineTiles, threads: NonZeroUsize) -> Option<Self> {
        let fft = K::for_lines(points, lines.count())?;
        if let Some((mut rows, in_rows)) = lines.rows() {
            rows.cut_into_tiles(fft.lanes());
            let is_filled =
                rows.share_of_empty(fft.lanes()) <= 0.25 && rows.tiles() >= threads.get();
            let fits = in_rows < fft.lanes() && fft.rows_work_len(in_rows).is_some();
            // Other lines that are slices take no more time one by one.
            if (in_rows > 1 || fft.suits_rows()) && is_filled && fits {
                return Some(Self { fft, lines: rows, in_rows: Some(in_rows) });
            }
        }
        if points == 1 || (lines.are_slices() && !fft.suits_rows()) {
            return None;
        }
        let mut lines = lines.clone();
        lines.cut_into_tiles(fft.lanes());
        let is_read_in_place = lines.across.from == 1 && lines.width() == fft.lanes();
        // Where even slices gain by the lanes, lines that are copied in any case gain more.
        if !is_read_in_place && points > MOST_COPIED && !fft.suits_rows() {
            return None;
        }
        let fair = lines.count() / (4 * threads.get());
        let most = (TILE_BYTES / (points * size_of::<K::From>())).min(fair);
        lines.cut_into_tiles((most / fft.lanes() * fft.lanes()).clamp(fft.lanes(), MOST_LINES));
        Some(Self { fft, lines, in_rows: None })
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
        let Self { fft, lines, in_rows } = self;
        let (along, across, count) = (lines.along, lines.across, fft.points());
        let is_inplace = std::ptr::addr_eq(from, to);
        let is_cached = is_inplace && lines.count() * count * size_of::<K::From>() <= MOST_BYTES;
        let how = (direction == Direction::Inverse, factor.unwrap_or_else(T::one));
        // Narrow tiles share the lanes, wide ones fill them several times.
        let together = (fft.lanes() / lines.width()).max(1);
        let work_len = in_rows.map_or(Some(fft.work_len()), |rows| fft.rows_work_len(rows));
        let work_len = work_len.unwrap_or_default();
        let bytes = ScratchPieces::bytes::<K::Real>(work_len);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(threads, lines.tiles().div_ceil(together), |numbers| {
            let mut buffer = ScratchBuffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let work = pieces.next::<K::Real>(work_len);
            let (from, to) = (from.get(), to.get());
            let from_lines = StridedLines::new(from, along.from, across.from, 1);
            let to_lines = StridedLines::new(to, along.to, across.to, 1);
            let (mut group_from, mut group_to) = (Vec::new(), Vec::new());
            let mut numbers = numbers.peekable();
            while let Some(number) = numbers.next() {
                // SAFETY: the tiles have lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    if together > 1 {
                        let first = number * together;
                        group_from.clear();
                        group_to.clear();
                        for number in first..lines.tiles().min(first + together) {
                            let tile = lines.tile(number);
                            group_from.push(from_lines.part(tile.from, tile.lines));
                            group_to.push(to_lines.part(tile.to, tile.lines));
                        }
                        fft.run_lines(&group_from, &group_to, work, how);
                        continue;
                    }
                    let tile = lines.tile(number);
                    let (first, result) = (from.offset(tile.from), to.offset(tile.to));
                    if let Some(in_rows) = *in_rows {
                        let from = Rows { first, across: across.from, count: tile.lines };
                        let to = Rows { first: result, across: across.to, count: tile.lines };
                        fft.run_rows(from, to, in_rows, work, how);
                        continue;
                    }
                    let mut source = from_lines.part(tile.from, tile.lines);
                    let mut target = to_lines.part(tile.to, tile.lines);
                    // What is in a cache need not be asked for, as results in the place of points.
                    if let Some(next) = numbers.peek().map(|&next| lines.tile(next)) {
                        source.ahead = if is_cached { 0 } else { next.from - tile.from };
                        target.ahead = if is_inplace { 0 } else { next.to - tile.to };
                    }
                    let last = tile.lines.saturating_sub(fft.lanes());
                    for line in (0..tile.lines).step_by(fft.lanes()) {
                        // Whole lanes take less time, even if some lines come again.
                        let line = if K::IS_APART { line.min(last) } else { line };
                        let count = fft.lanes().min(tile.lines - line);
                        let from = source.part(line as isize * source.across, count);
                        let to = target.part(line as isize * target.across, count);
                        fft.run_lines(&[from], &[to], work, how);
                    }
                }
            }
            Ok(())
        })
    }
}
