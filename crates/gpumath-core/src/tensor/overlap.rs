//! Whether two operands have memory in common.
//!
//! Each byte of an operand is at its lowest address plus a sum of steps: an index times a stride
//! for each dimension, and a place within the element. Both operands have a byte at one address if
//! the difference of their lowest addresses is a sum of steps of the one, forwards, and of the
//! other, backwards. That is an equation in bounded integers. Where strides are nested, as they
//! are but for rare operands, it is solved in a few steps. In general it is as hard as packing a
//! knapsack, so the search ends after a bounded number of steps.

use super::TensorView;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No byte belongs to both.
    None,
    /// There is one.
    Some,
    /// To find out would take too long.
    Undecided,
}

impl Overlap {
    /// The predicate for messages; `None` if there is nothing to say.
    #[must_use]
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Some => Some("overlap"),
            Self::Undecided => Some("may overlap"),
        }
    }
}

/// Steps of a search: a fraction of a millisecond.
const MAX_STEPS: u32 = 10_000;

/// A number of equal steps that can be taken.
#[derive(Clone, Copy, Debug)]
struct Steps {
    length: i128,
    most: i128,
}

impl TensorView {
    /// Returns whether an element of one operand has a byte of an element of the other.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Overlap {
        let ((low, size), (other_low, other_size)) = (self.span(), other.span());
        let is_apart = self.device != other.device
            || size.min(other_size) == 0
            || low >= other_low + other_size
            || other_low >= low + size;
        if is_apart {
            return Overlap::None;
        }
        let mut steps: Vec<Steps> = Vec::with_capacity(16);
        for view in [self, other] {
            let element = view.dtype.size() as i128;
            steps.push(Steps { length: 1, most: element - 1 });
            for (&extent, &stride) in view.layout.shape.iter().zip(&view.layout.strides) {
                let length = i128::from(stride.unsigned_abs()) * element;
                steps.push(Steps { length, most: i128::from(extent) - 1 });
            }
        }
        // Backwards from the last byte of `other` is forwards with another distance.
        let distance = other_low as i128 + other_size as i128 - 1 - low as i128;
        Search::new(steps).reaches(distance)
    }
}

struct Search {
    /// Of different lengths, the longest first.
    steps: Vec<Steps>,
    /// For each position, the distance that all steps from there on cover together.
    reach: Vec<i128>,
    /// For each position, the greatest common divisor of the steps from there on.
    divisor: Vec<i128>,
    left: u32,
}

impl Search {
    fn new(mut steps: Vec<Steps>) -> Self {
        steps.retain(|steps| steps.length > 0 && steps.most > 0);
        steps.sort_by_key(|steps| std::cmp::Reverse(steps.length));
        steps.dedup_by(|next, kept| {
            let is_same = next.length == kept.length;
            kept.most += if is_same { next.most } else { 0 };
            is_same
        });
        let (mut reach, mut divisor) = (vec![0; steps.len() + 1], vec![0; steps.len() + 1]);
        for (at, steps) in steps.iter().enumerate().rev() {
            reach[at] = reach[at + 1] + steps.length * steps.most;
            divisor[at] = greatest_common_divisor(steps.length, divisor[at + 1]);
        }
        Self { steps, reach, divisor, left: MAX_STEPS }
    }

    fn reaches(mut self, distance: i128) -> Overlap {
        match self.is_sum(0, distance) {
            Some(true) => Overlap::Some,
            Some(false) => Overlap::None,
            None => Overlap::Undecided,
        }
    }

    /// Whether the steps from position `at` on can add up to the distance; `None` if the search has
    /// taken too long.
    fn is_sum(&mut self, at: usize, distance: i128) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if distance == 0 {
            return Some(true);
        }
        if distance < 0 || distance > self.reach[at] || distance % self.divisor[at] != 0 {
            return Some(false);
        }
        let Steps { length, most } = self.steps[at];
        if self.divisor[at + 1] == 0 {
            // The last steps: the distance is a multiple, and no longer than all of them.
            return Some(true);
        }
        // What the shorter steps cannot cover, these have to.
        let fewest = (distance - self.reach[at + 1]).max(0);
        let fewest = (fewest + length - 1) / length;
        for count in (fewest..=most.min(distance / length)).rev() {
            if self.is_sum(at + 1, distance - count * length)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, Layout, MemoryLocation};

    fn view(ptr: usize, dtype: DType, shape: &[i64], strides: &[i64]) -> TensorView {
        let layout = Layout { shape: shape.into(), strides: strides.into() };
        TensorView { ptr, dtype, layout, device: MemoryLocation::Host, readonly: false }
    }

    /// All bytes of an operand.
    fn bytes(view: &TensorView) -> Vec<usize> {
        let size = view.dtype.size();
        let mut starts = vec![view.ptr];
        for (&extent, &stride) in view.layout.shape.iter().zip(&view.layout.strides) {
            let places = |&start: &usize| {
                (0..extent).map(move |at| {
                    start.wrapping_add_signed((at * stride) as isize * size as isize)
                })
            };
            starts = starts.iter().flat_map(places).collect();
        }
        starts.into_iter().flat_map(|start| start..start + size).collect()
    }

    #[test]
    fn columns_and_slices() {
        let matrix = |first: usize, columns: i64, step: i64| {
            view(4096 + 8 * first, DType::Float64, &[100, columns], &[20, step])
        };
        assert_eq!(matrix(0, 10, 1).overlap(&matrix(10, 10, 1)), Overlap::None);
        assert_eq!(matrix(0, 11, 1).overlap(&matrix(10, 10, 1)), Overlap::Some);
        assert_eq!(matrix(0, 10, 2).overlap(&matrix(1, 10, 2)), Overlap::None);
        assert_eq!(matrix(0, 10, 2).overlap(&matrix(1, 7, 3)), Overlap::Some);
        let other = TensorView { device: MemoryLocation::Device(0), ..matrix(0, 10, 1) };
        assert_eq!(matrix(0, 10, 1).overlap(&other), Overlap::None);
    }

    #[test]
    fn random_operands_as_their_bytes_say() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut seen = [0; 2];
        for _ in 0..5000 {
            let mut any = || {
                let dtype = [DType::Int8, DType::Float32, DType::Complex64][random(3) as usize];
                let ndim = 1 + random(3) as usize;
                let shape: Vec<i64> = (0..ndim).map(|_| 1 + random(5) as i64).collect();
                let strides: Vec<i64> = (0..ndim).map(|_| random(40) as i64 - 20).collect();
                view(100_000 + random(600) as usize, dtype, &shape, &strides)
            };
            let (one, other) = (any(), any());
            let of_one = bytes(&one);
            let is_shared = bytes(&other).iter().any(|byte| of_one.contains(byte));
            let expected = if is_shared { Overlap::Some } else { Overlap::None };
            assert_eq!(one.overlap(&other), expected, "{one:?} {other:?}");
            seen[usize::from(is_shared)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
    }

    #[test]
    fn the_search_is_bounded() {
        let mut undecided = 0;
        for try_ in 1..20_i64 {
            // Sums of these strides are far fewer than the bytes among which they lie, but far more
            // than the steps of a search.
            let stride = |at: i64| 8191 + (at * at * 48_611 + at * try_ * 7919) % 500_009;
            let strides: Vec<i64> = (1..=12).map(stride).collect();
            let one = view(1 << 30, DType::Int8, &[3; 12], &strides);
            let middle = (1 << 30) + strides.iter().sum::<i64>() as usize + 1;
            let other = view(middle, DType::Int8, &[1], &[1]);
            undecided += usize::from(one.overlap(&other) == Overlap::Undecided);
        }
        assert!(undecided > 0);
    }
}
