//! Joins the pieces of which a convolution was computed (overlap-save).

use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, TiledCopy};
use crate::tensor::TensorView;

/// Copies of more elements have a kernel of their own, without a second copy beside.
const MOST_IN_PAIRS: i64 = 1 << 17;

/// Fills `to` along `axis` with pieces that follow each other. `pieces` has the dimensions of `to`,
/// but counts pieces along `axis`, and has the elements of each along a last dimension more, of
/// which the first `skipped` are left out. Of the last piece not all elements may be needed.
///
/// The work is enqueued on `stream`, a stream of the arrays' device.
///
/// # Errors
/// [`Error::InvalidValue`] if the arrays are not in memory of the stream's device, of one type and
/// of shapes that fit, or `to` cannot be written.
///
/// # Safety
/// - The arrays are valid until the work is done, and nothing else uses `to` until then.
/// - The elements of `to` are distinct, and the arrays do not overlap.
pub unsafe fn join_pieces(
    to: &TensorView,
    pieces: &TensorView,
    axis: usize,
    skipped: i64,
    stream: StreamRef,
) -> Result<()> {
    let (shape, given) = (&to.layout.shape, &pieces.layout.shape);
    let step = given.last().map_or(0, |&length| length.saturating_sub(skipped));
    let fits = (pieces.dtype, pieces.device) == (to.dtype, to.device)
        && given.len() == shape.len() + 1
        && to.layout.is_injective()
        && !to.readonly
        && axis < shape.len()
        && skipped >= 0
        && step > 0
        && (0..shape.len()).all(|dim| dim == axis || shape[dim] == given[dim])
        && shape[axis] <= given[axis].saturating_mul(step);
    if !fits || to.device.device() != Some(stream.device()) {
        return Err(Error::InvalidValue(format!(
            "the pieces of {} without their first {skipped} elements do not fill {} along the axis \
             {axis}, writable memory of device {}",
            pieces.describe(),
            to.describe(),
            stream.device()
        )));
    }
    if to.layout.is_empty() {
        return Ok(());
    }
    // The target in steps: complete ones, and the start of one.
    let steps = |first: i64, count: i64, points: i64| {
        let (mut part, mut source) = (to.clone(), pieces.clone());
        part.remove_first(axis, first * step);
        let stride = part.layout.strides[axis];
        part.layout.shape[axis] = count;
        part.layout.strides[axis] = step * stride;
        part.layout.shape.push(points);
        part.layout.strides.push(stride);
        source.remove_first(axis, first);
        source.remove_first(to.layout.ndim(), skipped);
        let copy = TiledCopy::of(&part.layout, &source.layout, to.dtype.size());
        copy.map(|copy| (part.ptr, source.ptr, copy))
    };
    let complete = shape[axis] / step;
    let parts = [steps(0, complete, step)?, steps(complete, 1, shape[axis] % step)?];
    let copies = [0, 1].map(|part| (parts[part].0, parts[part].1, &parts[part].2));
    let context = ContextGuard::enter(stream.device())?;
    // SAFETY: the parts are of the arrays, whose elements the caller guarantees to be valid.
    unsafe {
        if to.layout.len() < MOST_IN_PAIRS {
            return kernels::copy_all(&context, &copies, stream);
        }
        kernels::copy_all(&context, &copies[..1], stream)?;
        kernels::copy_all(&context, &copies[1..], stream)
    }
}
