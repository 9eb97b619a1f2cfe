//! Copies of lines from operands to the lanes, and back.

#![expect(
    clippy::needless_range_loop,
    reason = "vectors that pass through iterators or closures are not kept in registers"
)]

use pulp::{MemMask, Simd, WithSimd};

use super::strided_lines::StridedLines;
use super::transposition::{transpose_back, transpose_four, transpose_square};
use super::{Instructions, Lane, LaneFft};
use crate::memory::{Pod, SIDE, copy_tile};

/// The most lines that are moved at once: lanes of the widest vectors.
pub(crate) const MOST_LANES: usize = 16;

/// Lines that are turned at a time where elements are pairs of numbers.
const PAIRS: usize = 4;

/// The fewest points that are copied in blocks where neither they nor the lines are neighbours.
const LEAST_COPIED: usize = 16;

/// Points that are copied at a time of a few lines, because those of more lines often compete for a
/// place in a cache.
const BLOCK: usize = 64;

impl<T: Lane> LaneFft<T> {
    /// Returns whether [`Self::turn_lines`] is for real lines whose points are that far apart.
    pub(crate) fn can_turn(along: isize, lanes: usize) -> bool {
        along == 1 && size_of::<T>() == size_of::<f64>() && lanes <= MOST_LANES
    }

    /// Moves real lines as [`MoveLines`] does, in registers.
    ///
    /// # Safety
    /// The side and the work memory are as [`MoveLines`] says.
    pub(crate) unsafe fn turn_lines<const GATHERS: bool>(
        &self,
        side: &[StridedLines<T>],
        inside: *mut T,
        (points, lanes): (usize, usize),
    ) {
        MoveLines::<_, GATHERS> { side, inside, points, lanes }.run(self.arch);
    }
}

/// Moves lines to the work memory if `GATHERS`, else back. There, points follow each other, each
/// with an element for each lane. Lanes without a line get any values that are numbers.
///
/// The side has at least one line and at most as many as there are lanes. They are valid for all
/// points, and the work memory is for all lanes of them.
pub(super) struct MoveLines<'a, E, const GATHERS: bool> {
    pub(super) side: &'a [StridedLines<E>],
    pub(super) inside: *mut E,
    pub(super) points: usize,
    pub(super) lanes: usize,
}

impl<E: Pod, const GATHERS: bool> MoveLines<'_, E, GATHERS> {
    /// Moves the lines. Only the code that turns lines in registers is compiled for `arch`: the
    /// other loops take longer if they are compiled for AVX-512.
    pub(super) fn run(self, arch: Instructions) {
        let Self { side, inside, points, lanes } = self;
        let StridedLines { along, across, .. } = side[0];
        let can_be_turned = along == 1 && matches!(size_of::<E>(), 8 | 16);
        let are_in_blocks = side.iter().all(|lines| lines.count >= SIDE)
            && (points >= LEAST_COPIED || along == 1 || across == 1);
        if !can_be_turned && are_in_blocks {
            // SAFETY: whoever made this vouches for the lines and the work memory.
            return unsafe { self.copy_blocks() };
        }
        let mut firsts = [side[0].first; MOST_LANES];
        let mut count = 0;
        for lines in side {
            for line in 0..lines.count as isize {
                firsts[count] = lines.first.wrapping_offset(line * lines.across);
                count += 1;
            }
        }
        let lines = TurnLines::<E, GATHERS> { firsts, along, count, inside, points, lanes };
        if !(can_be_turned && arch.dispatch(&lines)) {
            // SAFETY: as above.
            unsafe { lines.move_one_by_one() };
        }
    }

    /// Moves a few points of each few lines after the other.
    ///
    /// # Safety
    /// The lines and the work memory are as [`MoveLines`] says.
    unsafe fn copy_blocks(self) {
        let Self { side, inside, points, lanes } = self;
        for start in (0..points).step_by(BLOCK) {
            let points = BLOCK.min(points - start);
            let mut lane = start * lanes;
            for &StridedLines { first, along, across, count, .. } in side {
                let mut done = 0;
                while done < count {
                    let lines = if count - done < SIDE { 1 } else { SIDE };
                    // SAFETY: these are points of the lines, and of lanes of the work memory.
                    unsafe {
                        let first = first.offset(start as isize * along + done as isize * across);
                        let inside = (inside.add(lane), lanes as isize, 1);
                        if GATHERS {
                            let outside = (first.cast_const(), along, across);
                            copy_tile(outside, inside, lines, points, |value| value);
                        } else {
                            let inside = (inside.0.cast_const(), inside.1, inside.2);
                            copy_tile(inside, (first, along, across), lines, points, |value| value);
                        }
                    }
                    (lane, done) = (lane + lines, done + lines);
                }
            }
            let left = lanes - (lane - start * lanes);
            if GATHERS && left > 0 {
                for point in start + 1..=start + points {
                    // SAFETY: these are the lanes that are left. Zero bytes are numbers.
                    unsafe { inside.add(point * lanes - left).write_bytes(0, left) };
                }
            }
        }
    }
}

/// The same lines, given by the first point of each.
struct TurnLines<E, const GATHERS: bool> {
    /// Lanes without a line have that of another one.
    firsts: [*mut E; MOST_LANES],
    along: isize,
    count: usize,
    inside: *mut E,
    points: usize,
    lanes: usize,
}

impl<E: Pod, const GATHERS: bool> WithSimd for &TurnLines<E, GATHERS> {
    /// Whether the lanes are enough for the vectors.
    type Output = bool;

    /// Moves lines whose points are neighbours, and whose elements are numbers of 8 bytes or pairs
    /// of them.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let numbers = size_of::<S::f64s>() / size_of::<f64>();
        let is_pair = size_of::<E>() == 2 * size_of::<f64>();
        // The points and lines of a block.
        let (width, height) = if is_pair { (numbers / 2, PAIRS) } else { (numbers, numbers) };
        if width < 2 || self.lanes < height {
            return false;
        }
        let lanes = if GATHERS { self.lanes } else { self.count };
        for first in (0..lanes).step_by(height) {
            for point in (0..self.points).step_by(width) {
                // The last points are moved together with some that were moved before.
                let used = width.min(self.points);
                let point = point.min(self.points - used);
                // SAFETY: the lines have these points, and the work memory has these lanes.
                unsafe {
                    if is_pair {
                        self.turn_pairs(simd, (point, used), first);
                    } else {
                        self.turn_numbers(simd, (point, used), first);
                    }
                }
            }
        }
        true
    }
}

/// Returns the mask of the first numbers of a vector, so many bytes of them.
#[inline(always)]
fn mask_of<S: Simd>(simd: S, bytes: usize) -> MemMask<S::m64s> {
    // Without the functions that pulp calls for masks of this kind.
    MemMask::new(simd.mask_between_m64s(0, (bytes / size_of::<f64>()) as u64).mask())
}

impl<E: Pod, const GATHERS: bool> TurnLines<E, GATHERS> {
    #[inline(always)]
    fn lanes_of(&self, point: usize, lane: usize) -> *mut E {
        self.inside.wrapping_add(point * self.lanes + lane)
    }

    /// Moves points of all lines after the other.
    ///
    /// # Safety
    /// The lines and the work memory are as [`MoveLines`] says.
    unsafe fn move_one_by_one(&self) {
        let lanes = if GATHERS { self.lanes } else { self.count };
        for point in 0..self.points {
            for (lane, first) in self.firsts.iter().enumerate().take(lanes) {
                let outside = first.wrapping_offset(point as isize * self.along);
                let inside = self.lanes_of(point, lane);
                // SAFETY: the caller guarantees it.
                unsafe {
                    if GATHERS {
                        *inside = *outside;
                    } else {
                        *outside = *inside;
                    }
                }
            }
        }
    }

    /// Reads some points of a line, so many in all.
    ///
    /// # Safety
    /// The line has these points.
    #[inline(always)]
    unsafe fn read<S: Simd>(&self, simd: S, line: usize, (point, used): (usize, usize)) -> S::f64s {
        let first = self.firsts[line].wrapping_add(point);
        let size = used * size_of::<E>();
        // SAFETY: the caller guarantees it.
        unsafe {
            if size == size_of::<S::f64s>() {
                first.cast::<S::f64s>().read_unaligned()
            } else {
                simd.mask_load_ptr_f64s(mask_of(simd, size), first.cast())
            }
        }
    }

    /// Writes some points of a line, if there is one in this lane.
    ///
    /// # Safety
    /// As for [`Self::read`].
    #[inline(always)]
    unsafe fn write<S: Simd>(
        &self,
        simd: S,
        line: usize,
        (point, used): (usize, usize),
        values: S::f64s,
    ) {
        if line >= self.count {
            return;
        }
        let first = self.firsts[line].wrapping_add(point);
        let size = used * size_of::<E>();
        // SAFETY: the caller guarantees it.
        unsafe {
            if size == size_of::<S::f64s>() {
                first.cast::<S::f64s>().write_unaligned(values);
            } else {
                simd.mask_store_ptr_f64s(mask_of(simd, size), first.cast(), values);
            }
        }
    }

    /// Moves as many points as a vector has numbers, or all of fewer, of as many lines. Elements
    /// have the size of a number.
    ///
    /// # Safety
    /// They are points and lanes of both places.
    #[inline(always)]
    unsafe fn turn_numbers<S: Simd>(&self, simd: S, points: (usize, usize), first: usize) {
        let numbers = size_of::<S::f64s>() / size_of::<f64>();
        let column = |at: usize| self.lanes_of(points.0 + at, first).cast::<S::f64s>();
        let mut vectors = [simd.splat_f64s(0.0); 8];
        // SAFETY: the caller guarantees that what is read and written is there.
        unsafe {
            if GATHERS {
                for lane in 0..numbers {
                    vectors[lane] = self.read(simd, first + lane, points);
                }
                transpose_square(simd, &mut vectors);
                for at in 0..points.1 {
                    column(at).write_unaligned(vectors[at]);
                }
            } else {
                for at in 0..points.1 {
                    vectors[at] = column(at).read_unaligned();
                }
                transpose_square(simd, &mut vectors);
                for lane in 0..numbers {
                    self.write(simd, first + lane, points, vectors[lane]);
                }
            }
        }
    }

    /// Moves as many points as a vector has pairs of numbers, or all of fewer, of a few lines.
    ///
    /// # Safety
    /// They are points and lanes of both places.
    #[inline(always)]
    unsafe fn turn_pairs<S: Simd>(&self, simd: S, points: (usize, usize), first: usize) {
        let width = size_of::<S::f64s>() / size_of::<[f64; 2]>();
        // A vector has a part of the lines of a point, or all of them.
        let column = |part: usize| {
            let (at, lane) = (part * width / PAIRS, part * width % PAIRS);
            self.lanes_of(points.0 + at, first + lane).cast::<S::f64s>()
        };
        let parts = points.1 * PAIRS / width;
        let mut vectors = [simd.splat_f64s(0.0); PAIRS];
        // SAFETY: the caller guarantees that what is read and written is there.
        unsafe {
            if GATHERS {
                for lane in 0..PAIRS {
                    vectors[lane] = self.read(simd, first + lane, points);
                }
                vectors = transpose_four(simd, vectors);
                for part in 0..parts {
                    column(part).write_unaligned(vectors[part]);
                }
            } else {
                for part in 0..parts {
                    vectors[part] = column(part).read_unaligned();
                }
                vectors = transpose_back(simd, vectors);
                for lane in 0..PAIRS {
                    self.write(simd, first + lane, points, vectors[lane]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::super::instructions::all_instructions;
    use super::{Instructions, MoveLines, Pod, StridedLines};

    /// Moves lines to the lanes and to other lines, and compares every element.
    fn check<E: Pod + PartialEq + std::fmt::Debug>(
        arch: Instructions,
        lanes: usize,
        points: usize,
        counts: &[usize],
        number: impl Fn(usize) -> E,
    ) {
        let all: usize = counts.iter().sum();
        let what = format!("{points} points, {counts:?} of {lanes} lanes, {arch:?}");
        let hole = number(1 << 20);
        let source: Vec<E> = (0..(points + 3) * 20).map(&number).collect();
        // Points are neighbours, or lines; each part of the side begins somewhere else.
        for (along, across) in [(1, points as isize + 1), (19, 1), (2, 2 * points as isize)] {
            let side = |first: *mut E| {
                counts.iter().scan(0, move |next, &count| {
                    let first = first.wrapping_offset(*next as isize * across);
                    *next += count;
                    Some(StridedLines::new(first, along, across, count))
                })
            };
            let at = |line: usize, point: usize| line * across as usize + point * along as usize;
            let mut from = source.clone();
            from.resize(at(all - 1, points - 1).max(from.len()) + 1, hole);
            let from_side: Vec<_> = side(from.as_mut_ptr()).collect();
            let mut inside = vec![hole; points * lanes];
            let to_lanes = MoveLines::<_, true> {
                side: &from_side,
                inside: inside.as_mut_ptr(),
                points,
                lanes,
            };
            to_lanes.run(arch);
            for (line, point) in (0..all).flat_map(|line| (0..points).map(move |at| (line, at))) {
                assert_eq!(inside[point * lanes + line], from[at(line, point)], "{what}");
            }
            let mut to = vec![hole; from.len()];
            let to_side: Vec<_> = side(to.as_mut_ptr()).collect();
            let back = MoveLines::<_, false> {
                side: &to_side,
                inside: inside.as_mut_ptr(),
                points,
                lanes,
            };
            back.run(arch);
            for (line, point) in (0..all).flat_map(|line| (0..points).map(move |at| (line, at))) {
                let index = at(line, point);
                assert_eq!(to[index], from[index], "{what}");
                to[index] = hole;
            }
            assert!(to.iter().all(|value| *value == hole), "{what}: written beyond the lines");
        }
    }

    #[test]
    fn lines_are_moved_in_order() {
        for (arch, points) in all_instructions()
            .into_iter()
            .flat_map(|arch| (1..=20).map(move |points| (arch, points)))
        {
            for lanes in [2, 4, 8, 16] {
                let parts: [&[usize]; 6] =
                    [&[lanes], &[1], &[lanes - 1], &[1, 1], &[2; 8], &[5, 4, 4]];
                for counts in parts.into_iter().filter(|parts| parts.iter().sum::<usize>() <= lanes)
                {
                    check(arch, lanes, points, counts, |value| value as f32);
                    check(arch, lanes, points, counts, |value| value as f64);
                    check(arch, lanes, points, counts, |value| Complex::new(value as f32, -1.0));
                    check(arch, lanes, points, counts, |value| Complex::new(value as f64, -1.0));
                }
            }
        }
    }
}
