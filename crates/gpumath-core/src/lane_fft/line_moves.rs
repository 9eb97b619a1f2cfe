//! Copies of lines from operands to the lanes, and back.

#![expect(
    clippy::needless_range_loop,
    reason = "vectors that pass through iterators or closures are not kept in registers"
)]

use pulp::{Simd, WithSimd};

use super::strided_lines::StridedLines;
use super::transposition::{transpose_back, transpose_four, transpose_square};
use crate::memory::{Pod, SIDE, copy_tile};

/// The most lines that are moved at once: lanes of the widest vectors.
pub(super) const MOST_LANES: usize = 16;

/// Points and lines that are turned at a time where elements are pairs of numbers.
const PAIRS: usize = 4;

/// Points that are copied at a time of a few lines, because those of more lines often compete for a
/// place in a cache.
const BLOCK: usize = 64;

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

impl<E: Pod, const GATHERS: bool> WithSimd for MoveLines<'_, E, GATHERS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { side, points, lanes, .. } = self;
        let along = side[0].along;
        let numbers = size_of::<S::f64s>() / size_of::<f64>();
        // The points and lines that are turned at a time.
        let block = match size_of::<E>() {
            8 => numbers,
            16 if numbers >= PAIRS => PAIRS,
            _ => usize::MAX,
        };
        let are_turned = along == 1 && points.min(lanes) >= block;
        if !are_turned && side.iter().all(|lines| lines.count >= SIDE) {
            // SAFETY: the caller vouches for the lines and the work memory.
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
        let moves = Moves::<E, GATHERS> { firsts, along, count, inside: self.inside, lanes };
        // SAFETY: as above.
        unsafe {
            if are_turned {
                moves.transpose(simd, points, block);
            } else {
                moves.move_one_by_one(points);
            }
        }
    }
}

impl<E: Pod, const GATHERS: bool> MoveLines<'_, E, GATHERS> {
    /// Moves a few points of each few lines after the other.
    ///
    /// # Safety
    /// The lines and the work memory are as [`MoveLines`] says.
    unsafe fn copy_blocks(self) {
        let Self { side, inside, points, lanes } = self;
        for start in (0..points).step_by(BLOCK) {
            let points = BLOCK.min(points - start);
            let mut lane = start * lanes;
            for &StridedLines { first, along, across, count } in side {
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
            if GATHERS {
                let filled = lane - start * lanes;
                for point in start..start + points {
                    // SAFETY: these are the lanes that are left. Zero bytes are numbers.
                    unsafe {
                        let left = inside.add(point * lanes + filled);
                        left.write_bytes(0, lanes - filled);
                    }
                }
            }
        }
    }
}

/// The same, with the first point of each line.
struct Moves<E, const GATHERS: bool> {
    /// Lanes without a line have that of another one.
    firsts: [*mut E; MOST_LANES],
    along: isize,
    count: usize,
    inside: *mut E,
    lanes: usize,
}

impl<E: Pod, const GATHERS: bool> Moves<E, GATHERS> {
    #[inline(always)]
    fn lanes_of(&self, point: usize, lane: usize) -> *mut E {
        self.inside.wrapping_add(point * self.lanes + lane)
    }

    /// Moves points of a line after the other.
    ///
    /// # Safety
    /// The lines and the work memory are as [`MoveLines`] says.
    #[inline(always)]
    unsafe fn move_one_by_one(&self, points: usize) {
        let lanes = if GATHERS { self.lanes } else { self.count };
        for point in 0..points {
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

    /// Moves blocks of so many lanes and points.
    ///
    /// # Safety
    /// As for [`Self::move_one_by_one`]; lines have at least as many points, which are neighbours.
    #[inline(always)]
    unsafe fn transpose<S: Simd>(&self, simd: S, points: usize, block: usize) {
        let lanes = if GATHERS { self.lanes } else { self.count };
        for first in (0..lanes).step_by(block) {
            for point in (0..points).step_by(block) {
                // The last points are moved together with some that were moved before.
                let point = point.min(points - block);
                // SAFETY: the caller guarantees it.
                unsafe {
                    if size_of::<E>() == size_of::<f64>() {
                        self.move_numbers(simd, point, first);
                    } else {
                        self.move_pairs(simd, point, first);
                    }
                }
            }
        }
    }

    /// Moves as many points as a vector has numbers, which have the size of the elements, of as many
    /// lines. No vector passes through a function that is not inlined.
    ///
    /// # Safety
    /// They are points and lanes of both places.
    #[inline(always)]
    unsafe fn move_numbers<S: Simd>(&self, simd: S, point: usize, first: usize) {
        let numbers = size_of::<S::f64s>() / size_of::<f64>();
        let row = |lane: usize| self.firsts[first + lane].wrapping_add(point).cast::<S::f64s>();
        let column = |at: usize| self.lanes_of(point + at, first).cast::<S::f64s>();
        let mut vectors = [simd.splat_f64s(0.0); 8];
        // SAFETY: the caller guarantees that what is read and written is there.
        unsafe {
            for at in 0..numbers {
                let from = if GATHERS { row(at) } else { column(at) };
                vectors[at] = from.read_unaligned();
            }
            transpose_square(simd, &mut vectors);
            let used = if GATHERS { numbers } else { numbers.min(self.count - first) };
            for at in 0..used {
                let to = if GATHERS { column(at) } else { row(at) };
                to.write_unaligned(vectors[at]);
            }
        }
    }

    /// Moves some points of as many lines, whose elements are pairs of numbers.
    ///
    /// # Safety
    /// They are points and lanes of both places, and vectors have at least two pairs.
    #[inline(always)]
    unsafe fn move_pairs<S: Simd>(&self, simd: S, point: usize, first: usize) {
        let width = size_of::<S::f64s>() / size_of::<[f64; 2]>();
        for point in (point..point + PAIRS).step_by(width) {
            let row = |lane: usize| self.firsts[first + lane].wrapping_add(point).cast::<S::f64s>();
            let column = |part: usize| {
                let (at, lane) = (part * width / PAIRS, part * width % PAIRS);
                self.lanes_of(point + at, first + lane).cast::<S::f64s>()
            };
            // SAFETY: the caller guarantees that what is read and written is there.
            unsafe {
                if GATHERS {
                    let (a, b) = (row(0).read_unaligned(), row(1).read_unaligned());
                    let (c, d) = (row(2).read_unaligned(), row(3).read_unaligned());
                    let values = transpose_four(simd, [a, b, c, d]);
                    for part in 0..PAIRS {
                        column(part).write_unaligned(values[part]);
                    }
                } else {
                    let (a, b) = (column(0).read_unaligned(), column(1).read_unaligned());
                    let (c, d) = (column(2).read_unaligned(), column(3).read_unaligned());
                    let rows = transpose_back(simd, [a, b, c, d]);
                    for lane in 0..PAIRS.min(self.count - first) {
                        row(lane).write_unaligned(rows[lane]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;
    use rustfft::num_complex::Complex;

    use super::super::sets_of_instructions;
    use super::{MoveLines, Pod, StridedLines};

    /// Moves lines to the lanes and to other lines, and compares every element.
    fn check<E: Pod + PartialEq + std::fmt::Debug>(
        arch: Arch,
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
                    Some(StridedLines { first, along, across, count })
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
            arch.dispatch(to_lanes);
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
            arch.dispatch(back);
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
        for (arch, points) in sets_of_instructions()
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
