//! The function `convolve`: sums of products in device memory.

use gpumath_core::convolution;
use gpumath_core::tensor::{Dims, Layout, TensorView};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::api::operation::{UserStream, WorkStreams};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::integers::Integers;
use crate::interop::{self, deferred_release};

/// Convolve two arrays in device memory by sums of products, in one kernel.
///
/// That is fast for filters of few elements. `gpumath.fft.convolve` takes it where it is the
/// fastest way.
///
/// Parameters
/// ----------
/// operand, filter : array
///     Operands of `TensorView` on one GPU, both float32, float64, complex64 or complex128, with
///     equally many dimensions.
/// axes : sequence of int
///     One to four axes to sum along, not negative. Along the others the arrays are multiplied;
///     those of one element are broadcast.
/// starts : sequence of int
///     For each dimension, the first element of the full convolution that is wanted; 0 along the
///     dimensions that are not in `axes`.
/// shape : sequence of int
///     Shape of the result.
/// stream : int or stream object, optional
///     As for `resized`.
///
/// Returns
/// -------
/// array
///     A C-contiguous array of the operand's library and element type, on its device.
///
/// Raises
/// ------
/// TypeError
///     The arrays are of different element types, or of others than these four.
/// ValueError
///     The arrays are not on one GPU, or shapes, axes and starts do not fit.
///
/// Examples
/// --------
/// >>> import cupy  # doctest: +SKIP
/// >>> from gpumath.bindings import core
/// >>> x, h = cupy.arange(4.0), cupy.array([1.0, -1.0])  # doctest: +SKIP
/// >>> core.convolve(x, h, [0], [1], [3])  # doctest: +SKIP
/// array([1., 1., 1.])
#[pyfunction]
#[pyo3(signature = (operand, filter, axes, starts, shape, *, stream=None))]
pub(crate) fn convolve<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    filter: &Bound<'py, PyAny>,
    axes: Integers<usize>,
    starts: Integers<i64>,
    shape: Integers<i64>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = stream.map(UserStream::of).transpose()?;
    // A library without a current stream works on the default stream, whose handle is 0.
    let handle = given.as_ref().map_or(0, |stream| stream.handle);
    let (mut source, library) =
        interop::view_without_gradient("the operand", operand, Some(handle))?;
    let (mut taps, _) = interop::view_without_gradient("the filter", filter, Some(handle))?;
    if source.dtype != taps.dtype {
        return Err(PyTypeError::new_err(format!(
            "the operand is {} and the filter {}; they need one element type",
            source.dtype, taps.dtype
        )));
    }
    if !convolution::takes(source.dtype) {
        return Err(PyTypeError::new_err(format!(
            "the operand is {}; float32, float64, complex64 and complex128 are convolved",
            source.dtype
        )));
    }
    let (axes, starts, shape) = (axes.0, starts.0, Dims::from_vec(shape.0));
    let target =
        TensorView { layout: Layout::contiguous(&shape), readonly: false, ..source.view.clone() };
    if shape.iter().any(|&extent| extent < 0) || target.span_in_memory().is_none() {
        return Err(PyValueError::new_err(format!(
            "an array of shape {:?} and {} elements was asked for; give extents that are not \
             negative, and whose product fits into the address space",
            shape.as_slice(),
            source.dtype
        )));
    }
    convolution::check(&target, &source.view, &taps.view, &axes, &starts).or_raise(py)?;
    let (location, device) = (source.device, source.device.device());
    let streams = WorkStreams::of(py, library, location, device, given.as_ref())?;
    let new = streams
        .allocate(py, || library.empty(operand, &source, &target.layout, source.dtype, stream))?;
    let Some(work) = streams.work else {
        return Err(PyValueError::new_err("the operand's GPU has no stream to work on"));
    };
    let target = TensorView { ptr: new.ptr, ..target };
    // SAFETY: the new array has the target's layout. All arrays are alive for the call, and the
    // operands are kept until the work is done.
    let compute = || unsafe {
        convolution::convolve(&target, &source.view, &taps.view, &axes, &starts, work)
    };
    release_gil(py, compute).or_raise(py)?;
    deferred_release::keep_until_done(operand, &mut source, work).or_raise(py)?;
    deferred_release::keep_until_done(filter, &mut taps, work).or_raise(py)?;
    Ok(new.array)
}
