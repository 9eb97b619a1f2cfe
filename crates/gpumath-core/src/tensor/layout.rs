//! Shapes and strides of operands.

use smallvec::SmallVec;

/// Extents, strides or axes. Up to six of them take no heap memory.
pub type Dims = SmallVec<[i64; 6]>;

/// Where the elements of an operand are, relative to element (0, …, 0).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Number of elements along each dimension.
    pub shape: Dims,
    /// Distance between neighbours along each dimension, in elements; it may be negative or zero.
    pub strides: Dims,
}

/// The C-contiguous layout of a shape.
impl<const N: usize> From<[i64; N]> for Layout {
    fn from(shape: [i64; N]) -> Self {
        Self::contiguous(&shape)
    }
}

impl Layout {
    /// Returns the C-contiguous layout of `shape`: gapless, with the last dimension fastest.
    #[must_use]
    pub fn contiguous(shape: &[i64]) -> Self {
        Self::in_order(shape, (0..shape.len()).rev())
    }

    /// Returns the layout of the real and imaginary parts of complex elements in this layout: a
    /// further dimension.
    #[must_use]
    pub fn of_parts(&self) -> Self {
        let mut layout = self.clone();
        layout.strides.iter_mut().for_each(|stride| *stride *= 2);
        layout.shape.push(2);
        layout.strides.push(1);
        layout
    }

    /// Returns the gapless layout of `shape` whose memory order is `order`, slowest dimension
    /// first.
    #[must_use]
    pub fn packed(shape: &[i64], order: &[usize]) -> Self {
        Self::in_order(shape, order.iter().rev().copied())
    }

    /// Like [`Self::packed`], but `order` begins with the fastest dimension.
    fn in_order(shape: &[i64], order: impl Iterator<Item = usize>) -> Self {
        let mut strides = Dims::from_elem(0, shape.len());
        let mut step = 1;
        for axis in order {
            strides[axis] = step;
            // Users of the layout refuse what does not fit into memory.
            step = i64::wrapping_mul(step, shape[axis].max(1));
        }
        Self { shape: shape.into(), strides }
    }

    /// Returns whether the layout is the one that [`Self::contiguous`] returns for its shape.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let expected = step;
            step = i64::wrapping_mul(step, extent.max(1));
            stride == expected
        })
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the dimensions from the slowest in memory to the fastest. Dimensions with equal
    /// distances keep their order.
    #[must_use]
    pub fn memory_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis].abs()));
        order
    }

    /// Returns the lowest and the highest offset of an element from element (0, …, 0), or `(0, -1)`
    /// if there are no elements.
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

    /// Returns where the lowest element begins and where the highest one ends, in bytes from
    /// element (0, …, 0), for elements of so many bytes. `None` if an extent is negative, or if no
    /// address space is large enough.
    #[must_use]
    pub fn byte_range(&self, element_size: usize) -> Option<(isize, isize)> {
        if self.shape.iter().any(|&extent| extent < 0) {
            return None;
        }
        if self.is_empty() {
            return Some((0, 0));
        }
        let size = isize::try_from(element_size).ok()?;
        self.shape.iter().try_fold(size, |all, &extent| all.checked_mul(extent as isize))?;
        let (mut low, mut high) = (0_isize, size);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (extent as isize - 1).checked_mul(stride as isize)?.checked_mul(size)?;
            let end = if reach < 0 { &mut low } else { &mut high };
            *end = end.checked_add(reach)?;
        }
        Some((low, high))
    }

    /// Returns whether no two indices share an element and nothing lies between the elements.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        let (low, high) = self.offsets();
        self.is_injective() && high - low + 1 == self.len()
    }

    /// Returns whether both layouts have every element at the same offset. Strides of dimensions
    /// with one element, and of empty layouts, do not matter.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.shape == other.shape
            && (self.is_empty()
                || (0..self.ndim())
                    .all(|axis| self.shape[axis] == 1 || self.strides[axis] == other.strides[axis]))
    }

    /// Returns whether no two indices share an element. The answer is exact if each step along a
    /// dimension leads past all elements of the faster dimensions; otherwise it is `false`.
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
