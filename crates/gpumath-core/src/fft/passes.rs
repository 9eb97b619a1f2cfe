//! One call of cuFFT: what a plan of its advanced data layout can transform.
//!
//! A plan transforms up to three axes. In each buffer the strides of these axes have to nest (each
//! a multiple of the next), and the batch is one dimension with one stride. A route (`route.rs`)
//! brings other layouts into such a form.

use super::problem::TransformKind;
use crate::tensor::{BatchDims, Dims, Layout};

/// Axes of a plan at most.
pub(super) const MAX_RANK: usize = 3;

/// What a buffer is to the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferRole {
    /// The operand.
    Input,
    /// The result.
    Output,
    /// A copy of the operand, in the workspace.
    StagedInput,
    /// The result before it is copied to where it belongs, in the workspace.
    StagedOutput,
}

/// One side of a pass, in the terms of cuFFT's [advanced data layout].
///
/// [advanced data layout]: https://docs.nvidia.com/cuda/cufft/#advanced-data-layout
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub(crate) buffer: BufferRole,
    /// Extents of the memory that the transform is embedded in, slowest first (`inembed`,
    /// `onembed`).
    pub embed: Dims,
    /// Elements between neighbours along the fastest axis.
    pub stride: i64,
    /// Elements between transforms of the batch.
    pub distance: i64,
    /// Whether the transforms follow each other without gaps.
    pub(crate) is_packed: bool,
}

/// One plan of cuFFT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Kind of the transform.
    pub kind: TransformKind,
    /// Transform extents, slowest first.
    pub extents: Dims,
    /// Layout of its input.
    pub input: Side,
    /// Layout of its output.
    pub output: Side,
    /// Number of transforms.
    pub batch: i64,
}

impl Pass {
    /// Returns the pass that transforms `axes` between two layouts; `None` if one plan does not
    /// cover that. The last of the axes is the halved one of R2C and C2R, and the fastest; for C2C
    /// the order of the axes does not matter.
    pub(super) fn new(
        kind: TransformKind,
        axes: &[usize],
        (from, input): (BufferRole, &Layout),
        (to, output): (BufferRole, &Layout),
    ) -> Option<Self> {
        let mut axes = axes.to_vec();
        let sorted = if kind == TransformKind::C2C { axes.len() } else { axes.len() - 1 };
        axes[..sorted].sort_by_key(|&axis| std::cmp::Reverse(input.strides[axis].abs()));
        let nest = |layout: &Layout| {
            let is_positive = |&axis: &usize| layout.shape[axis] == 1 || layout.strides[axis] > 0;
            axes.iter().all(is_positive)
                && axes.windows(2).all(|pair| {
                    let (step, stride) = (layout.strides[pair[0]], unit_stride(layout, pair[1]));
                    step % stride == 0 && step / stride >= layout.shape[pair[1]]
                })
        };
        let batch = BatchDims::outside(&axes, [input, output]);
        let (batch, steps) = match batch[..] {
            [] => (1, [0, 0]),
            [dim] if dim.strides.iter().all(|&step| step > 0) => (dim.extent, dim.strides),
            _ => return None,
        };
        let fastest = axes[axes.len() - 1];
        let writes_beside = kind == TransformKind::C2R && {
            let row = if axes.len() > 1 { output.strides[axes[axes.len() - 2]] } else { steps[1] };
            (axes.len() > 1 || batch > 1) && is_padded(output, fastest, row)
        };
        if axes.len() > MAX_RANK || !nest(input) || !nest(output) || writes_beside {
            return None;
        }
        let real = if kind == TransformKind::C2R { output } else { input };
        Some(Self {
            kind,
            extents: axes.iter().map(|&axis| real.shape[axis]).collect(),
            input: Side::new(from, input, &axes, steps[0]),
            output: Side::new(to, output, &axes, steps[1]),
            batch,
        })
    }
}

impl Side {
    /// `step` is the distance of the batch; 0 without one.
    fn new(buffer: BufferRole, layout: &Layout, axes: &[usize], step: i64) -> Self {
        let shape: Dims = axes.iter().map(|&axis| layout.shape[axis]).collect();
        let mut embed = shape.clone();
        for position in 1..axes.len() {
            embed[position] =
                layout.strides[axes[position - 1]] / unit_stride(layout, axes[position]);
        }
        let stride = unit_stride(layout, axes[axes.len() - 1]);
        let size = embed.iter().product::<i64>();
        let is_packed = stride == 1 && embed == shape && (step == 0 || step == size);
        // Without a batch the distance does not matter, but cuFFT refuses 0.
        let distance = if step == 0 { size * stride } else { step };
        Self { buffer, embed, stride, distance, is_packed }
    }
}

/// Returns the stride along an axis. For an axis of one element any stride will do, and 1 nests
/// with all others.
fn unit_stride(layout: &Layout, axis: usize) -> i64 {
    if layout.shape[axis] == 1 { 1 } else { layout.strides[axis] }
}

/// Returns whether rows of a real output along an axis, `pitch` apart, are as far apart as for a
/// transform in place, where each row has room for its complex numbers. cuFFT then writes to all of
/// that room (seen with 12.0, up to 32 points), which may belong to others.
fn is_padded(output: &Layout, fastest: usize, pitch: i64) -> bool {
    let (points, stride) = (output.shape[fastest], output.strides[fastest]);
    points > 1 && pitch == 2 * (points / 2 + 1) * stride
}
