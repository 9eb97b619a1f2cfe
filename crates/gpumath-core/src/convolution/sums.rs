//! Convolutions as sums of products, for filters of few elements.

use std::num::NonZeroUsize;

use super::host;
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, Sums};
use crate::tensor::{DType, MemoryLocation, TensorView};

/// Returns whether arrays of a type are convolved.
#[must_use]
pub fn takes(dtype: DType) -> bool {
    use DType::{Complex64, Complex128, Float32, Float64};
    use DType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    matches!(dtype, Float32 | Float64 | Complex64 | Complex128)
        || matches!(dtype, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

/// Checks what [`convolve`] is asked for.
///
/// # Errors
/// [`Error::InvalidValue`] if the arrays are not in one memory, of one type that [`takes`] names,
/// or of fitting shapes, or if the result is in host memory but not in C order.
pub fn check(
    to: &TensorView,
    from: &TensorView,
    filter: &TensorView,
    axes: &[usize],
    starts: &[i64],
) -> Result<()> {
    let shapes = [&to.layout.shape, &from.layout.shape, &filter.layout.shape];
    let ndim = shapes[0].len();
    let fits = takes(to.dtype)
        && [from, filter].iter().all(|view| (view.dtype, view.device) == (to.dtype, to.device))
        && shapes.iter().all(|shape| shape.len() == ndim)
        && starts.len() == ndim
        && !axes.is_empty()
        && (to.device != MemoryLocation::Host || to.layout.is_contiguous())
        && axes.iter().all(|&axis| axis < ndim)
        && (0..ndim).all(|dim| {
            let (wanted, points, taps) = (shapes[0][dim], shapes[1][dim], shapes[2][dim]);
            match axes.iter().filter(|&&axis| axis == dim).count() {
                0 => {
                    let are_alike = points == taps || points == 1 || taps == 1;
                    // One element is for all of the other array, or for none if it is empty.
                    let broadcast = if points == 1 { taps } else { points };
                    starts[dim] == 0 && wanted == broadcast && are_alike
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

/// Convolves `from` and `filter` along `axes`. In device memory there are at most four of them, and
/// the work is enqueued on `stream`, a stream of the arrays' device; in host memory it is done on
/// up to so many threads. Along an axis, `to` has elements of the full convolution from that in
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
    threads: NonZeroUsize,
) -> Result<()> {
    check(to, from, filter, axes, starts)?;
    let Some(device) = to.device.device() else {
        if to.layout.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's guarantees are the same.
        return unsafe { host::convolve([to, from, filter], axes, starts, threads) };
    };
    let layouts = [&to.layout, &from.layout, &filter.layout];
    let sums = Sums::of(to.dtype, layouts, filter.ptr, axes, starts)?;
    if to.layout.is_empty() {
        return Ok(());
    }
    let context = ContextGuard::enter(device)?;
    // SAFETY: the arrays have the types and shapes of the convolution, and the caller guarantees
    // that they are valid and that the result does not overlap the others.
    unsafe { kernels::convolve(&context, to.ptr, from.ptr, &sums, to.dtype, stream) }
}
