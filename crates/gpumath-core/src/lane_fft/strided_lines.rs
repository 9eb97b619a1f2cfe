//! Transforms of lines with any strides. Lines that are neighbours in memory are read and written
//! as they lie there, others through the work memory.

use std::iter::once;

use rustfft::num_complex::Complex;

use super::{Ahead, Lane, LaneFft, Rows};
use crate::memory::{Pod, SIDE, copy_tile};

/// Points that are copied at a time.
const POINTS: usize = 64;

/// Some lines: the first point of all, and the distances between points and between lines.
#[derive(Clone, Copy)]
pub(crate) struct StridedLines<E> {
    pub(crate) first: *mut E,
    pub(crate) along: isize,
    pub(crate) across: isize,
    pub(crate) count: usize,
}

impl<E> StridedLines<E> {
    /// Returns the first lines if they fill so many lanes as they lie in memory.
    pub(super) fn whole(side: &(impl Iterator<Item = Self> + Clone), lanes: usize) -> Option<Self> {
        side.clone().next().filter(|it| it.count == lanes && it.across == 1)
    }
}

/// A planned transform of several lines at once, one in each lane.
pub(crate) trait LaneLines: Sized + Send + Sync {
    type Real: Lane;
    /// Elements that are read, and those that are written.
    type From: Pod;
    type To: Pod;

    /// Whether results never take the place of what is read. Lines can be transformed twice then.
    const IS_APART: bool;

    /// Plans lines of so many points, of the real ones where elements are real on one side. `None`
    /// where they have no such transform: the number has a large prime factor, or is zero or large,
    /// or the processor has no vectors.
    fn new(points: usize) -> Option<Self>;

    /// Returns the number of points that are read, which are about half as many as those of a real
    /// line where half spectra are.
    fn points(&self) -> usize;

    /// Returns the number of lines that are transformed at once.
    fn lanes(&self) -> usize;

    /// Returns the bytes of the tables.
    fn table_bytes(&self) -> usize;

    /// Returns the numbers of work memory that a call needs.
    fn work_len(&self) -> usize;

    /// Transforms lines, at most as many as there are lanes, and multiplies the results by the
    /// factor. Both sides have the same numbers of lines.
    ///
    /// # Safety
    /// - `from` has a line. All its lines are readable, and those of `to` writable.
    /// - The two are apart, or equal, and the work memory, of [`Self::work_len`] numbers, is apart
    ///   from them.
    unsafe fn run_lines(
        &self,
        from: &(impl Iterator<Item = StridedLines<Self::From>> + Clone),
        to: &(impl Iterator<Item = StridedLines<Self::To>> + Clone),
        work: &mut [Self::Real],
        how: (bool, Self::Real),
        ahead: Ahead,
    );

    /// Returns whether neighbouring lines that are slices take less time than one by one.
    fn suits_rows(&self) -> bool;

    /// Returns the numbers of work memory that [`Self::run_rows`] needs for rows of so many lines;
    /// `None` if they do not fit in a cache.
    fn rows_work_len(&self, _in_row: usize) -> Option<usize> {
        Some(self.work_len())
    }

    /// Transforms rows of so many lines, at most as many rows as there are lanes, and multiplies
    /// the results by the factor.
    ///
    /// # Safety
    /// - `from` has at least one row. It is readable and the same number of rows of `to` writable.
    /// - The two are apart, or equal. The work memory is apart from them and has the numbers of
    ///   [`Self::rows_work_len`].
    unsafe fn run_rows(
        &self,
        from: Rows<Self::From>,
        to: Rows<Self::To>,
        in_row: usize,
        work: &mut [Self::Real],
        how: (bool, Self::Real),
    ) {
        for line in 0..in_row {
            let (from, to) = (once(from.lines(line, in_row)), once(to.lines(line, in_row)));
            // SAFETY: these are lines of the rows, for which the caller guarantees the same.
            unsafe { self.run_lines(&from, &to, work, how, Ahead::default()) };
        }
    }
}

impl<E> Rows<E> {
    /// Returns the line with this number of each row.
    fn lines(self, number: usize, in_row: usize) -> StridedLines<E> {
        let Self { first, across, count } = self;
        let first = first.wrapping_add(number);
        StridedLines { first, along: in_row as isize, across, count }
    }
}

impl<T: Lane> LaneLines for LaneFft<T> {
    type Real = T;
    type From = Complex<T>;
    type To = Complex<T>;

    const IS_APART: bool = false;

    fn new(points: usize) -> Option<Self> {
        Self::new(points)
    }

    fn points(&self) -> usize {
        self.points
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn table_bytes(&self) -> usize {
        self.table_bytes()
    }

    fn work_len(&self) -> usize {
        self.work_len()
    }

    unsafe fn run_lines(
        &self,
        from: &(impl Iterator<Item = StridedLines<Complex<T>>> + Clone),
        to: &(impl Iterator<Item = StridedLines<Complex<T>>> + Clone),
        work: &mut [T],
        how: (bool, T),
        ahead: Ahead,
    ) {
        let lanes = self.lanes;
        let [gathered, scattered] = self.places(work);
        // SAFETY: the caller guarantees that the operands are valid, and the work memory has places
        // for all lanes.
        unsafe {
            let mut source = (gathered.cast_const(), lanes as isize);
            if let Some(lines) = StridedLines::whole(from, lanes) {
                source = (lines.first.cast_const(), lines.along);
            } else {
                gather_lines(from, gathered, self.points, lanes);
            }
            if let Some(lines) = StridedLines::whole(to, lanes) {
                return self.run(source, (lines.first, lines.along), work, how, ahead);
            }
            self.run(source, (scattered, lanes as isize), work, how, ahead);
            copy_lines::<_, false>(to, scattered, self.points, lanes);
        }
    }

    fn suits_rows(&self) -> bool {
        self.suits_rows()
    }

    fn rows_work_len(&self, in_row: usize) -> Option<usize> {
        self.rows_work_len(in_row)
    }

    unsafe fn run_rows(
        &self,
        from: Rows<Complex<T>>,
        to: Rows<Complex<T>>,
        in_row: usize,
        work: &mut [T],
        how: (bool, T),
    ) {
        // SAFETY: the caller guarantees the same.
        unsafe { self.run_rows(from, to, in_row, work, how) };
    }
}

/// Copies lines to the work memory, and fills the lanes that are left with zeros.
///
/// # Safety
/// The lines are valid for as many points, and `work` for as many lanes of them.
pub(super) unsafe fn gather_lines<E: Pod>(
    side: &(impl Iterator<Item = StridedLines<E>> + Clone),
    work: *mut E,
    points: usize,
    lanes: usize,
) {
    // SAFETY: the caller guarantees it. Zero bytes are numbers.
    unsafe {
        copy_lines::<_, true>(side, work, points, lanes);
        let count: usize = side.clone().map(|it| it.count).sum();
        for point in (0..points).map(|point| work.add(point * lanes)) {
            point.add(count).write_bytes(0, lanes - count);
        }
    }
}

/// Copies lines to the work memory, or from there to an operand: some points of a few lines at a
/// time, because those of more lines often compete for a place in a cache.
///
/// # Safety
/// The lines are valid for as many points, and `work` for as many lanes of them.
pub(super) unsafe fn copy_lines<E: Pod, const IS_READ: bool>(
    side: &(impl Iterator<Item = StridedLines<E>> + Clone),
    work: *mut E,
    points: usize,
    lanes: usize,
) {
    for start in (0..points).step_by(POINTS) {
        let points = POINTS.min(points - start);
        let mut lane = start * lanes;
        for StridedLines { first, along, across, count } in side.clone() {
            let mut done = 0;
            while done < count {
                let side = if count - done < SIDE { 1 } else { SIDE };
                // SAFETY: these are points of the lines, which the caller guarantees to be valid.
                unsafe {
                    let first = first.offset(start as isize * along + done as isize * across);
                    let inside = (work.add(lane), lanes as isize, 1);
                    if IS_READ {
                        let outside = (first.cast_const(), along, across);
                        copy_tile(outside, inside, side, points, |value| value);
                    } else {
                        let inside = (inside.0.cast_const(), inside.1, inside.2);
                        copy_tile(inside, (first, along, across), side, points, |value| value);
                    }
                }
                (lane, done) = (lane + side, done + side);
            }
        }
    }
}
