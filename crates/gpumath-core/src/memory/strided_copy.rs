//! Copies of strided elements in host memory, which leave the bytes between the elements as they are.

use std::cmp::Reverse;

use crate::tensor::Layout;

/// Copies elements of `size` bytes from one array in host memory to another of the same layout. The addresses are those
/// of the lowest elements.
///
/// # Safety
/// - The elements of both arrays are valid, and those of `destination` can be written.
/// - No element of one array overlaps an element of the other.
pub(crate) unsafe fn copy_elements(
    destination: usize,
    source: usize,
    layout: &Layout,
    size: usize,
) {
    if layout.is_empty() {
        return;
    }
    let mut axes: Vec<(usize, usize)> = layout
        .strides
        .iter()
        .zip(&layout.shape)
        .filter(|&(_, &extent)| extent > 1)
        .map(|(stride, &extent)| (stride.unsigned_abs() as usize * size, extent as usize))
        .collect();
    axes.sort_unstable_by_key(|&(stride, _)| Reverse(stride));
    let mut run = size;
    while let Some(&(stride, extent)) = axes.last()
        && stride == run
    {
        run *= extent;
        axes.pop();
    }
    // SAFETY: each run is made of elements of the layout, for which the caller gives the guarantees.
    unsafe { copy_runs(destination, source, &axes, run) }
}

/// Copies one run of bytes for each index into `axes`, pairs of a stride in bytes and an extent.
///
/// # Safety
/// As for [`copy_elements`], for the runs instead of the elements.
unsafe fn copy_runs(destination: usize, source: usize, axes: &[(usize, usize)], run: usize) {
    let Some((&(stride, extent), inner)) = axes.split_first() else {
        // SAFETY: the caller guarantees that both runs are valid and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(source as *const u8, destination as *mut u8, run) };
        return;
    };
    for index in 0..extent {
        let offset = index * stride;
        // SAFETY: these are some of the runs for which the caller gives the guarantees.
        unsafe { copy_runs(destination + offset, source + offset, inner, run) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of 60 elements are copied.
    fn copied(shape: &[i64], strides: &[i64]) -> Vec<usize> {
        let layout = Layout { shape: shape.into(), strides: strides.into() };
        let source: Vec<u32> = (1..=60).collect();
        let mut destination = [0_u32; 60];
        // SAFETY: the layouts of the tests have no element beyond the sixtieth.
        unsafe {
            copy_elements(destination.as_mut_ptr() as usize, source.as_ptr() as usize, &layout, 4);
        }
        let is_right = |(&new, &old): (&u32, &u32)| new == 0 || new == old;
        assert!(destination.iter().zip(&source).all(is_right));
        (0..60).filter(|&index| destination[index] != 0).collect()
    }

    #[test]
    fn gaps_stay() {
        let all: Vec<usize> = (0..60).collect();
        assert_eq!(copied(&[60], &[1]), all);
        assert_eq!(copied(&[3, 4, 5], &[1, 15, 3]), all);
        assert_eq!(copied(&[60], &[-1]), all);
        assert_eq!(copied(&[4], &[3]), [0, 3, 6, 9]);
        assert_eq!(copied(&[2, 3], &[-10, 1]), [0, 1, 2, 10, 11, 12]);
        assert_eq!(copied(&[2, 1, 2], &[20, 7, 2]), [0, 2, 20, 22]);
        assert_eq!(copied(&[], &[]), [0]);
        assert!(copied(&[3, 0], &[1, 1]).is_empty());
    }
}
