//! Convolutions as sums of products, for filters of few elements.

use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, ConvolutionCall};
use crate::tensor::{DType, TensorView};

/// Returns whether arrays of a type are convolved.
#[must_use]
pub fn takes(dtype: DType) -> bool {
    matches!(dtype, DType::Float32 | DType::Float64 | DType::Complex64 | DType::Complex128)
}

/// Checks what [`convolve`] is asked for.
///
/// # Errors
/// [`Error::InvalidValue`] if the arrays are not in memory of one device, of one type that
/// [`takes`] names, or of fitting shapes.
pub fn check(
    to: &TensorView,
    from: &TensorView,
    filter: &TensorView,
    axes: &[usize],
    starts: &[i64],
) -> Result<()> {
    if to.device.device().is_none() {
        return Err(Error::InvalidValue(format!(
            "sums of products are computed in device memory, but the operand is {}; convolve it \
             by transforms, or copy it to a GPU",
            from.describe()
        )));
    }
    let shapes = [&to.layout.shape, &from.layout.shape, &filter.layout.shape];
    let ndim = shapes[0].len();
    let fits = takes(to.dtype)
        && [from, filter].iter().all(|view| (view.dtype, view.device) == (to.dtype, to.device))
        && shapes.iter().all(|shape| shape.len() == ndim)
        && starts.len() == ndim
        && axes.iter().all(|&axis| axis < ndim)
        && (0..ndim).all(|dim| {
            let (wanted, points, taps) = (shapes[0][dim], shapes[1][dim], shapes[2][dim]);
            match axes.iter().filter(|&&axis| axis == dim).count() {
                0 => {
                    let are_alike = points == taps || points == 1 || taps == 1;
                    starts[dim] == 0 && wanted == points.max(taps) && are_alike
                }
                1 => {
                    let full = points.saturating_add(taps) - 1;
                    points > 0 && taps > 0 && starts[dim] >= 0 && starts[dim] <= full - wanted
                }
                _ => false,
            }
        });
    if !fits {
        return Err(Error::InvalidValue(format!(
            "the convolution of {} with {} along the axes {axes:?}, from {starts:?} on, does not \
             have the result {}",
            from.describe(),
            filter.describe(),
            to.describe()
        )));
    }
    Ok(())
}

/// Enqueues a convolution of `from` and `filter` along up to four `axes`, on `stream`, a stream of
/// the arrays' device. Along an axis, `to` has elements of the full convolution from that in
/// `starts` on. Along the other dimensions the arrays are multiplied, and those of one element are
/// broadcast; `starts` is 0 there.
///
/// # Errors
/// As [`check`].
///
/// # Safety
/// - The arrays are valid until the work is done, and nothing else uses `to` until then.
/// - The elements of `to` are distinct, and it does not overlap the others.
pub unsafe fn convolve(
    to: &TensorView,
    from: &TensorView,
    filter: &TensorView,
    axes: &[usize],
    starts: &[i64],
    stream: StreamRef,
) -> Result<()> {
    check(to, from, filter, axes, starts)?;
    let (call, along) =
        ConvolutionCall::of(&to.layout, &from.layout, &filter.layout, filter.ptr, axes, starts)?;
    let Some(device) = to.device.device().filter(|_| !to.layout.is_empty()) else {
        return Ok(());
    };
    let context = ContextGuard::enter(device)?;
    // SAFETY: the arrays have the types and shapes of the convolution, and the caller guarantees
    // that they are valid and that the result does not overlap the others.
    unsafe { kernels::convolve(&context, to.ptr, from.ptr, &call, (to.dtype, along), stream) }
}
