//! Convolutions: sums of products, and in device memory steps around Fourier transforms.

use gpumath_core::convolution;
use gpumath_core::device::StreamRef;
use gpumath_core::error::Result;
use gpumath_core::operation::usable_cores;
use gpumath_core::tensor::{Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::api::operation::{UserStream, WorkStreams};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::integers::Integers;
use crate::interop::{self, ArrayLibrary, deferred_release};

/// Convolve two arrays by sums of products: on a GPU in one kernel, else on all cores.
///
/// That is fast for filters of few elements. `gpumath.fft.convolve` takes it where it is the
/// fastest way.
///
/// Parameters
/// ----------
/// operand, filter : array
///     Operands of `TensorView` in one memory, both float32, float64, complex64 or complex128, or
///     integers of one type, with equally many dimensions.
/// axes : sequence of int
///     Axes to sum along, not negative: at least one, and on a GPU at most four. Along the others
///     the arrays are multiplied; those of one element are broadcast.
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
///     A C-contiguous array of the operand's library and element type, on its device. Sums of
///     integers beyond the type wrap around.
///
/// Raises
/// ------
/// TypeError
///     The arrays are of different element types, or of others than these.
/// ValueError
///     The arrays are not in one memory, or shapes, axes and starts do not fit.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> x, h = np.arange(4.0), np.array([1.0, -1.0])
/// >>> core.convolve(x, h, [0], [1], [3])
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
            "the operand is {}; float32, float64, complex64, complex128 and integers are convolved",
            source.dtype
        )));
    }
    let (axes, starts, shape) = (axes.0, starts.0, Dims::from_vec(shape.0));
    let target =
        TensorView { layout: Layout::contiguous(&shape), readonly: false, ..source.view.clone() };
    if target.layout.byte_range(target.dtype.size()).is_none() {
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
    // In host memory no work is enqueued, so the stream does not matter.
    let work = streams.work.unwrap_or(StreamRef::legacy_default(0));
    let target = TensorView { ptr: new.ptr, ..target };
    let (from, filter_view, threads) = (&source.view, &taps.view, usable_cores());
    // SAFETY: the new array has the target's layout. All arrays are alive for the call, and the
    // operands are kept until the work is done.
    let compute = || unsafe {
        convolution::convolve(&target, from, filter_view, &axes, &starts, work, threads)
    };
    release_gil(py, compute).or_raise(py)?;
    deferred_release::keep_until_done(operand, &mut source, work).or_raise(py)?;
    deferred_release::keep_until_done(filter, &mut taps, work).or_raise(py)?;
    Ok(new.array)
}

/// Multiply the spectra of a convolution, and scale the product, in one kernel.
///
/// The work is enqueued on the current stream of the operands' library.
///
/// Parameters
/// ----------
/// target : array
///     The result, of the shape that the spectra have together. It is `left`, or other memory.
/// left, right : array
///     Spectra: complex64 or complex128 on one GPU, with equally many dimensions. Along dimensions
///     where one of them has a single element, that is broadcast.
/// factor : float, default: 1.0
///     Factor of all products.
///
/// Raises
/// ------
/// ValueError
///     The arrays are not on one GPU, types or shapes do not fit, or the target overlaps `right` or
///     a part of `left`, or cannot be written.
///
/// Examples
/// --------
/// >>> import cupy  # doctest: +SKIP
/// >>> from gpumath.bindings import core
/// >>> spectrum = cupy.array([1.0, 2.0j])  # doctest: +SKIP
/// >>> core.multiply_spectra(spectrum, spectrum, cupy.array([2.0j, 1.0j]), 0.5)  # doctest: +SKIP
/// >>> spectrum  # doctest: +SKIP
/// array([ 0.+1.j, -1.+0.j])
#[pyfunction]
#[pyo3(signature = (target, left, right, factor=1.0))]
pub(crate) fn multiply_spectra<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
    factor: f64,
) -> PyResult<()> {
    let arrays = [("the target", target), ("the left spectrum", left), ("the right one", right)];
    // SAFETY: the arrays are kept until the work is done.
    enqueue(py, arrays, |[target, left, right], stream| unsafe {
        convolution::multiply_spectra(target, left, right, factor, stream)
    })
}

/// Join the pieces of which a convolution was computed.
///
/// The work is enqueued on the current stream of the operands' library.
///
/// Parameters
/// ----------
/// target : array
///     What is filled with the pieces, in memory of a GPU.
/// pieces : array
///     An array of the target's dimensions and type, that counts pieces along `axis`, and has the
///     elements of each along a last dimension more. Of the last piece not all may be needed.
/// axis : int
///     Axis of the target that the pieces follow each other along, not negative.
/// skipped : int
///     Elements at the start of each piece that are left out.
///
/// Raises
/// ------
/// ValueError
///     The arrays are not on one GPU, types or shapes do not fit, or the target cannot be written.
///
/// Examples
/// --------
/// >>> import cupy  # doctest: +SKIP
/// >>> from gpumath.bindings import core
/// >>> target = cupy.empty(3)  # doctest: +SKIP
/// >>> core.join_pieces(target, cupy.array([[0.0, 1, 2], [0, 3, 4]]), 0, 1)  # doctest: +SKIP
/// >>> target  # doctest: +SKIP
/// array([1., 2., 3.])
#[pyfunction]
pub(crate) fn join_pieces<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    pieces: &Bound<'py, PyAny>,
    axis: usize,
    skipped: i64,
) -> PyResult<()> {
    let arrays = [("the target", target), ("pieces", pieces)];
    // SAFETY: the arrays are kept until the work is done.
    enqueue(py, arrays, |[target, pieces], stream| unsafe {
        convolution::join_pieces(target, pieces, axis, skipped, stream)
    })
}

/// Enqueues work with named arrays on the current stream of their library, and keeps the arrays
/// until it is done.
fn enqueue<'py, const N: usize>(
    py: Python<'py>,
    arrays: [(&'static str, &Bound<'py, PyAny>); N],
    work: impl FnOnce([&TensorView; N], StreamRef) -> Result<()> + Send,
) -> PyResult<()> {
    let mut first = None;
    let mut read = |(name, object)| {
        // A library without a current stream works on the default stream, whose handle is 0.
        let (operand, library) = interop::view_beside(name, object, Some(0), first)?;
        first.get_or_insert((name, library));
        Ok::<_, PyErr>(operand)
    };
    let mut operands = Vec::with_capacity(N);
    for array in arrays {
        operands.push(read(array)?);
    }
    let library = first.map_or(ArrayLibrary::Other, |(_, library)| library);
    let location = operands.first().map_or(MemoryLocation::Host, |target| target.device);
    let streams = WorkStreams::of(py, library, location, location.device(), None)?;
    let Some(stream) = streams.work else {
        return Err(PyValueError::new_err(
            "the target is in host memory; give arrays in memory of one GPU",
        ));
    };
    let views = std::array::from_fn(|at| &operands[at].view);
    release_gil(py, || work(views, stream)).or_raise(py)?;
    for ((_, object), operand) in arrays.into_iter().zip(&mut operands) {
        deferred_release::keep_until_done(object, operand, stream).or_raise(py)?;
    }
    Ok(())
}
