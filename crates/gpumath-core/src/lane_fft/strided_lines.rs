//! Transforms of lines with any strides. Lines that are neighbours in memory are read and written
//! as they lie there, others through the work memory.

use rustfft::num_complex::Complex;

use super::{Ahead, Lane, LaneFft};
use crate::memory::{SIDE, copy_tile};

/// Points that are copied at a time.
const POINTS: usize = 64;

/// Some lines: the first point of all, and the distances between points and between lines.
pub(crate) struct StridedLines<T> {
    pub(crate) first: *mut Complex<T>,
    pub(crate) along: isize,
    pub(crate) across: isize,
    pub(crate) count: usize,
}

impl<T> StridedLines<T> {
    /// Returns whether they fill so many lanes as they lie in memory.
    fn are_neighbours(&self, lanes: usize) -> bool {
        self.count == lanes && self.across == 1
    }
}

impl<T: Lane> LaneFft<T> {
    /// Transforms lines, at most as many as there are lanes, and multiplies the results by the
    /// factor. Both sides have the same numbers of lines.
    ///
    /// # Safety
    /// - `from` has a line. All its lines are readable, and those of `to` writable.
    /// - The two are apart, or equal, and the work memory, of [`Self::work_len`] numbers, is apart
    ///   from them.
    pub(crate) unsafe fn run_lines(
        &self,
        from: &(impl Iterator<Item = StridedLines<T>> + Clone),
        to: &(impl Iterator<Item = StridedLines<T>> + Clone),
        work: &mut [T],
        how: (bool, T),
        ahead: Ahead,
    ) {
        let lanes = self.lanes;
        let [gathered, scattered] = self.places(work);
        let whole = |lines: Option<StridedLines<T>>| lines.filter(|it| it.are_neighbours(lanes));
        // SAFETY: the caller guarantees that the operands are valid, and the work memory has places
        // for all lanes.
        unsafe {
            let mut source = (gathered.cast_const(), lanes as isize);
            if let Some(lines) = whole(from.clone().next()) {
                source = (lines.first.cast_const(), lines.along);
            } else {
                self.copy::<true>(from, gathered);
                let count: usize = from.clone().map(|lines| lines.count).sum();
                for point in (0..self.points).map(|point| gathered.add(point * lanes)) {
                    let rest = std::slice::from_raw_parts_mut(point.add(count), lanes - count);
                    rest.fill(Complex::new(T::rounded(0.0), T::rounded(0.0)));
                }
            }
            if let Some(lines) = whole(to.clone().next()) {
                return self.run(source, (lines.first, lines.along), work, how, ahead);
            }
            self.run(source, (scattered, lanes as isize), work, how, ahead);
            self.copy::<false>(to, scattered);
        }
    }

    /// Copies lines to the work memory, or from there to an operand: some points of a few lines at
    /// a time, because those of more lines often compete for a place in a cache.
    ///
    /// # Safety
    /// The lines are valid, and `work` for as many lanes.
    unsafe fn copy<const IS_READ: bool>(
        &self,
        operand: &(impl Iterator<Item = StridedLines<T>> + Clone),
        work: *mut Complex<T>,
    ) {
        let lanes = self.lanes;
        for start in (0..self.points).step_by(POINTS) {
            let points = POINTS.min(self.points - start);
            let mut lane = start * lanes;
            for StridedLines { first, along, across, count } in operand.clone() {
                let mut done = 0;
                while done < count {
                    let side = if count - done < SIDE { 1 } else { SIDE };
                    // SAFETY: these are points of the lines, which the caller guarantees to be
                    // valid.
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
}
