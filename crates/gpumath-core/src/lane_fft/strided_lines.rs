//! Transforms of lines with any strides. Lines that are neighbours in memory are read and written
//! as they lie there, others through the work memory.

use rustfft::num_complex::Complex;

use super::line_moves::MoveLines;
use super::{Ahead, Lane, LaneFft, Rows};
use crate::memory::Pod;

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
    pub(super) fn whole(side: &[Self], lanes: usize) -> Option<&Self> {
        side.first().filter(|it| it.count == lanes && it.across == 1)
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
        from: &[StridedLines<Self::From>],
        to: &[StridedLines<Self::To>],
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
            let (from, to) = ([from.lines(line, in_row)], [to.lines(line, in_row)]);
            // SAFETY: these are lines of the rows, for which the caller guarantees the same.
            unsafe { self.run_lines(&from, &to, work, how, Ahead::default()) };
        }
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
        from: &[StridedLines<Complex<T>>],
        to: &[StridedLines<Complex<T>>],
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
                let Self { points, arch, .. } = *self;
                MoveLines::<_, true> { side: from, inside: gathered, points, lanes }.run(arch);
            }
            if let Some(lines) = StridedLines::whole(to, lanes) {
                return self.run(source, (lines.first, lines.along), work, how, ahead);
            }
            self.run(source, (scattered, lanes as isize), work, how, ahead);
            let Self { points, arch, .. } = *self;
            MoveLines::<_, false> { side: to, inside: scattered, points, lanes }.run(arch);
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
