//! The dimensions across the lines of a transform.

use smallvec::SmallVec;

use crate::tensor::Layout;

/// One dimension with its distance in elements on both sides of a transform.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub(super) extent: usize,
    pub(super) from: isize,
    pub(super) to: isize,
}

/// Several of them, the slowest first.
pub(super) type Loops = SmallVec<[Loop; 6]>;

impl Loop {
    /// Dimension `dim` of the two layouts.
    pub(super) fn of(dim: usize, from: &Layout, to: &Layout) -> Self {
        Self {
            extent: from.shape[dim] as usize,
            from: from.strides[dim] as isize,
            to: to.strides[dim] as isize,
        }
    }
}

/// The loops over all dimensions but `axes`, in memory order of `to`; dimensions that continue each
/// other are one.
pub(super) fn across(axes: &[usize], from: &Layout, to: &Layout) -> Loops {
    let mut loops: Loops = (0..from.ndim())
        .filter(|dim| !axes.contains(dim) && from.shape[*dim] != 1)
        .map(|dim| Loop::of(dim, from, to))
        .collect();
    loops.sort_by_key(|dim| std::cmp::Reverse((dim.to.unsigned_abs(), dim.from.unsigned_abs())));
    let mut merged = Loops::new();
    for dim in loops {
        let extent = dim.extent as isize;
        match merged.last_mut() {
            Some(last)
                if last.from == dim.from.wrapping_mul(extent)
                    && last.to == dim.to.wrapping_mul(extent) =>
            {
                *last = Loop { extent: last.extent * dim.extent, ..dim };
            }
            _ => merged.push(dim),
        }
    }
    merged
}

/// How many times the innermost body of `loops` runs.
pub(super) fn count(loops: &[Loop]) -> usize {
    loops.iter().map(|dim| dim.extent).product()
}

/// The offsets on both sides of the run with this number.
pub(super) fn offsets(loops: &[Loop], number: usize) -> (isize, isize) {
    let (mut rest, mut from, mut to) = (number, 0, 0);
    for dim in loops.iter().rev() {
        let index = (rest % dim.extent) as isize;
        rest /= dim.extent;
        from += index * dim.from;
        to += index * dim.to;
    }
    (from, to)
}
