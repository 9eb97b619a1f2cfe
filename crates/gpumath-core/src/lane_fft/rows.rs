//! Transforms of lines that lie in rows of memory: as many rows at once as there are lanes.
//!
//! A row has one line, or several whose points take turns, such as the colours of an image. Rows
//! are transposed on their way to the lanes and back.

use rustfft::num_complex::Complex;

use super::line_moves::MoveLines;
use super::strided_lines::StridedLines;
use super::{Lane, LaneFft, Side, WORK_BYTES, has_slow_factors, largest_prime_factor};

/// Points of the longest rows in double precision with a large prime factor.
const MOST_DOUBLE: usize = 900;

/// Rows of memory: the first element, the distance between rows in elements, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Rows<E> {
    pub(crate) first: *mut E,
    pub(crate) across: isize,
    pub(crate) count: usize,
}

impl<E> Rows<E> {
    /// Returns the line with this number of each row, in rows of so many lines whose points take
    /// turns.
    pub(super) fn lines(self, number: usize, in_row: usize) -> StridedLines<E> {
        let Self { first, across, count } = self;
        let first = first.wrapping_add(number);
        StridedLines::new(first, in_row as isize, across, count)
    }
}

impl<T: Lane> LaneFft<T> {
    /// Returns the numbers of work memory that [`Self::run_rows`] needs for rows of so many lines;
    /// `None` if they do not fit in a cache.
    pub(crate) fn rows_work_len(&self, in_row: usize) -> Option<usize> {
        let copied = self.points.checked_mul(2 * self.lanes)?.checked_mul(in_row)?;
        let copied = if in_row == 1 { 0 } else { copied };
        (copied <= WORK_BYTES / size_of::<T>()).then(|| self.work_len() + copied)
    }

    /// Returns whether rows of one line take less time in lanes than one by one, as measured with
    /// 64-byte and 32-byte vectors: where rustfft has no vectors for a prime factor, or leaves them
    /// after two factors of 5 and 7 or in a short line with one. Double precision fills half as
    /// many lanes, and gains less.
    pub(crate) fn suits_rows(&self) -> bool {
        let Self { points, lanes, .. } = *self;
        let is_single = size_of::<T>() == 4;
        let prime = largest_prime_factor(points);
        if prime >= 13 {
            // In four lanes, smaller factors take as long as one by one, and so do multiples of 8.
            let is_faster = lanes >= 8 || (prime >= 41 && !points.is_multiple_of(8));
            return is_faster && (is_single || points <= MOST_DOUBLE);
        }
        // Multiples of these go one at a time, with neighbouring points in the lanes.
        let (multiple, shorts) = if is_single { (8, 10..=140) } else { (4, 10..=21) };
        // For factors of 11, rustfft has vectors of 32 bytes.
        let has_vectors = points.is_multiple_of(11) && lanes < 16;
        let has_slow_factor = points.is_multiple_of(5) || points.is_multiple_of(7);
        let is_short = shorts.contains(&points) && has_slow_factor && !has_vectors;
        lanes >= 8 && !points.is_multiple_of(multiple) && (is_short || has_slow_factors(points))
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
        let work = work.as_mut_ptr();
        let [mut before, mut after] = self.places(work);
        if in_row > 1 {
            before = copy.as_mut_ptr().cast();
            after = before;
        }
        let points = self.points * in_row;
        let sides = [from, to].map(|rows| [rows.lines(0, 1)]);
        MoveLines::<_, true> { side: &sides[0], inside: before, points, lanes }.run(self.arch);
        let step = (in_row * lanes) as isize;
        for line in 0..in_row {
            let first = line * lanes;
            let [from, to] = [before, after].map(|place| Side::of(place.wrapping_add(first), step));
            // SAFETY: these are all points of a line, in a place for them or apart from that part
            // of the work memory.
            unsafe { self.run(from, to, work, how) };
        }
        MoveLines::<_, false> { side: &sides[1], inside: after, points, lanes }.run(self.arch);
    }
}
