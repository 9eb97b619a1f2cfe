//! Blocks of an operand that stay in a core's cache while several axes are transformed.

use std::num::NonZeroUsize;

use crate::tensor::Layout;

/// Bytes of a block: at most what the second cache of most cores holds beside other data, and at
/// least what is worth the calls.
pub(super) const MOST_BYTES: usize = 1 << 19;
const LEAST_BYTES: usize = 1 << 13;

/// Elements of a cache line, at least. Blocks that lie closer together would share cache lines.
const APART: u64 = 8;

/// The distance at which addresses compete for the same places of a core's second cache, and the
/// number of such places that are left to a tile or block.
const CACHE_PERIOD: usize = 1 << 16;
const CACHE_WAYS: usize = 8;

/// Returns whether so many elements at a distance of so many bytes displace each other in a cache.
pub(super) fn are_crowded(count: usize, distance: usize) -> bool {
    let places = CACHE_PERIOD >> distance.trailing_zeros().min(CACHE_PERIOD.trailing_zeros());
    count > CACHE_WAYS * places
}

/// Returns whether the elements of a block displace each other.
pub(super) fn is_crowded(block: &Layout, element: usize) -> bool {
    let distances = block.strides.iter().map(|stride| stride.unsigned_abs() as usize * element);
    block.shape.iter().zip(distances).any(|(&extent, step)| are_crowded(extent as usize, step))
}

/// Axes that are transformed together.
pub(super) struct AxisGroup {
    pub(super) axes: Vec<usize>,
    /// The dimensions along which the operand is cut into blocks; none if it is one block.
    pub(super) outside: Vec<usize>,
}

/// Puts as many axes into each group as there are good blocks for, in the order of the axes.
pub(super) fn group_axes(
    mut axes: &[usize],
    layouts: [&Layout; 2],
    element: usize,
    threads: NonZeroUsize,
) -> Vec<AxisGroup> {
    let mut groups = Vec::new();
    while !axes.is_empty() {
        let found = (2..=axes.len()).rev().find_map(|count| {
            Some((count, outside_of_blocks(&axes[..count], layouts, element, threads)?))
        });
        // Threads share the lines of one axis alone, without blocks.
        let (count, outside) = found.unwrap_or((1, Vec::new()));
        groups.push(AxisGroup { axes: axes[..count].to_vec(), outside });
        axes = &axes[count..];
    }
    groups
}

/// Returns the dimensions along which an operand is cut into blocks, each of which has whole lines
/// along `axes`; none if the whole operand is one. `None` if there are no blocks of a good size, or
/// too few for the threads.
fn outside_of_blocks(
    axes: &[usize],
    layouts: [&Layout; 2],
    element: usize,
    threads: NonZeroUsize,
) -> Option<Vec<usize>> {
    let [input, output] = layouts;
    let extent = |axis: usize| input.shape[axis].max(output.shape[axis]) as usize;
    let is_apart = |layout: &&Layout, axis: usize| layout.strides[axis].unsigned_abs() >= APART;
    let mut others: Vec<usize> = (0..input.ndim())
        .filter(|axis| !axes.contains(axis) && extent(*axis) > 1)
        .filter(|&axis| layouts.iter().all(|layout| is_apart(layout, axis)))
        .collect();
    others.sort_by_key(|&axis| output.strides[axis].unsigned_abs());
    let mut bytes = (0..input.ndim()).map(extent).fold(element, usize::saturating_mul);
    let (mut count, mut outside) = (1, Vec::new());
    while bytes > MOST_BYTES || count < threads.get() {
        let slowest = others.pop()?;
        bytes /= extent(slowest);
        count *= extent(slowest);
        outside.push(slowest);
    }
    (bytes >= LEAST_BYTES || outside.is_empty()).then_some(outside)
}
