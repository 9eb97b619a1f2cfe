//! Copies of some lines of an array between two places.

use std::array;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute_copy;

/// Copies lines between two places, each given with its strides along and across the lines. Lines
/// that are neighbours in one place, and have neighbouring points in the other one, are transposed
/// in blocks.
///
/// # Safety
/// Both places are valid at `line * across + point * along` for all lines and points, and do not
/// overlap.
#[inline]
pub(crate) unsafe fn copy_tile<E: Copy>(
    from: (*const E, isize, isize),
    to: (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    // SAFETY: the caller guarantees what both functions require.
    unsafe {
        if lines < SIDE {
            copy_lines(from, to, lines, points, map);
        } else if from.2 == 1 && to.1 == 1 {
            transpose::<E, true>(from, to, lines, points, map);
        } else if from.1 == 1 && to.2 == 1 {
            transpose::<E, false>(from, to, lines, points, map);
        } else {
            copy_lines(from, to, lines, points, map);
        }
    }
}

/// Lines and points of a block.
pub(crate) const SIDE: usize = 4;

/// Copies lines in blocks, whose rows are vectors. The lines are neighbours in the source if
/// `GATHERS`, else in the target, and the points in the other one.
///
/// # Safety
/// As for [`copy_tile`].
#[inline]
unsafe fn transpose<E: Copy, const GATHERS: bool>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    let [whole_lines, whole_points] = [lines, points].map(|count| count / SIDE * SIDE);
    let (from_step, to_step) =
        if GATHERS { (from_along, to_across) } else { (from_across, to_along) };
    for first in (0..whole_points as isize).step_by(SIDE) {
        for point in first..first + SIDE as isize {
            let later = point.wrapping_add(POINTS_AHEAD);
            if GATHERS {
                fetch(from.wrapping_offset(later.wrapping_mul(from_along)), lines);
            } else {
                fetch(to.wrapping_offset(later.wrapping_mul(to_along)), lines);
            }
        }
        for line in (0..whole_lines as isize).step_by(SIDE) {
            // SAFETY: these are points of lines that the caller guarantees to be valid, and what is
            // read or written at once are neighbours.
            unsafe {
                let from = from.offset(first * from_along + line * from_across);
                let to = to.offset(first * to_along + line * to_across);
                let row =
                    |row: isize| (*from.offset(row * from_step).cast::<[E; SIDE]>()).map(&map);
                let columns = transposed([row(0), row(1), row(2), row(3)]);
                for (column, values) in columns.into_iter().enumerate() {
                    *to.offset(column as isize * to_step).cast::<[E; SIDE]>() = values;
                }
            }
        }
    }
    let strides = |point: usize, line: usize| {
        let (point, line) = (point as isize, line as isize);
        (point * from_along + line * from_across, point * to_along + line * to_across)
    };
    // SAFETY: these are the points and lines that are left.
    unsafe {
        let (from_rest, to_rest) = strides(0, whole_lines);
        copy_lines(
            (from.offset(from_rest), from_along, from_across),
            (to.offset(to_rest), to_along, to_across),
            lines - whole_lines,
            whole_points,
            &map,
        );
        let (from_rest, to_rest) = strides(whole_points, 0);
        copy_lines(
            (from.offset(from_rest), from_along, from_across),
            (to.offset(to_rest), to_along, to_across),
            lines,
            points - whole_points,
            &map,
        );
    }
}

/// Returns the columns of a block as rows. Compilers move numbers one by one here, unless they are
/// told the instructions.
#[inline]
fn transposed<E: Copy>(rows: [[E; SIDE]; SIDE]) -> [[E; SIDE]; SIDE] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            __m128, __m128d, _MM_TRANSPOSE4_PS, _mm_unpackhi_pd, _mm_unpacklo_pd,
        };
        if size_of::<E>() == size_of::<f32>() {
            // SAFETY: a block of elements of this size is four vectors, which may have any bits,
            // and every processor of this kind has the instructions.
            return unsafe {
                let [mut a, mut b, mut c, mut d] = transmute_copy::<_, [__m128; 4]>(&rows);
                _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
                transmute_copy(&[a, b, c, d])
            };
        }
        if size_of::<E>() == size_of::<f64>() {
            // SAFETY: as above, with eight vectors.
            return unsafe {
                let [a, b, c, d] = transmute_copy::<_, [[__m128d; 2]; 4]>(&rows);
                let columns = [0, 1].map(|half| {
                    let (a, b, c, d) = (a[half], b[half], c[half], d[half]);
                    [
                        [_mm_unpacklo_pd(a, b), _mm_unpacklo_pd(c, d)],
                        [_mm_unpackhi_pd(a, b), _mm_unpackhi_pd(c, d)],
                    ]
                });
                transmute_copy(&columns)
            };
        }
    }
    array::from_fn(|column| rows.map(|row| row[column]))
}

/// How many points before its use an operand's piece is asked for.
const POINTS_AHEAD: isize = 16;

/// Asks for the cache lines of some elements, which need not be valid. The next point of strided
/// lines is on another page, where no processor looks by itself.
#[inline]
pub(crate) fn fetch<E>(first: *const E, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..count).step_by((64 / size_of::<E>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction ignores addresses that cannot be read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, count);
}

/// Copies any number of lines. The inner loop goes over the points of a line if they are nearer to
/// each other than the lines in both places, and over the lines otherwise.
///
/// # Safety
/// As for [`copy_tile`].
#[inline]
unsafe fn copy_lines<E: Copy>(
    (from, from_along, from_across): (*const E, isize, isize),
    (to, to_along, to_across): (*mut E, isize, isize),
    lines: usize,
    points: usize,
    map: impl Fn(E) -> E,
) {
    let far = |along: isize, across: isize| across.unsigned_abs() >= along.unsigned_abs();
    // SAFETY: these are points of lines that the caller guarantees to be valid.
    unsafe {
        if lines == 1 || (far(from_along, from_across) && far(to_along, to_across)) {
            for line in 0..lines as isize {
                let (from, to) = (from.offset(line * from_across), to.offset(line * to_across));
                for point in 0..points as isize {
                    *to.offset(point * to_along) = map(*from.offset(point * from_along));
                }
            }
        } else {
            for point in 0..points as isize {
                let (from, to) = (from.offset(point * from_along), to.offset(point * to_along));
                for line in 0..lines as isize {
                    *to.offset(line * to_across) = map(*from.offset(line * from_across));
                }
            }
        }
    }
}
