//! Transforms of lines that lie in rows of memory: as many rows at once as there are lanes.
//!
//! A row has one line, or several whose points take turns, such as the colours of an image. Rows
//! are transposed on their way to the lanes and back.

use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};
use rustfft::num_complex::Complex;

use super::transposition::{transpose_back, transpose_four};
use super::{Ahead, Lane, LaneFft, WORK_BYTES, has_slow_factors, largest_prime_factor};

/// Points of a row that are moved at a time.
const POINTS: usize = 4;

/// Points of the longest rows in double precision with a large prime factor.
const MOST_DOUBLE: usize = 900;

/// Rows of memory: the first element, the distance between rows in elements, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Rows<E> {
    pub(crate) first: *mut E,
    pub(crate) across: isize,
    pub(crate) count: usize,
}

impl<T: Lane> LaneFft<T> {
    /// Returns the numbers of work memory that [`Self::run_rows`] needs for rows of so many lines;
    /// `None` if they do not fit in a cache.
    pub(crate) fn rows_work_len(&self, in_row: usize) -> Option<usize> {
        let copied = self.points.checked_mul(2 * self.lanes)?.checked_mul(in_row)?;
        let copied = if in_row == 1 { 0 } else { copied };
        let are_moved = self.points * in_row >= POINTS;
        (are_moved && copied <= WORK_BYTES / size_of::<T>()).then(|| self.work_len() + copied)
    }

    /// Returns whether rows of one line take less time in lanes than one by one, as measured with
    /// 64-byte and 32-byte vectors: where rustfft has no vectors for a prime factor, or leaves them
    /// after two factors of 5 and 7 or in a short line with one. Double precision fills half as
    /// many lanes, and gains less.
    pub(crate) fn suits_rows(&self) -> bool {
        let Self { points, lanes, .. } = *self;
        let is_single = size_of::<T>() == 4;
        if largest_prime_factor(points) >= 13 {
            return lanes >= 8 && (is_single || points <= MOST_DOUBLE);
        }
        let (lone, shorts) = if is_single { (8, 10..=140) } else { (4, 10..=21) };
        let has_vectors = points.is_multiple_of(11) && lanes < 16;
        let is_short = shorts.contains(&points) && !has_vectors && [5, 7].iter().any(|&odd| points.is_multiple_of(odd));
        lanes >= 8 && !points.is_multiple_of(lone) && (is_short || has_slow_factors(points))
    }

    /// Transforms rows of so many lines, at most as many rows as there are lanes, and multiplies
    /// the results by the factor.
    ///
    /// # Safety
    /// - `from` has at least one row. It is readable and the same number of rows of `to` writable.
    /// - The two are apart, or equal. The work memory is apart from them and has the numbers of
    ///   [`Self::rows_work_len`].
    pub(crate) unsafe fn run_rows(
        &self,
        from: Rows<Complex<T>>,
        to: Rows<Complex<T>>,
        in_row: usize,
        work: &mut [T],
        how: (bool, T),
    ) {
        let lanes = self.lanes;
        let (work, copy) = work.split_at_mut(self.work_len());
        let [mut before, mut after] = self.places(work);
        if in_row > 1 {
            before = copy.as_mut_ptr().cast();
            after = before;
        }
        let points = self.points * in_row;
        let gather = MoveRows::<T, true> { rows: from, points, inside: before, lanes };
        self.arch.dispatch(gather);
        let step = (in_row * lanes) as isize;
        for line in 0..in_row {
            let first = line * lanes;
            let from = (before.wrapping_add(first).cast_const(), step);
            let to = (after.wrapping_add(first), step);
            // SAFETY: these are all points of a line, in a place for them or apart from that part
            // of the work memory.
            unsafe { self.run(from, to, work, how, Ahead::default()) };
        }
        self.arch.dispatch(MoveRows::<T, false> { rows: to, points, inside: after, lanes });
    }
}

/// Moves rows to the lanes if `GATHERS`, else back. Inside, points follow each other, each with a
/// number for each lane. Lanes without a row get another row once more.
struct MoveRows<T, const GATHERS: bool> {
    rows: Rows<Complex<T>>,
    points: usize,
    inside: *mut Complex<T>,
    lanes: usize,
}

impl<T: Lane, const GATHERS: bool> WithSimd for MoveRows<T, GATHERS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows: Rows { count, .. }, points, lanes, .. } = self;
        // Single complex numbers are numbers of their size, double ones pairs.
        let is_single = size_of::<Complex<T>>() == size_of::<f64>();
        let numbers = size_of::<S::f64s>() / size_of::<f64>();
        let group = if is_single { numbers } else { POINTS.min(lanes) };
        for first in (0..lanes).step_by(group) {
            let used = group.min(count.saturating_sub(first));
            if !GATHERS && used == 0 {
                return;
            }
            let mut next = 0;
            while next < points {
                // The last points are moved together with some that were moved before.
                let point = next.min(points - POINTS);
                next += POINTS;
                // SAFETY: these are points and lanes of the work memory, and of rows that the
                // caller of `run_rows` vouches for.
                unsafe {
                    if is_single {
                        self.move_single(simd, point, first, used);
                    } else {
                        self.move_double(simd, point, first, used);
                    }
                }
            }
        }
    }
}

impl<T: Lane, const GATHERS: bool> MoveRows<T, GATHERS> {
    #[inline(always)]
    fn row(&self, lane: usize, point: usize) -> *mut Complex<T> {
        let Rows { first, across, count } = self.rows;
        let row = lane.min(count - 1) as isize;
        first.wrapping_offset(row * across).wrapping_add(point)
    }

    #[inline(always)]
    fn lanes_of(&self, point: usize, lane: usize) -> *mut Complex<T> {
        self.inside.wrapping_add(point * self.lanes + lane)
    }

    /// Moves some points of as many rows as a vector has numbers of this size, of which so many are
    /// written. No vector passes through a function that is not inlined.
    ///
    /// # Safety
    /// They are points and lanes of both places.
    #[inline(always)]
    unsafe fn move_single<S: Simd>(&self, simd: S, point: usize, first: usize, used: usize) {
        let mut pieces = MaybeUninit::<[S::f64s; POINTS]>::uninit();
        let piece = pieces.as_mut_ptr().cast::<[f64; POINTS]>();
        // SAFETY: the caller guarantees that what is read and written is there. The pieces of all
        // rows fill the vectors, and any bytes are numbers.
        unsafe {
            let column = |at: usize| self.lanes_of(point + at, first).cast::<S::f64s>();
            let columns = [column(0), column(1), column(2), column(3)];
            if GATHERS {
                for lane in 0..size_of::<S::f64s>() / size_of::<f64>() {
                    let row = self.row(first + lane, point).cast::<[f64; POINTS]>();
                    piece.add(lane).write(row.read_unaligned());
                }
                let values = simd.deinterleave_shfl_f64s(pieces.assume_init());
                columns[0].write_unaligned(values[0]);
                columns[1].write_unaligned(values[1]);
                columns[2].write_unaligned(values[2]);
                columns[3].write_unaligned(values[3]);
            } else {
                let values = [
                    columns[0].read_unaligned(),
                    columns[1].read_unaligned(),
                    columns[2].read_unaligned(),
                    columns[3].read_unaligned(),
                ];
                pieces.write(simd.interleave_shfl_f64s(values));
                for lane in 0..used {
                    let row = self.row(first + lane, point).cast::<[f64; POINTS]>();
                    row.write_unaligned(piece.add(lane).read());
                }
            }
        }
    }

    /// Moves some points of as many rows, of which so many are written.
    ///
    /// # Safety
    /// As for [`Self::move_single`].
    #[inline(always)]
    unsafe fn move_double<S: Simd>(&self, simd: S, point: usize, first: usize, used: usize) {
        let width = size_of::<S::f64s>() / size_of::<Complex<f64>>();
        if width < 2 || self.lanes < POINTS {
            let lanes = if GATHERS { POINTS.min(self.lanes) } else { used };
            for (lane, at) in (0..lanes).flat_map(|lane| (0..POINTS).map(move |at| (lane, at))) {
                let row = self.row(first + lane, point + at);
                let inside = self.lanes_of(point + at, first + lane);
                // SAFETY: the caller guarantees that what is read and written is there.
                unsafe {
                    if GATHERS {
                        *inside = *row;
                    } else {
                        *row = *inside;
                    }
                }
            }
            return;
        }
        for point in (point..point + POINTS).step_by(width) {
            let row = |lane: usize| self.row(first + lane, point).cast::<S::f64s>();
            let columns = |part: usize| {
                let (column, lane) = (part * width / POINTS, part * width % POINTS);
                self.lanes_of(point + column, first + lane).cast::<S::f64s>()
            };
            // SAFETY: the caller guarantees that what is read and written is there.
            unsafe {
                if GATHERS {
                    let rows = [0, 1, 2, 3].map(|lane| row(lane).read_unaligned());
                    let values = transpose_four(simd, rows);
                    for part in 0..POINTS {
                        columns(part).write_unaligned(values[part]);
                    }
                } else {
                    let values = [0, 1, 2, 3].map(|part| columns(part).read_unaligned());
                    let rows = transpose_back(simd, values);
                    for lane in 0..used {
                        row(lane).write_unaligned(rows[lane]);
                    }
                }
            }
        }
    }
}
