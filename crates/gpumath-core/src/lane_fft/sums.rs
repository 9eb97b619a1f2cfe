//! Transforms of many points as sums of products, in each lane one.
//!
//! With s = x(j) + x(P - j) and d = x(j) - x(P - j), the elements k and P - k of a transform of P
//! points are x(0) + Σ cos(2πjk/P) s ∓ i Σ sin(2πjk/P) d, and ± x(P/2) for even P. That is about P
//! products for a number.

use std::f64::consts::PI;
use std::mem::MaybeUninit;

use pulp::Simd;
use rustfft::FftDirection;

use super::vectors::{Complexes, Lane, splats};

/// Most complex points that are transformed in this way, most real ones, and half of the latter.
pub(super) const MOST_SUMMED: usize = 127;
pub(super) const MOST_REAL_SUMMED: usize = 313;
const MOST_HALF: usize = MOST_REAL_SUMMED / 2;

/// Room for what is computed of each two points that mirror each other.
pub(super) struct Room<V>(MaybeUninit<[V; MOST_HALF]>);

impl<V: Copy> Room<V> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Fills the first places.
    #[inline(always)]
    pub(super) fn fill(&mut self, count: usize, mut value: impl FnMut(usize) -> V) -> &[V] {
        assert!(count <= MOST_HALF, "there is room for {MOST_HALF} pairs");
        let first = self.0.as_mut_ptr().cast::<V>();
        for place in 0..count {
            // SAFETY: the place is one of the array.
            unsafe { first.add(place).write(value(place)) };
        }
        // SAFETY: so many places were just written.
        unsafe { std::slice::from_raw_parts(first, count) }
    }
}

/// Returns exp(∓2πi·numerator/denominator).
pub(super) fn unit<T: Lane>(
    numerator: usize,
    denominator: usize,
    direction: FftDirection,
) -> [T; 2] {
    let (sin, cos) = (2.0 * PI * numerator as f64 / denominator as f64).sin_cos();
    let is_forward = direction == FftDirection::Forward;
    [cos, if is_forward { -sin } else { sin }].map(T::rounded)
}

/// Returns the cosine and ∓ the sine of 2πjk/P, by k from 1 to P / 2 and j from 1 to (P - 1) / 2.
pub(super) fn units<T: Lane>(points: usize, direction: FftDirection) -> Vec<[T; 2]> {
    let pairs = (1..=points / 2).flat_map(|k| (1..=(points - 1) / 2).map(move |j| j * k));
    pairs.map(|product| unit(product % points, points, direction)).collect()
}

/// Transforms points, of which there are at most [`MOST_SUMMED`], given their [`units`]. All are
/// read before a result is written.
#[inline(always)]
pub(super) fn sums<T: Lane, S: Simd>(
    simd: S,
    points: usize,
    units: &[[T; 2]],
    read: impl Fn(usize) -> Complexes<T, S>,
    mut write: impl FnMut(usize, Complexes<T, S>),
) {
    let (half, zero) = ((points - 1) / 2, Complexes::<T, S>::zero(simd));
    let start = read(0);
    let middle = if points.is_multiple_of(2) { read(points / 2) } else { zero };
    let mut total = start.plus(simd, middle);
    let mut room = Room::new();
    let pairs = room.fill(
        half,
        #[inline(always)]
        |j| {
            let (a, b) = (read(j + 1), read(points - 1 - j));
            let sum = a.plus(simd, b);
            total = total.plus(simd, sum);
            [sum, a.minus(simd, b)]
        },
    );
    write(0, total);
    let begins = [start.plus(simd, middle), start.minus(simd, middle)];
    // Two elements at a time, so that the processor need not wait for its sums.
    for k in (1..=points / 2).step_by(2) {
        let next = (k + 1).min(points / 2);
        let units = |k: usize| &units[(k - 1) * half..][..half];
        let (mut even, mut odd) = (begins[k % 2], zero);
        let (mut next_even, mut next_odd) = (begins[next % 2], zero);
        let terms = units(k).iter().zip(units(next)).zip(pairs);
        for ((unit, next_unit), [sum, difference]) in terms {
            let [cos, sin] = splats(simd, *unit);
            let [next_cos, next_sin] = splats(simd, *next_unit);
            even = sum.times_plus(simd, cos, even);
            odd = difference.times_plus(simd, sin, odd);
            next_even = sum.times_plus(simd, next_cos, next_even);
            next_odd = difference.times_plus(simd, next_sin, next_odd);
        }
        for (k, even, odd) in [(k, even, odd), (next, next_even, next_odd)] {
            write(k, even.plus_i(simd, odd));
            write(points - k, even.minus_i(simd, odd));
        }
    }
}
