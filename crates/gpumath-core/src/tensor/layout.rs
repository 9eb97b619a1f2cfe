//! Shapes and strides.

use smallvec::SmallVec;

/// Extents, strides or axes; stays off the heap up to six dimensions.
pub type Dims = SmallVec<[i64; 6]>;

/// An N-D layout. Strides count elements, not bytes, and may be negative or zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Extent of each dimension.
    pub shape: Dims,
    /// Distance between neighbours along each dimension, in elements.
    pub strides: Dims,
}

impl Layout {
    /// The C-contiguous layout of `shape`.
    #[must_use]
    pub fn contiguous(shape: &[i64]) -> Self {
        Self::in_order(shape, (0..shape.len()).rev())
    }

    /// The gapless layout of `shape` whose memory order is `order`, slowest dimension first.
    #[must_use]
    pub fn packed(shape: &[i64], order: &[usize]) -> Self {
        Self::in_order(shape, order.iter().rev().copied())
    }

    /// The same, with the fastest dimension first.
    fn in_order(shape: &[i64], order: impl Iterator<Item = usize>) -> Self {
        let mut strides = Dims::from_elem(0, shape.len());
        let mut step = 1;
        for axis in order {
            strides[axis] = step;
            // What does not fit is refused by whoever uses the layout.
            step = i64::wrapping_mul(step, shape[axis].max(1));
        }
        Self { shape: shape.into(), strides }
    }

    /// Whether it is [`Self::contiguous`] for its shape.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let expected = step;
            step = i64::wrapping_mul(step, extent.max(1));
            stride == expected
        })
    }

    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Dimensions from the slowest-varying to the fastest in memory; ties keep their order.
    #[must_use]
    pub fn memory_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis].abs()));
        order
    }

    /// Lowest and highest element offset that the layout touches, relative to index (0, …, 0).
    /// `(0, -1)` when it is empty.
    #[must_use]
    pub fn offsets(&self) -> (i64, i64) {
        if self.is_empty() {
            return (0, -1);
        }
        let (mut low, mut high) = (0, 0);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (extent - 1) * stride;
            low += reach.min(0);
            high += reach.max(0);
        }
        (low, high)
    }

    /// Whether no two indices share an element and there is nothing between the elements.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        let (low, high) = self.offsets();
        self.is_injective() && high - low + 1 == self.len()
    }

    /// Whether both layouts put every element at the same offset: strides of dimensions with one element, and of
    /// empty layouts, do not matter.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.shape == other.shape
            && (self.is_empty()
                || (0..self.ndim())
                    .all(|axis| self.shape[axis] == 1 || self.strides[axis] == other.strides[axis]))
    }

    /// Whether no two indices share an element. Exact for nested layouts; interleaved ones count as overlapping.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        let mut dims: Vec<(i64, i64)> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|&(&extent, _)| extent > 1)
            .map(|(&extent, &stride)| (stride.abs(), extent))
            .collect();
        dims.sort_unstable();
        let mut reach = 0;
        for (stride, extent) in dims {
            if stride <= reach {
                return self.is_empty();
            }
            reach += stride * (extent - 1);
        }
        true
    }
}
