//! Transforms of a few points, in each lane one.

use pulp::Simd;

use super::vectors::{Complexes, Lane};

/// Most points of a butterfly.
pub(super) const MOST_POINTS: usize = 8;

/// cos and sin of the angles 2πk/R of a butterfly of R points.
pub(super) type Roots<T> = [[T; 2]; MOST_POINTS];

/// Transforms `R` points forward: 2, 4, 8 or an odd number.
#[inline(always)]
pub(super) fn butterfly<T: Lane, S: Simd, const R: usize>(
    simd: S,
    points: [Complexes<T, S>; R],
    roots: &Roots<T>,
) -> [Complexes<T, S>; R] {
    let mut results = points;
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
            let even = of_four(simd, [points[0], points[2], points[4], points[6]]);
            let odd = of_four(simd, [points[1], points[3], points[5], points[7]]);
            let (root, negated) = (T::splat(simd, roots[1][1]), T::splat(simd, roots[5][1]));
            results[0] = even[0].plus(simd, odd[0]);
            results[4] = even[0].minus(simd, odd[0]);
            results[2] = even[2].minus_i(simd, odd[2]);
            results[6] = even[2].plus_i(simd, odd[2]);
            // The factors (1 - i)/√2 and -(1 + i)/√2.
            let turned = odd[1].minus_i(simd, odd[1]);
            results[1] = turned.times_plus(simd, root, even[1]);
            results[5] = turned.times_plus(simd, negated, even[1]);
            let turned = odd[3].plus_i(simd, odd[3]);
            results[3] = turned.times_plus(simd, negated, even[3]);
            results[7] = turned.times_plus(simd, root, even[3]);
        }
        _ => of_odd(simd, &points, &mut results, roots),
    }
    results
}

#[inline(always)]
fn of_four<T: Lane, S: Simd>(simd: S, points: [Complexes<T, S>; 4]) -> [Complexes<T, S>; 4] {
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

/// Transforms an odd number of points: points that mirror each other have sums, which meet the
/// cosines, and differences, which meet the sines.
#[inline(always)]
fn of_odd<T: Lane, S: Simd>(
    simd: S,
    points: &[Complexes<T, S>],
    results: &mut [Complexes<T, S>],
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
            let (cos, sin) = (T::splat(simd, cos), T::splat(simd, sin));
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
