//! Transforms of lines with any strides. Lines that are neighbours in memory are read and written
//! as they lie there, others through the work memory.

use pulp::Simd;
use rustfft::num_complex::Complex;

use super::line_moves::MoveLines;
use super::sums::MOST_SUMMED;
use super::vectors::lanes_of;
use super::{
    Instructions, Lane, LaneFft, Rows, Side, WORK_BYTES, fetch_later, instructions_for,
    is_slow_alone, largest_prime_factor,
};
use crate::memory::Pod;

/// Some lines: the first point of all, and the distances between points, between lines, and from a
/// point to one that is used later (0 for none).
#[derive(Clone, Copy)]
pub(crate) struct StridedLines<E> {
    pub(crate) first: *mut E,
    pub(crate) along: isize,
    pub(crate) across: isize,
    pub(crate) count: usize,
    pub(crate) ahead: isize,
}

impl<E> StridedLines<E> {
    pub(crate) fn new(first: *mut E, along: isize, across: isize, count: usize) -> Self {
        Self { first, along, across, count, ahead: 0 }
    }

    /// Returns so many of the lines from this distance on.
    pub(crate) fn part(&self, distance: isize, count: usize) -> Self {
        Self { first: self.first.wrapping_offset(distance), count, ..*self }
    }

    /// Returns the lines of all lanes in a place of the work memory.
    pub(super) fn inside(first: *mut E, lanes: usize) -> Self {
        Self::new(first, lanes as isize, 1, lanes)
    }
}

impl<E: Copy> StridedLines<E> {
    /// Returns the first lines if they fill so many lanes as they lie in memory.
    pub(super) fn whole(side: &[Self], lanes: usize) -> Option<Self> {
        side.first().copied().filter(|it| it.count == lanes && it.across == 1)
    }
}

impl<T: Lane> StridedLines<T> {
    /// Returns where a point of all lines is, and asks for the one that is used later.
    #[inline(always)]
    pub(super) fn at<S: Simd>(self, point: usize) -> *mut T {
        let first = self.first.wrapping_offset(point as isize * self.along);
        if self.ahead != 0 {
            fetch_later(first.wrapping_offset(self.ahead), lanes_of::<T, S>());
        }
        first
    }
}

impl<T: Lane> StridedLines<Complex<T>> {
    /// Returns neighbouring lines as a side of a transform.
    pub(super) fn side(self) -> Side<T> {
        Side { ahead: 2 * self.ahead, ..Side::of(self.first, self.along) }
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

    /// Plans lines of so many points, of the real ones where elements are real on one side, with
    /// these instructions. `None` where they have no such transform: the number has a large prime
    /// factor, or is zero or large, or the instructions have no vectors.
    fn with(arch: Instructions, points: usize) -> Option<Self>;

    /// Plans a number of such lines, with the vectors that suit them best. `None` also where they
    /// are too few.
    fn for_lines(points: usize, lines: usize) -> Option<Self> {
        let room = WORK_BYTES / size_of::<Self::Real>();
        let mut suited = instructions_for::<Self::Real>(lines).filter(|&arch| {
            let lanes = arch.lanes::<Self::Real>();
            // The factors of a long line may take long to find.
            lines > 1
                && (1..=room / (4 * lanes)).contains(&points)
                && Self::suits(arch, points, lines)
        });
        suited.find_map(|arch| Self::with(arch, points))
    }

    /// Returns whether so many lines take less time in the lanes than one by one, though some lanes
    /// may be empty.
    fn suits(arch: Instructions, points: usize, count: usize) -> bool;

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
            unsafe { self.run_lines(&from, &to, work, how) };
        }
    }
}

impl<T: Lane> LaneLines for LaneFft<T> {
    type Real = T;
    type From = Complex<T>;
    type To = Complex<T>;

    const IS_APART: bool = false;

    fn with(arch: Instructions, points: usize) -> Option<Self> {
        Self::suited(arch, points)
    }

    fn suits(arch: Instructions, points: usize, count: usize) -> bool {
        let lanes = arch.lanes::<T>();
        let is_slow_alone = is_slow_alone(points, 32 / size_of::<T>());
        if is_slow_alone && largest_prime_factor(points) <= MOST_SUMMED {
            2 * count > lanes
        } else {
            count >= lanes && arch.are_widest::<T>()
        }
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
    ) {
        let (points, lanes, arch) = (self.points, self.lanes, self.arch);
        let work = work.as_mut_ptr();
        let places = self.places(work);
        // SAFETY: the caller guarantees that the operands are valid, and the work memory has places
        // for all lanes.
        unsafe {
            let [read, written] = [from, to].map(|side| StridedLines::whole(side, lanes));
            let inside = places.map(|place| StridedLines::inside(place, lanes));
            if read.is_none() {
                MoveLines::<_, true> { side: from, inside: places[0], points, lanes }.run(arch);
            }
            let [from_lanes, to_lanes] = [read.unwrap_or(inside[0]), written.unwrap_or(inside[1])];
            self.run(from_lanes.side(), to_lanes.side(), work, how);
            if written.is_none() {
                MoveLines::<_, false> { side: to, inside: places[1], points, lanes }.run(arch);
            }
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
