//! The pass of a complex transform along one axis whose lines are strided, by a transform of
//! several lines at once.
//!
//! Lines that are neighbours in an operand are read from it and written to it as they lie there.
//! Others go through the work memory.

use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use super::Scalar;
use super::line_tiles::{LineTiles, StridePair, Tile};
use crate::error::Result;
use crate::fft::Direction;
use crate::lane_fft::{Ahead, LaneFft};
use crate::memory::{SIDE, ScratchBuffer, ScratchPieces, copy_tile};
use crate::parallel::{SyncPtr, parallel_for};

/// Bytes of a tile, which a thread asks for before it gets there, and most lines of it.
const TILE_BYTES: usize = 1 << 17;
const MOST_LINES: usize = 64;

/// Points of the longest lines for which copies to the lanes and back are worth while.
const MOST_COPIED: usize = 512;

/// The distance at which addresses compete for the same places of a core's second cache, and the
/// number of such places that are left to a tile.
const CACHE_PERIOD: usize = 1 << 16;
const CACHE_WAYS: usize = 8;

/// Points that are copied at a time.
const POINTS: usize = 64;

/// All lines along one axis, with the transform of several.
pub(super) struct LanePass<T: Scalar> {
    fft: LaneFft<T>,
    lines: LineTiles,
    /// Whether equal points of a tile are copied together first, because those at such distances
    /// displace each other in a cache: otherwise each would come from memory for every group.
    is_crowded: bool,
}

impl<T: Scalar> LanePass<T> {
    /// Returns `None` where such lines are transformed one by one.
    pub(super) fn new(points: usize, lines: &LineTiles, threads: NonZeroUsize) -> Option<Self> {
        if lines.along.from == 1 && lines.along.to == 1 {
            return None;
        }
        let fft = LaneFft::new(points).filter(|fft| fft.lanes() <= lines.count())?;
        let mut lines = lines.clone();
        lines.cut_into_tiles(fft.lanes());
        let is_read_in_place = lines.across.from == 1 && lines.width() == fft.lanes();
        if !is_read_in_place && points > MOST_COPIED {
            return None;
        }
        let fair = lines.count() / (4 * threads.get());
        let most = (TILE_BYTES / (points * size_of::<Complex<T>>())).min(fair);
        lines.cut_into_tiles((most / fft.lanes() * fft.lanes()).clamp(fft.lanes(), MOST_LINES));
        let step = lines.along.from.unsigned_abs() * size_of::<Complex<T>>();
        let places = CACHE_PERIOD >> step.trailing_zeros().min(CACHE_PERIOD.trailing_zeros());
        let is_crowded =
            is_read_in_place && lines.width() > fft.lanes() && points > CACHE_WAYS * places;
        Some(Self { fft, lines, is_crowded })
    }

    /// Returns about how many bytes the tables take.
    pub(super) fn table_bytes(&self) -> usize {
        self.fft.table_bytes()
    }

    /// Transforms every line, and multiplies the result by the factor if there is one.
    ///
    /// # Safety
    /// As for [`ComplexPass::run`](super::complex_pass::ComplexPass::run).
    pub(super) unsafe fn run(
        &self,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        direction: Direction,
        factor: Option<T>,
        threads: NonZeroUsize,
    ) -> Result<()> {
        let Self { fft, lines, is_crowded } = self;
        let along = lines.along.from;
        let copied = if *is_crowded { lines.width() * fft.points() } else { 0 };
        let how = (direction == Direction::Inverse, factor.unwrap_or_else(T::one));
        // Narrow tiles share the lanes, wide ones fill them several times.
        let together = (fft.lanes() / lines.width()).max(1);
        let tiles = |number: usize| {
            let first = number * together;
            (first..lines.tiles().min(first + together)).map(|tile| lines.tile(tile))
        };
        let bytes =
            ScratchPieces::bytes::<T>(fft.work_len()) + ScratchPieces::bytes::<Complex<T>>(copied);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(threads, lines.tiles().div_ceil(together), |numbers| {
            let mut buffer = ScratchBuffer::take(bytes)?;
            let mut pieces = buffer.pieces();
            let work = pieces.next::<T>(fft.work_len());
            let copy = pieces.next::<Complex<T>>(copied).as_mut_ptr();
            let (from, to) = (from.get().cast_const(), to.get());
            let mut numbers = numbers.peekable();
            while let Some(number) = numbers.next() {
                // SAFETY: the tiles have lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    if together > 1 {
                        let tiles = tiles(number);
                        self.run_group((from, along), to, &tiles, work, how, Ahead::default());
                        continue;
                    }
                    let tile = lines.tile(number);
                    let mut ahead = match numbers.peek().map(|&next| lines.tile(next)) {
                        Some(next) if lines.across.from == 1 && !is_crowded => {
                            let size = size_of::<Complex<T>>();
                            let distance = (next.from - tile.from) * size as isize;
                            Ahead { distance, bytes: next.lines * size }
                        }
                        _ => Ahead::default(),
                    };
                    let (mut source, mut start) = ((from, along), tile.from);
                    if *is_crowded {
                        for point in 0..fft.points() {
                            let row = from.offset(tile.from + point as isize * along);
                            copy.add(point * lines.width())
                                .copy_from_nonoverlapping(row, tile.lines);
                        }
                        (source, start) = ((copy.cast_const(), lines.width() as isize), 0);
                    }
                    for first in (0..tile.lines).step_by(fft.lanes()) {
                        let part = Tile {
                            from: start + first as isize * lines.across.from,
                            to: tile.to + first as isize * lines.across.to,
                            lines: fft.lanes().min(tile.lines - first),
                        };
                        let part = std::iter::once(part);
                        self.run_group(source, to, &part, work, how, std::mem::take(&mut ahead));
                    }
                }
            }
            Ok(())
        })
    }

    /// Transforms the lines of some tiles, at most as many as there are lanes.
    ///
    /// # Safety
    /// `from` and `to` are valid for these lines.
    unsafe fn run_group(
        &self,
        (from, along): (*const Complex<T>, isize),
        to: *mut Complex<T>,
        tiles: &(impl Iterator<Item = Tile> + Clone),
        work: &mut [T],
        how: (bool, T),
        ahead: Ahead,
    ) {
        let across = self.lines.across;
        let (lanes, points) = (self.fft.lanes(), self.fft.points());
        let [gathered, scattered] = self.fft.places(work);
        let whole = tiles.clone().next().filter(|tile| tile.lines == lanes);
        let count: usize = tiles.clone().map(|tile| tile.lines).sum();
        // SAFETY: the caller guarantees that the operands are valid, and the work memory has places
        // for all lanes.
        unsafe {
            let mut source = (gathered.cast_const(), lanes as isize);
            if let Some(tile) = whole.filter(|_| across.from == 1) {
                source = (from.offset(tile.from), along);
            } else {
                self.copy::<true>(tiles, (from.cast_mut(), along), gathered);
                for point in (0..points).map(|point| gathered.add(point * lanes)) {
                    let rest = std::slice::from_raw_parts_mut(point.add(count), lanes - count);
                    rest.fill(Complex::new(T::zero(), T::zero()));
                }
            }
            if let Some(tile) = whole.filter(|_| across.to == 1) {
                let target = (to.offset(tile.to), self.lines.along.to);
                return self.fft.run(source, target, work, how, ahead);
            }
            self.fft.run(source, (scattered, lanes as isize), work, how, ahead);
            self.copy::<false>(tiles, (to, self.lines.along.to), scattered);
        }
    }

    /// Copies the lines of some tiles to the work memory, or from there to the operand: some points
    /// of a few lines at a time, because those of more lines often compete for a place in a cache.
    ///
    /// # Safety
    /// `operand` is valid for these lines, and `work` for as many lanes.
    unsafe fn copy<const IS_READ: bool>(
        &self,
        tiles: &(impl Iterator<Item = Tile> + Clone),
        (operand, along): (*mut Complex<T>, isize),
        work: *mut Complex<T>,
    ) {
        let (lanes, points) = (self.fft.lanes(), self.fft.points());
        let StridePair { from, to } = self.lines.across;
        let across = if IS_READ { from } else { to };
        for first in (0..points).step_by(POINTS) {
            let points = POINTS.min(points - first);
            let mut lane = first * lanes;
            for tile in tiles.clone() {
                let start = if IS_READ { tile.from } else { tile.to } + first as isize * along;
                let mut done = 0;
                while done < tile.lines {
                    let count = if tile.lines - done < SIDE { 1 } else { SIDE };
                    // SAFETY: these are points of the lines, which the caller guarantees to be
                    // valid.
                    unsafe {
                        let first = operand.offset(start + done as isize * across);
                        let inside = (work.add(lane), lanes as isize, 1);
                        if IS_READ {
                            let outside = (first.cast_const(), along, across);
                            copy_tile(outside, inside, count, points, |value| value);
                        } else {
                            let inside = (inside.0.cast_const(), inside.1, inside.2);
                            copy_tile(inside, (first, along, across), count, points, |value| value);
                        }
                    }
                    (lane, done) = (lane + count, done + count);
                }
            }
        }
    }
}
