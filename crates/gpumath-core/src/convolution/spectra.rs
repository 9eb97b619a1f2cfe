//! Multiplies the spectra of a convolution.

use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, Spectra};
use crate::tensor::{DType, Layout, Overlap, TensorView};

/// Sets `to` to the products of the elements of two spectra and `factor`. Along dimensions where a
/// spectrum has one element, that is broadcast.
///
/// The work is enqueued on `stream`, a stream of the arrays' device.
///
/// # Errors
/// [`Error::InvalidValue`] if the arrays are not complex numbers in memory of the stream's device,
/// of one type and of shapes that fit, or if `to` cannot be written, or overlaps a spectrum and is
/// not `left`.
///
/// # Safety
/// The arrays are valid until the work is done, and nothing else uses `to` until then.
pub unsafe fn multiply_spectra(
    to: &TensorView,
    left: &TensorView,
    right: &TensorView,
    factor: f64,
    stream: StreamRef,
) -> Result<()> {
    let is_like = |view: &TensorView| {
        (view.dtype, view.device, view.layout.ndim()) == (to.dtype, to.device, to.layout.ndim())
            && (view.layout.shape.iter().zip(&to.layout.shape))
                .all(|(&given, &wanted)| given == wanted || given == 1)
    };
    let is_apart = |view: &TensorView| to.overlap(view) == Overlap::None;
    let is_left = (to.ptr, &to.layout) == (left.ptr, &left.layout);
    let fits = matches!(to.dtype, DType::Complex64 | DType::Complex128)
        && to.device.device() == Some(stream.device())
        && to.layout.is_injective()
        && !to.readonly
        && [left, right].into_iter().all(is_like)
        && (is_left || is_apart(left))
        && is_apart(right);
    if !fits {
        return Err(Error::InvalidValue(format!(
            "the spectra of {} and {} cannot be multiplied into {}, in memory of device {}: the \
             arrays need one complex type, and the result is writable, and the left one or apart \
             from both",
            left.describe(),
            right.describe(),
            to.describe(),
            stream.device()
        )));
    }
    let broadcast = |view: &TensorView| {
        let mut layout = Layout { shape: to.layout.shape.clone(), ..view.layout.clone() };
        for (stride, &given) in layout.strides.iter_mut().zip(&view.layout.shape) {
            *stride *= i64::from(given > 1);
        }
        layout
    };
    let spectra = Spectra::of(&broadcast(left), &broadcast(right), &to.layout)?;
    let context = ContextGuard::enter(stream.device())?;
    let addresses = [left.ptr, right.ptr, to.ptr];
    // SAFETY: the arrays have the layouts of `spectra`; the caller guarantees that they are valid.
    unsafe { kernels::multiply_spectra(&context, addresses, to.dtype, &spectra, factor, stream) }
}
