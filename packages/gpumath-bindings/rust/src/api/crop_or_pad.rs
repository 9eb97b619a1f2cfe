//! The function `resized`, which crops and pads.

use gpumath_core::device::StreamRef;
use gpumath_core::memory::crop_or_pad;
use gpumath_core::tensor::{Dims, Layout, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::api::operation::{UserStream, WorkStreams};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::integers::Integers;
use crate::interop::{self, deferred_release};

/// Copy an operand to a new array of another shape, cropped or padded with zeros.
///
/// Each dimension is cropped if the new extent is shorter, and padded if it is longer: at its end,
/// unless `starts` says otherwise.
///
/// Parameters
/// ----------
/// operand : array
///     Any operand of `TensorView`.
/// shape : sequence of int
///     Extent of each dimension of the result.
/// starts : sequence of int, optional
///     For each dimension, the index of the operand's element that becomes the first of the result:
///     0 by default. If it is negative, so many zeros come before the operand.
/// order : {'K', 'C'}, default: 'K'
///     Memory order of the result: the operand's, or with the last dimension the fastest.
/// stream : int or stream object, optional
///     CUDA stream to enqueue the work on, after the work on the current stream of the operand's
///     library. By default that current stream, or the default stream if the library has none.
///
/// Returns
/// -------
/// array
///     Of the operand's library, element type and device, without gaps.
///
/// Raises
/// ------
/// ValueError
///     There are not as many extents or starts as dimensions, an extent is negative, or there is no
///     such order.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.resized(np.array([[1, 2, 3], [4, 5, 6]]), (3, 2))
/// array([[1, 2],
///        [4, 5],
///        [0, 0]])
/// >>> core.resized(np.array([1, 2, 3]), (4,), starts=(-2,))
/// array([0, 0, 1, 2])
#[pyfunction]
#[pyo3(
    signature = (operand, shape, *, starts=None, order="K", stream=None),
    text_signature = "(operand, shape, *, starts=None, order='K', stream=None)"
)]
pub(crate) fn resized<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    shape: Integers<i64>,
    starts: Option<Integers<i64>>,
    order: &str,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = Dims::from_vec(shape.0);
    let given = stream.map(UserStream::of).transpose()?;
    // A library without a current stream works on the default stream, whose handle is 0.
    let handle = given.as_ref().map_or(0, |stream| stream.handle);
    let (mut source, library) =
        interop::view_without_gradient("the operand", operand, Some(handle))?;
    if shape.len() != source.layout.ndim() || shape.iter().any(|&extent| extent < 0) {
        return Err(PyValueError::new_err(format!(
            "the shape {:?} was asked for, but the operand has {} dimensions; give as many \
             extents, none of them negative",
            shape.as_slice(),
            source.layout.ndim()
        )));
    }
    let starts = starts.map_or_else(Vec::new, |starts| starts.0);
    if !starts.is_empty() && starts.len() != shape.len() {
        return Err(PyValueError::new_err(format!(
            "starts is {starts:?}, but the operand has {} dimensions; give one for each",
            shape.len()
        )));
    }
    let layout = match order {
        "K" => Layout::packed(&shape, &source.layout.memory_order()),
        "C" => Layout::contiguous(&shape),
        _ => {
            return Err(PyValueError::new_err(format!("order is {order:?}; give \"K\" or \"C\"")));
        }
    };
    let target = TensorView { layout, readonly: false, ..source.view.clone() };
    if target.layout.byte_range(target.dtype.size()).is_none() {
        return Err(PyValueError::new_err(format!(
            "an array of shape {:?} and {} elements is larger than the address space; ask for less",
            target.layout.shape.as_slice(),
            target.dtype
        )));
    }
    let (location, device) = (source.device, source.device.device());
    let streams = WorkStreams::of(py, library, location, device, given.as_ref())?;
    let new = streams
        .allocate(py, || library.empty(operand, &source, &target.layout, source.dtype, stream))?;
    let target = TensorView { ptr: new.ptr, ..target };
    let from = &source.view;
    // In host memory no work is enqueued, so the stream does not matter.
    let work = streams.work.unwrap_or(StreamRef::legacy_default(0));
    // SAFETY: the new array has the target's layout. Both arrays are alive for the call, and the
    // operand is kept until the work is done.
    release_gil(py, || unsafe { crop_or_pad(&target, from, &starts, work) }).or_raise(py)?;
    deferred_release::keep_until_done(operand, &mut source, work).or_raise(py)?;
    Ok(new.array)
}
