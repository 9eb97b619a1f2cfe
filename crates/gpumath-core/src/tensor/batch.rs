//! Batch dimensions: the dimensions of several operands that an operation repeats over, in as few
//! dimensions as describe them.
//!
//! A transform along one axis repeats over all other axes, a matrix product over all but the two of
//! the matrices, and a copy or a scaling over all. The operands share the extents, but each has its
//! own strides. Two neighbouring dimensions are merged into one where a step of the outer one is as
//! long as all steps of the inner one together, in every operand.

use std::ops::Deref;

use smallvec::SmallVec;

use super::Layout;

/// One dimension of `N` operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchDim<const N: usize> {
    /// Number of entries.
    pub(crate) extent: i64,
    /// Distance between neighbouring entries in each operand, in elements; 0 where the operand has
    /// one entry for all.
    pub(crate) strides: [i64; N],
}

/// The batch dimensions of `N` operands, the slowest first, none of them with a single entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchDims<const N: usize>(SmallVec<[BatchDim<N>; 6]>);

impl<const N: usize> BatchDims<N> {
    /// Returns the dimensions of `layouts` that are not in `axes`, merged. The layouts have the
    /// same extents outside of `axes`.
    pub(crate) fn outside(axes: &[usize], layouts: [&Layout; N]) -> Self {
        const { assert!(N > 0, "there is an operand") };
        let shape = &layouts[0].shape;
        Self::merged((0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| BatchDim {
            extent: shape[axis],
            strides: layouts.map(|layout| layout.strides[axis]),
        }))
    }

    /// Sorts dimensions by the memory order of the last operand, which is the one that is written,
    /// then by that of the operand before it, and so on; and merges neighbours.
    pub(crate) fn merged(dims: impl IntoIterator<Item = BatchDim<N>>) -> Self {
        let mut dims: SmallVec<[BatchDim<N>; 6]> =
            dims.into_iter().filter(|dim| dim.extent != 1).collect();
        dims.sort_by(|a, b| distances(b).cmp(distances(a)));
        let mut merged = Self::default();
        for dim in dims {
            match merged.0.last_mut() {
                Some(outer) if continues(outer, &dim) => {
                    *outer = BatchDim { extent: outer.extent * dim.extent, ..dim };
                }
                _ => merged.0.push(dim),
            }
        }
        merged
    }

    /// Returns the number of batch entries: 1 without dimensions.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|dim| dim.extent as usize).product()
    }

    /// Returns where a batch entry starts in each operand, in elements from the first entry.
    /// Entries are numbered below [`Self::count`], along the fastest dimension first.
    pub(crate) fn offsets(&self, entry: usize) -> [i64; N] {
        let (mut rest, mut offsets) = (entry, [0; N]);
        for (at, dim) in self.0.iter().enumerate().rev() {
            let mut index = rest;
            if at > 0 {
                let extent = dim.extent as usize;
                (rest, index) = (rest / extent, rest % extent);
            }
            for (offset, stride) in offsets.iter_mut().zip(dim.strides) {
                *offset += index as i64 * stride;
            }
        }
        offsets
    }

    /// Returns the fastest dimension, if there is a dimension.
    pub(crate) fn fastest(&self) -> Option<BatchDim<N>> {
        self.0.last().copied()
    }

    /// Removes and returns the fastest dimension. Without dimensions, returns one of a single entry
    /// with strides of 1.
    pub(crate) fn pop_fastest(&mut self) -> BatchDim<N> {
        self.0.pop().unwrap_or(BatchDim { extent: 1, strides: [1; N] })
    }

    /// Like [`Self::pop_fastest`], by the memory order of one operand.
    pub(crate) fn pop_fastest_of(&mut self, operand: usize) -> BatchDim<N> {
        // An entry for all is not a step in memory.
        let step = |dim: &BatchDim<N>| dim.strides[operand].unsigned_abs().wrapping_sub(1);
        match (0..self.0.len()).rev().min_by_key(|&at| step(&self.0[at])) {
            Some(fastest) => self.0.remove(fastest),
            None => self.pop_fastest(),
        }
    }

    /// Removes and returns the dimension with the most entries, if there is a dimension.
    pub(crate) fn remove_longest(&mut self) -> Option<BatchDim<N>> {
        let longest = (0..self.0.len()).max_by_key(|&at| self.0[at].extent)?;
        Some(self.0.remove(longest))
    }
}

impl<const N: usize> Deref for BatchDims<N> {
    type Target = [BatchDim<N>];

    fn deref(&self) -> &[BatchDim<N>] {
        &self.0
    }
}

/// The distances between neighbours, whatever their direction, the last operand's first.
fn distances<const N: usize>(dim: &BatchDim<N>) -> impl Iterator<Item = u64> {
    dim.strides.iter().rev().map(|stride| stride.unsigned_abs())
}

/// Whether the entries of `inner` fill a step of `outer` in every operand.
fn continues<const N: usize>(outer: &BatchDim<N>, inner: &BatchDim<N>) -> bool {
    let fills = |(&step, &stride): (&i64, &i64)| stride.checked_mul(inner.extent) == Some(step);
    outer.strides.iter().zip(&inner.strides).all(fills)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[i64], strides: &[i64]) -> Layout {
        Layout { shape: shape.into(), strides: strides.into() }
    }

    fn dims<const N: usize>(axes: &[usize], layouts: [&Layout; N]) -> Vec<(i64, [i64; N])> {
        BatchDims::outside(axes, layouts).iter().map(|dim| (dim.extent, dim.strides)).collect()
    }

    #[test]
    fn the_fastest_dimension_differs_between_operands() {
        let [from, to] = [layout(&[2, 3, 4], &[12, 4, 1]), layout(&[2, 3, 4], &[1, 2, 6])];
        let dims = BatchDims::outside(&[1], [&from, &to]);
        assert_eq!(dims.clone().pop_fastest_of(0), BatchDim { extent: 4, strides: [1, 6] });
        assert_eq!(dims.clone().pop_fastest_of(1), dims.clone().pop_fastest());
        let one = layout(&[4, 3], &[0, 1]);
        let mut dims = BatchDims::outside(&[], [&one]);
        assert_eq!(dims.pop_fastest_of(0), BatchDim { extent: 3, strides: [1] });
        assert_eq!((dims.count(), BatchDims::<1>::default().pop_fastest_of(0).extent), (4, 1));
    }

    #[test]
    fn what_follows_each_other_is_one_dimension() {
        let of = |shape: &[i64], strides: &[i64]| dims(&[], [&layout(shape, strides)]);
        assert_eq!(of(&[4, 1, 6], &[6, 9, 1]), [(24, [1])]);
        assert_eq!(of(&[6, 4], &[1, 8]), [(4, [8]), (6, [1])]);
        assert_eq!(of(&[3, 4, 5], &[1, 3, 12]), [(60, [1])]);
        assert_eq!(of(&[3, 4], &[-4, -1]), [(12, [-1])]);
        assert_eq!(of(&[3, 4], &[4, -1]), [(3, [4]), (4, [-1])]);
        assert_eq!(of(&[3, 4], &[0, 0]), [(12, [0])]);
        assert_eq!(of(&[1, 1], &[5, 7]), []);
        assert_eq!(of(&[2, 3], &[i64::MAX, i64::MAX / 2]).len(), 2);
    }

    #[test]
    fn all_operands_have_to_agree() {
        let (dense, gaps) = (layout(&[4, 6], &[6, 1]), layout(&[4, 6], &[8, 1]));
        assert_eq!(dims(&[], [&dense, &dense]), [(24, [1, 1])]);
        assert_eq!(dims(&[], [&dense, &gaps]), [(4, [6, 8]), (6, [1, 1])]);
        let turned = layout(&[4, 6], &[1, 4]);
        assert_eq!(
            dims(&[], [&dense, &turned]),
            [(6, [1, 4]), (4, [6, 1])],
            "the last one's order"
        );
    }

    #[test]
    fn a_batch_of_matrix_products() {
        // (5, 7, m, k) times (7, k, n), where the second operand is the same for all of the five.
        let a = layout(&[5, 7, 2, 3], &[42, 6, 3, 1]);
        let b = layout(&[5, 7, 3, 4], &[0, 12, 4, 1]);
        let c = layout(&[5, 7, 2, 4], &[56, 8, 4, 1]);
        let batch = BatchDims::outside(&[2, 3], [&a, &b, &c]);
        assert_eq!(
            batch[..],
            [
                BatchDim { extent: 5, strides: [42, 0, 56] },
                BatchDim { extent: 7, strides: [6, 12, 8] },
            ]
        );
        assert_eq!(batch.count(), 35);
        assert_eq!(batch.offsets(0), [0, 0, 0]);
        assert_eq!(batch.offsets(16), [2 * 42 + 2 * 6, 2 * 12, 2 * 56 + 2 * 8]);
        // One matrix for all entries leaves a single dimension.
        let same = layout(&[5, 7, 3, 4], &[0, 0, 4, 1]);
        assert_eq!(dims(&[2, 3], [&a, &same, &c]), [(35, [6, 0, 8])]);
    }

    #[test]
    fn entries_are_those_of_the_layouts() {
        let from = layout(&[3, 1, 2, 4], &[-8, 5, 0, 30]);
        let to = layout(&[3, 9, 2, 4], &[1, 1000, 100, 3]);
        let batch = BatchDims::outside(&[1], [&from, &to]);
        let mut found: Vec<_> = (0..batch.count()).map(|entry| batch.offsets(entry)).collect();
        let mut expected = Vec::new();
        for i in 0..3 {
            for j in 0..2 {
                expected.extend((0..4).map(|k| [-8 * i + 30 * k, i + 100 * j + 3 * k]));
            }
        }
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn dimensions_are_taken_out() {
        let mut batch = BatchDims::outside(&[], [&layout(&[3, 5, 2], &[100, 10, 1])]);
        assert_eq!(batch.remove_longest(), Some(BatchDim { extent: 5, strides: [10] }));
        assert_eq!(batch.pop_fastest(), BatchDim { extent: 2, strides: [1] });
        assert_eq!(batch.pop_fastest(), BatchDim { extent: 3, strides: [100] });
        assert_eq!((batch.count(), batch.offsets(0)), (1, [0]));
        assert_eq!(batch.pop_fastest(), BatchDim { extent: 1, strides: [1] });
        assert_eq!(batch.remove_longest(), None);
    }
}
