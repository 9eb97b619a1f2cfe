//! Cosine and sine transforms of many lines at once, in the lanes of the processor's vectors.
//!
//! Two neighbouring lines are the parts of a complex line, as in [`super::pairs`], and each lane
//! has one. For type IV of an even length, each lane has a line, of whose pairs the complex line
//! is made. What comes before and after the Fourier transform is then the same in all lanes, and no
//! number moves from one lane to another.

use smallvec::SmallVec;

use super::balance::{self, Neighbours};
use super::lane_steps::{After, Before};
use super::turns::Turns;
use super::{CosineFactors, CosineStep};
use crate::fft::cpu::lines::{LineTiles, Scalar, StridePair, Tile};
use crate::lane_fft::{
    LaneFft, MOST_LANES, Side, StridedLines, is_slow_alone, largest_prime_factor,
};
use crate::memory::copy_tile;

/// Whether a Fourier transform is so long that lines one by one, or two by two, take little more
/// time than lanes that are full.
pub(super) fn is_long<T>(points: usize) -> bool {
    points * size_of::<T>() >= 4096
}

/// A transform of as many lines as there are lanes, or twice as many.
pub(super) struct LanePlan<T: Scalar> {
    pub(super) kind: u8,
    pub(super) is_sine: bool,
    pub(super) points: usize,
    /// Whether the elements of a line itself are the parts of a complex line: for type IV of an
    /// even length.
    pub(super) is_by_halves: bool,
    pub(super) fft: LaneFft<T>,
    pub(super) turns: Turns<T>,
}

/// Some lines that a thread transforms.
pub(super) struct Operands<T> {
    pub(super) from: *const T,
    pub(super) to: *mut T,
    pub(super) along: StridePair,
    pub(super) across: StridePair,
}

impl<T: Scalar> LanePlan<T> {
    /// Plans a transform of type 1 to 4 of a number of lines, of at least two points if it is a
    /// cosine transform of type 1. `None` if the lines are few or long, or the Fourier transform's
    /// length has a prime factor above 127 for which lanes are slow.
    pub(super) fn new(kind: u8, points: usize, is_sine: bool, count: usize) -> Option<Self> {
        let length = match kind {
            1 => CosineStep::Extend.lengths(points as i64, is_sine).1 as usize,
            4 if points.is_multiple_of(2) => points / 2,
            _ => points,
        };
        let is_by_halves = length < points;
        let lanes = if is_by_halves { count } else { count.div_ceil(2) };
        let fft = LaneFft::with_more_primes(length, lanes)?;
        let turns = Turns::new(kind, points, is_sine);
        Some(Self { kind, is_sine, points, is_by_halves, fft, turns })
    }

    /// Returns whether lines take less time in lanes than in pairs, as measured with vectors of 32
    /// bytes. The lines have to fill the lanes. Slices have to be transposed, too, which is worth
    /// while if rustfft has no fast kernels for the length.
    pub(super) fn suits(&self, lines: &LineTiles) -> bool {
        let (length, is_by_eighths) = (self.fft.points(), !self.turns.eighths.is_empty());
        let is_double = size_of::<T>() == size_of::<f64>();
        let prime = largest_prime_factor(length);
        // The slower pairs are, the more lanes may be empty.
        let most_empty = match (self.kind, prime) {
            (_, ..60) if !is_double && is_slow_alone(length, 8) => 0.6,
            (_, 13..) if is_long::<T>(length) => 0.2,
            (4, ..13) if length >= 32 && is_double => 0.125,
            (4, ..13) if length >= 32 => 0.3,
            (4, 13..47) if is_by_eighths => 0.25,
            (4, 47..) if !is_double => 0.5,
            (4, 13..) => 0.4,
            (_, 13..) if is_double => 0.45,
            _ => 0.25,
        };
        let groups = lines.count().div_ceil(self.lines_at_once());
        let in_time = self.lines_per_lane() * self.fft.lanes_in_time();
        let empty = 1.0 - lines.count() as f64 / (groups * in_time).max(1) as f64;
        let is_filled = empty <= most_empty;
        if !lines.are_slices() {
            return is_filled || lines.count() >= in_time;
        }
        // Factors with which pairs take long. In single precision, pairs meet 25, 35 and 49 in
        // lanes too, but for eighths.
        let slow: &[usize] = match (is_double, is_by_eighths) {
            (true, _) => &[25, 35, 49],
            (false, true) => &[25, 35, 45, 49, 81],
            (false, false) => &[45],
        };
        let is_slow = slow.iter().any(|&factor| length.is_multiple_of(factor));
        // Four lanes are not enough to save time, unless rustfft takes long. More are for all short
        // lines.
        let is_narrow = is_double && self.is_by_halves && self.fft.lanes() <= 4;
        let is_awkward = is_slow || if is_narrow { prime > 13 } else { length < 128 || prime > 7 };
        is_filled && is_awkward
    }

    /// Returns the number of lines that are transformed at once.
    pub(super) fn lines_at_once(&self) -> usize {
        self.fft.lanes() * self.lines_per_lane()
    }

    fn lines_per_lane(&self) -> usize {
        if self.is_by_halves { 1 } else { 2 }
    }

    /// Returns the numbers of work memory that a call needs.
    pub(super) fn work_len(&self) -> usize {
        self.fft.work_len() + self.points * self.lines_at_once()
    }

    /// Transforms some lines, at most as many as are transformed at once. Each part has neighbours.
    ///
    /// # Safety
    /// The operands are valid for these lines.
    pub(super) unsafe fn run(
        &self,
        factors: CosineFactors,
        operands: &Operands<T>,
        parts: &[Tile],
        work: &mut [T],
    ) {
        let (width, lanes) = (self.lines_at_once(), self.fft.lanes() as isize);
        let Operands { from, to, along, across } = *operands;
        let (work, copy) = work.split_at_mut(self.fft.work_len());
        let work = work.as_mut_ptr();
        let [before, after] = self.fft.places(work);
        let whole = parts.first().filter(|part| part.lines == width);
        let is_weighed = factors.before.iter().any(|&factor| is_factor(factor));
        let read_in_place = whole.filter(|_| across.from == 1 && !is_weighed);
        let written_in_place = whole.filter(|_| across.to == 1);
        let used: usize = parts.iter().map(|part| part.lines).sum();
        let (copy, step) = (copy.as_mut_ptr(), width as isize);
        // SAFETY: the caller guarantees that the lines are valid, and the copy has room for as many
        // as are transformed at once.
        unsafe {
            let mut source = (copy.cast_const(), step);
            if let Some(part) = read_in_place {
                source = (from.offset(part.from), along.from);
            } else {
                self.move_lines::<true>(
                    parts.iter().map(|part| (from.offset(part.from).cast_mut(), part.lines)),
                    (along.from, across.from),
                    copy,
                );
                // An odd last line has zeros as its partner, which cannot spoil it.
                if used < width {
                    for row in 0..self.points {
                        copy.add(row * width + used).write_bytes(0, width - used);
                    }
                }
                weigh((copy, step), factors.before, self.points, width);
            }
            let mut repairs = Vec::new();
            if !self.is_by_halves {
                let (first, along) = (source.0.cast_mut(), source.1);
                let real = Neighbours { first, along, points: self.points, width, used };
                repairs = balance::repairs(real, |sums| self.fft.dispatch(sums));
                if !repairs.is_empty() {
                    if read_in_place.is_some() {
                        let from = (source.0, source.1, 1);
                        copy_lines(from, (copy, step, 1), width, self.points);
                        source = (copy.cast_const(), step);
                    }
                    Neighbours { first: copy, along: step, ..real }.scale(&repairs);
                }
            }
            self.fft.dispatch(Before { plan: self, from: source, to: before });
            let [work_from, work_to] = [before, after].map(|place| Side::of(place, lanes));
            let how = (self.kind == 3, number(factors.scale));
            self.fft.run(work_from, work_to, work, how);
            let target =
                written_in_place.map_or((copy, step), |part| (to.offset(part.to), along.to));
            self.fft.dispatch(After { plan: self, from: after, to: target });
            weigh(target, factors.after, self.points, width);
            if !repairs.is_empty() {
                let (first, along) = target;
                let real = Neighbours { first, along, points: self.points, width, used };
                real.scale_back(&repairs);
            }
            if written_in_place.is_none() {
                self.move_lines::<false>(
                    parts.iter().map(|part| (to.offset(part.to), part.lines)),
                    (along.to, across.to),
                    copy,
                );
            }
        }
    }

    /// Copies lines to the lanes if `GATHERS`, else back. A part of them is given by the first
    /// element and their number. Lanes without a line may get any numbers.
    ///
    /// # Safety
    /// The lines are valid, and are at most as many as are transformed at once. The copy has room
    /// for so many, whose elements follow each other there.
    unsafe fn move_lines<const GATHERS: bool>(
        &self,
        parts: impl Iterator<Item = (*mut T, usize)>,
        (along, across): (isize, isize),
        copy: *mut T,
    ) {
        let width = self.lines_at_once();
        if LaneFft::<T>::can_turn(along, width) {
            let side: SmallVec<[_; MOST_LANES]> = parts
                .map(|(first, count)| StridedLines::new(first, along, across, count))
                .collect();
            // SAFETY: the caller guarantees that the lines are valid.
            unsafe { self.fft.turn_lines::<GATHERS>(&side, copy, (self.points, width)) };
            return;
        }
        let mut inside = copy;
        for (first, count) in parts {
            let (outside, step) = ((first, along, across), width as isize);
            // SAFETY: as above.
            unsafe {
                if GATHERS {
                    let from = (first.cast_const(), along, across);
                    copy_lines(from, (inside, step, 1), count, self.points);
                } else {
                    copy_lines((inside.cast_const(), step, 1), outside, count, self.points);
                }
                inside = inside.add(count);
            }
        }
    }
}

/// Copies lines, given the distances between elements and between lines.
///
/// # Safety
/// Both places are valid for these lines, and do not overlap.
unsafe fn copy_lines<T: Scalar>(
    from: (*const T, isize, isize),
    to: (*mut T, isize, isize),
    lines: usize,
    points: usize,
) {
    // A compiler knows how to copy a few neighbours if it knows how many they are.
    macro_rules! copy_neighbours {
        ($($count:literal)*) => {
            match lines {
                $($count => for point in 0..points as isize {
                    // SAFETY: these are elements of lines that are neighbours in both places.
                    unsafe {
                        let neighbours = *from.0.offset(point * from.1).cast::<[T; $count]>();
                        *to.0.offset(point * to.1).cast::<[T; $count]>() = neighbours;
                    }
                },)*
                _ => for point in 0..points as isize {
                    // SAFETY: as above.
                    unsafe {
                        let first = from.0.offset(point * from.1);
                        to.0.offset(point * to.1).copy_from_nonoverlapping(first, lines);
                    }
                },
            }
        };
    }
    if (from.2, to.2) == (1, 1) {
        copy_neighbours!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    } else {
        // SAFETY: the caller guarantees the same.
        unsafe { copy_tile(from, to, lines, points, |value| value) };
    }
}

/// Multiplies the elements at the ends of so many neighbouring lines.
///
/// # Safety
/// The lines, whose elements are that far apart, are valid.
unsafe fn weigh<T: Scalar>(
    (first, along): (*mut T, isize),
    ends: [f64; 2],
    points: usize,
    lines: usize,
) {
    for (element, factor) in [(0, ends[0]), (points - 1, ends[1])] {
        if is_factor(factor) {
            // SAFETY: the caller guarantees that the lines are valid.
            let row = unsafe {
                std::slice::from_raw_parts_mut(first.offset(element as isize * along), lines)
            };
            for value in row {
                *value = *value * number(factor);
            }
        }
    }
}

fn is_factor(value: f64) -> bool {
    value.to_bits() != 1f64.to_bits()
}

pub(super) fn number<T: Scalar>(value: f64) -> T {
    T::from_f64(value).unwrap_or_else(T::zero)
}
