//! The argument of the kernels of `cosine_short.cu`, and their launch.

use std::ffi::CStr;

use super::{BLOCK, MAX_RANK, filled, launch};
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::tensor::{BatchDim, BatchDims, Dims, Layout};

/// The kernels of `cosine_short.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/cosine_short.ptx"), "\0");

/// Points of the longest line.
pub(crate) const MOST_POINTS: usize = 16;

/// Lines that are multiplied by a matrix of elements `T`: the argument of the kernels.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct ShortLines<T> {
    lines: u64,
    rank: i64,
    points: i64,
    from_stride: i64,
    to_stride: i64,
    from_is_packed: i64,
    to_is_packed: i64,
    extents: [i64; MAX_RANK],
    from: [i64; MAX_RANK],
    to: [i64; MAX_RANK],
    matrix: [[T; MOST_POINTS]; MOST_POINTS],
}

impl<T> ShortLines<T> {
    /// Describes that the lines along an axis of arrays of equal shapes, of at most
    /// [`MOST_POINTS`], are multiplied by a matrix. It has the factors of each element of a line in
    /// all elements of the result, and zeros beyond them.
    pub(crate) fn of(
        to: &Layout,
        from: &Layout,
        axis: usize,
        matrix: [[T; MOST_POINTS]; MOST_POINTS],
    ) -> Result<Self> {
        let dims = BatchDims::outside(&[axis], [from, to]);
        let points = to.shape[axis];
        let is_packed = |side: usize, stride: i64| {
            let mut next = points;
            (stride == 1 || points == 1)
                && dims.iter().rev().all(|dim| {
                    let follows = dim.strides[side] == next;
                    next = next.saturating_mul(dim.extent);
                    follows
                })
        };
        let of =
            |number: fn(&BatchDim<2>) -> i64| filled(&dims.iter().map(number).collect::<Dims>());
        Ok(Self {
            lines: dims.count() as u64,
            rank: dims.len() as i64,
            points,
            from_stride: from.strides[axis],
            to_stride: to.strides[axis],
            from_is_packed: i64::from(is_packed(0, from.strides[axis])),
            to_is_packed: i64::from(is_packed(1, to.strides[axis])),
            extents: of(|dim| dim.extent)?,
            from: of(|dim| dim.strides[0])?,
            to: of(|dim| dim.strides[1])?,
            matrix,
        })
    }
}

/// Enqueues cosine or sine transforms of short lines on `stream`, in the context of the stream's
/// device. The work can be captured into a graph. `T` is `f64` if `is_double`, else `f32`.
///
/// # Safety
/// As for [`super::copy`], with the layouts of `call` and elements of `T`.
pub(crate) unsafe fn transform_short_lines<T>(
    context: &ContextGuard,
    to: usize,
    from: usize,
    call: &ShortLines<T>,
    is_double: bool,
    stream: StreamRef,
) -> Result<()> {
    let name: &'static CStr = match (is_double, call.points) {
        (false, ..=4) => c"cosine_short_float32_4",
        (false, ..=8) => c"cosine_short_float32_8",
        (false, _) => c"cosine_short_float32_16",
        (true, ..=4) => c"cosine_short_float64_4",
        (true, ..=8) => c"cosine_short_float64_8",
        (true, _) => c"cosine_short_float64_16",
    };
    let parameters =
        [&raw const to as usize, &raw const from as usize, std::ptr::from_ref(call) as usize];
    let blocks = call.lines.div_ceil(u64::from(BLOCK));
    // SAFETY: the kernel takes two addresses and the argument for its type; the caller guarantees
    // that they fit the memory.
    unsafe { launch(context, (PTX, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        for most in [4, 8, 16] {
            let single =
                format!("cosine_short_float32_{most}_param_2[{}]", size_of::<ShortLines<f32>>());
            assert!(PTX.contains(&single), "{single}");
            let double =
                format!("cosine_short_float64_{most}_param_2[{}]", size_of::<ShortLines<f64>>());
            assert!(PTX.contains(&double), "{double}");
        }
    }

    #[test]
    fn packed_lines_follow_each_other() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: shape.into(),
            strides: strides.into(),
        };
        let packed = |shape: &[i64], strides: &[i64], axis: usize| {
            let to = Layout::contiguous(shape);
            let call = ShortLines::of(&to, &layout(shape, strides), axis, [[0.0_f32; 16]; 16]);
            let call = call.unwrap();
            [call.from_is_packed, call.to_is_packed]
        };
        assert_eq!(packed(&[5, 4, 8], &[32, 8, 1], 2), [1, 1]);
        assert_eq!(packed(&[5, 4, 8], &[64, 16, 2], 2), [0, 1]);
        assert_eq!(packed(&[5, 4, 8], &[8, 40, 1], 2), [0, 1]);
        assert_eq!(packed(&[5, 4, 8], &[32, 8, 1], 1), [0, 0]);
        assert_eq!(packed(&[8], &[1], 0), [1, 1]);
        assert_eq!(packed(&[8], &[-1], 0), [0, 1]);
    }
}
