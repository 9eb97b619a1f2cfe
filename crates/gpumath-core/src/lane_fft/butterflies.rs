//! Transforms of a few points, in each lane one.

use super::pairs::Numbers;
use super::vectors::Lane;

/// Most points of a butterfly.
pub(super) const MOST_POINTS: usize = 16;

/// cos and sin of the angles 2πk/R of a butterfly of R points.
pub(super) type Roots<T> = [[T; 2]; MOST_POINTS];

/// Takes eight of some points, at this distance, from this one on.
macro_rules! every {
    ($points:ident, $distance:literal, $first:literal) => {
        [
            $points[$first],
            $points[$distance + $first],
            $points[$distance * 2 + $first],
            $points[$distance * 3 + $first],
            $points[$distance * 4 + $first],
            $points[$distance * 5 + $first],
            $points[$distance * 6 + $first],
            $points[$distance * 7 + $first],
        ]
    };
}

/// Transforms `R` points forward: 2, 4, 8, 16 or an odd number.
#[inline(always)]
pub(super) fn butterfly<T: Lane, N: Numbers<T>, const R: usize>(
    simd: N::Simd,
    points: [N; R],
    roots: &Roots<T>,
) -> [N; R] {
    let mut results = points;
    // The sines of π/4 and 5π/4.
    let sines = [roots[R / 8][1], roots[R / 8 * 5][1]];
    match R {
        2 => {
            results[0] = points[0].plus(simd, points[1]);
            results[1] = points[0].minus(simd, points[1]);
        }
        4 => {
            let four = of_four(simd, [points[0], points[1], points[2], points[3]]);
            results[0] = four[0];
            results[1] = four[1];
            results[2] = four[2];
            results[3] = four[3];
        }
        8 => {
            let eight = of_eight(simd, every!(points, 1, 0), sines);
            results.copy_from_slice(&eight);
        }
        16 => {
            let even: &[N] = &of_eight(simd, every!(points, 2, 0), sines);
            let odd: &[N] = &of_eight(simd, every!(points, 2, 1), sines);
            unrolled!(K < 8, {
                let [cos, sin] = roots[K];
                let (first, second) = match K {
                    0 => (even[K].plus(simd, odd[K]), even[K].minus(simd, odd[K])),
                    4 => (even[K].minus_i(simd, odd[K]), even[K].plus_i(simd, odd[K])),
                    _ => {
                        let rotated = odd[K].rotated(simd, cos, sin);
                        (even[K].plus(simd, rotated), even[K].minus(simd, rotated))
                    }
                };
                results[K] = first;
                results[K + R / 2] = second;
            });
        }
        _ => of_odd(simd, &points, &mut results, roots),
    }
    results
}

#[inline(always)]
fn of_four<T: Lane, N: Numbers<T>>(simd: N::Simd, points: [N; 4]) -> [N; 4] {
    let even = points[0].plus(simd, points[2]);
    let even_difference = points[0].minus(simd, points[2]);
    let odd = points[1].plus(simd, points[3]);
    let odd_difference = points[1].minus(simd, points[3]);
    [
        even.plus(simd, odd),
        even_difference.minus_i(simd, odd_difference),
        even.minus(simd, odd),
        even_difference.plus_i(simd, odd_difference),
    ]
}

/// Transforms eight points, given 1/√2 and -1/√2.
#[inline(always)]
fn of_eight<T: Lane, N: Numbers<T>>(
    simd: N::Simd,
    points: [N; 8],
    [root, negated]: [T; 2],
) -> [N; 8] {
    let even = of_four(simd, [points[0], points[2], points[4], points[6]]);
    let odd = of_four(simd, [points[1], points[3], points[5], points[7]]);
    // The factors (1 - i)/√2 and -(1 + i)/√2.
    let first = odd[1].minus_i(simd, odd[1]);
    let third = odd[3].plus_i(simd, odd[3]);
    [
        even[0].plus(simd, odd[0]),
        first.times_plus(simd, root, even[1]),
        even[2].minus_i(simd, odd[2]),
        third.times_plus(simd, negated, even[3]),
        even[0].minus(simd, odd[0]),
        first.times_plus(simd, negated, even[1]),
        even[2].plus_i(simd, odd[2]),
        third.times_plus(simd, root, even[3]),
    ]
}

/// Transforms an odd number of points: points that mirror each other have sums, which meet the
/// cosines, and differences, which meet the sines.
#[inline(always)]
fn of_odd<T: Lane, N: Numbers<T>>(
    simd: N::Simd,
    points: &[N],
    results: &mut [N],
    roots: &Roots<T>,
) {
    let count = points.len();
    results[0] = points[0];
    for point in &points[1..] {
        results[0] = results[0].plus(simd, *point);
    }
    for k in 1..=count / 2 {
        let (mut even, mut odd) = (points[0], None);
        for j in 1..=count / 2 {
            let [cos, sin] = roots[j * k % count];
            let (point, mirrored) = (points[j], points[count - j]);
            even = point.plus(simd, mirrored).times_plus(simd, cos, even);
            let difference = point.minus(simd, mirrored);
            odd = Some(match odd {
                None => difference.scaled(simd, sin),
                Some(odd) => difference.times_plus(simd, sin, odd),
            });
        }
        if let Some(odd) = odd {
            results[k] = even.minus_i(simd, odd);
            results[count - k] = even.plus_i(simd, odd);
        }
    }
}
