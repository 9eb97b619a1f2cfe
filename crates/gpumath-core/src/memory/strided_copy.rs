//! Copies of strided elements in host memory, which leave the bytes between the elements as they
//! are.

use crate::tensor::{BatchDim, BatchDims, Layout};

/// Copies elements of `size` bytes from one array in host memory to another of the same layout. The
/// addresses are those of the lowest elements.
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
    let dims = BatchDims::merged(
        layout
            .shape
            .iter()
            .zip(&layout.strides)
            .map(|(&extent, stride)| BatchDim { extent, strides: [stride.abs()] }),
    );
    let (dims, run) = match dims.split_last() {
        Some((fastest, outer)) if fastest.strides == [1] => (outer, size * fastest.extent as usize),
        _ => (&dims[..], size),
    };
    // SAFETY: each run is made of elements of the layout, for which the caller gives the
    // guarantees.
    unsafe { copy_runs(destination, source, dims, size, run) }
}

/// Copies runs of `run` bytes: one for each index into `dims`, whose strides are positive and count
/// elements of `size` bytes.
///
/// # Safety
/// As for [`copy_elements`].
unsafe fn copy_runs(
    destination: usize,
    source: usize,
    dims: &[BatchDim<1>],
    size: usize,
    run: usize,
) {
    let Some((dim, inner)) = dims.split_first() else {
        // SAFETY: the caller guarantees that both runs are valid and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(source as *const u8, destination as *mut u8, run) };
        return;
    };
    let step = dim.strides[0] as usize * size;
    for index in 0..dim.extent as usize {
        let offset = index * step;
        // SAFETY: these are some of the runs for which the caller gives the guarantees.
        unsafe { copy_runs(destination + offset, source + offset, inner, size, run) }
    }
}

/// Copies elements between two arrays, along dimensions whose strides in both are given.
///
/// # Safety
/// The elements are readable in the first and writable in the second, and do not overlap.
pub(crate) unsafe fn copy_between<E: Copy>(from: *const E, to: *mut E, dims: &[BatchDim<2>]) {
    // SAFETY: these are some of the elements for which the caller gives the guarantees.
    unsafe {
        match dims.split_first() {
            None => *to = *from,
            Some((dim, [])) if dim.strides == [1, 1] => {
                to.copy_from_nonoverlapping(from, dim.extent as usize);
            }
            Some((dim, inner)) => {
                for index in 0..dim.extent {
                    let [source, target] = dim.strides.map(|stride| (index * stride) as isize);
                    copy_between(from.offset(source), to.offset(target), inner);
                }
            }
        }
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
