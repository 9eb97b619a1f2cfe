//! Cosine and sine transforms of short lines, and what comes before and after the Fourier
//! transform of long ones.

use std::num::NonZeroUsize;

use gpumath_core::cosine::{
    self, CosineArguments, CosineFactors, CosineLines, CosineRequest, CosineStep,
};
use gpumath_core::device::StreamRef;
use gpumath_core::operation::usable_cores;
use gpumath_core::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::api::operation::arguments::ExecutionArguments;
use crate::api::operation::{Operands, UserStream, WorkStreams};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{self, deferred_release};

/// Compute what comes before or after the Fourier transform of a cosine or sine transform.
///
/// A cosine or sine transform of type 1, 2, 3 or 4 is such a step, a Fourier transform, and
/// another step:
///
/// ===========  ==========================================
/// type         Fourier transform of N points
/// ===========  ==========================================
/// 1            R2C, 2 (N - 1) points; sine: 2 (N + 1)
/// 2            R2C, N points
/// 3            C2R, N points, not scaled
/// 4, even N    C2C, N / 2 points
/// 4, odd N     R2C, N points
/// ===========  ==========================================
///
/// In device memory it is C2C of N points for types 2, 3 and 4 with odd N: forward, or inverse and
/// not scaled for type 3. cuFFT would transform two real lines of an odd length as one complex
/// line, so that a NaN in one of them reached the other.
///
/// Parameters
/// ----------
/// operand : array
///     Any operand of `TensorView`, in single or double precision: that of the transform, or the
///     result of the Fourier transform.
/// transform : int
///     Type of the transform, 1 to 4.
/// points : int
///     N, the points of the transform; with type 1 at least 2 for a cosine transform.
/// axis : int
///     Axis of the transform, not negative.
/// is_before : bool
///     Which one of the two steps it is.
/// is_sine : bool, default: False
///     Whether it is a sine transform.
/// scale : float, default: 1.0
///     Factor of the result, in the step after the Fourier transform.
/// first, last : float, default: 1.0
///     Factors of the first and of the last element, of the operand before the Fourier transform,
///     of the result after it.
/// has_parts : bool, default: False
///     Whether the real and the imaginary parts of a complex array are transformed. It gets a
///     further dimension of them before the Fourier transform, and loses it afterwards.
/// num_threads : int, optional
///     Most threads on the CPU; one for each core that the process may use by default.
/// stream : int or stream object, optional
///     As for `resized`.
///
/// Returns
/// -------
/// array
///     An array of the operand's library and precision, on its device. It is C-contiguous, but for
///     what comes before a Fourier transform in device memory: there the lines follow each other.
///
/// Raises
/// ------
/// TypeError
///     The operand is neither float32 nor float64, nor a complex type of these where one is needed.
/// ValueError
///     There is no such type or axis, or the operand has another length along it.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.cosine_step(np.arange(5.0), 2, 5, 0, True)
/// array([0., 2., 4., 3., 1.])
#[pyfunction]
#[pyo3(signature = (
    operand, transform, points, axis, is_before, *, is_sine=false, scale=1.0, first=1.0, last=1.0,
    has_parts=false, num_threads=None, stream=None
))]
#[allow(clippy::too_many_arguments, reason = "they are those of the Python function")]
#[allow(clippy::fn_params_excessive_bools, reason = "they are those of the Python function")]
pub(crate) fn cosine_step<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    transform: u8,
    points: i64,
    axis: usize,
    is_before: bool,
    is_sine: bool,
    scale: f64,
    first: f64,
    last: f64,
    has_parts: bool,
    num_threads: Option<NonZeroUsize>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = stream.map(UserStream::of).transpose()?;
    // A library without a current stream works on the default stream, whose handle is 0.
    let handle = given.as_ref().map_or(0, |stream| stream.handle);
    let (mut source, library) =
        interop::view_without_gradient("the operand", operand, Some(handle))?;
    let fewest = if transform == 1 && !is_sine { 2 } else { 1 };
    let Some(step) = CosineStep::of(transform, points, is_before) else {
        return Err(PyValueError::new_err(format!("there is no type {transform}; 1 to 4 are")));
    };
    if !(fewest..=i64::MAX / 16).contains(&points) {
        return Err(PyValueError::new_err(format!(
            "a transform of type {transform} has at least {fewest} points, not {points}"
        )));
    }
    let from = if is_before && has_parts { parts_of(&source.view)? } else { source.view.clone() };
    let arguments = CosineArguments { step, points, is_sine, scale, first, last };
    let [operand_side, result] = arguments.sides(from.device);
    let dtype = if result.is_complex { complex(from.dtype) } else { real(from.dtype) };
    let is_double = matches!(from.dtype, DType::Float64 | DType::Complex128);
    if from.dtype.is_complex() != operand_side.is_complex
        || !(is_double || matches!(from.dtype, DType::Float32 | DType::Complex64))
    {
        return Err(PyTypeError::new_err(format!(
            "the operand is {}, but {} numbers of single or double precision are needed",
            source.dtype,
            if operand_side.is_complex { "complex" } else { "real" }
        )));
    }
    let length = operand_side.length;
    if from.layout.shape.get(axis) != Some(&length) {
        return Err(PyValueError::new_err(format!(
            "the operand has the shape {:?}, but {length} elements along axis {axis} are needed",
            source.layout.shape.as_slice()
        )));
    }
    let mut shape: Dims = from.layout.shape.clone();
    shape[axis] = result.length;
    // The parts of complex numbers are the last dimension of what the step computes.
    let joins = !is_before && has_parts && shape.pop() == Some(2);
    let dtype = if joins { complex(dtype) } else { dtype };
    let layout = if is_before && from.device != MemoryLocation::Host {
        // The lines one after the other, as cuFFT transforms them fastest.
        let beside = (0..shape.len()).filter(|&dim| dim != axis);
        Layout::packed(&shape, &beside.chain([axis]).collect::<Vec<_>>())
    } else {
        Layout::contiguous(&shape)
    };
    let target = TensorView { layout, dtype, readonly: false, ..from.clone() };
    if target.layout.byte_range(dtype.size()).is_none() {
        return Err(PyValueError::new_err(format!(
            "an array of shape {:?} and {dtype} elements is larger than the address space",
            shape.as_slice()
        )));
    }
    let (location, device) = (source.device, source.device.device());
    let streams = WorkStreams::of(py, library, location, device, given.as_ref())?;
    let new =
        streams.allocate(py, || library.empty(operand, &source, &target.layout, dtype, stream))?;
    let target = TensorView { ptr: new.ptr, ..target };
    let target = if joins { parts_of(&target)? } else { target };
    let threads = num_threads.unwrap_or_else(usable_cores);
    // In host memory no work is enqueued, so the stream does not matter.
    let work = streams.work.unwrap_or(StreamRef::legacy_default(0));
    // SAFETY: the new array has the target's layout. Both arrays are alive for the call, and the
    // operand is kept until the work is done.
    let compute =
        || unsafe { cosine::cosine_step(&target, &from, axis, &arguments, work, threads) };
    release_gil(py, compute).or_raise(py)?;
    deferred_release::keep_until_done(operand, &mut source, work).or_raise(py)?;
    Ok(new.array)
}

/// Compute a cosine or sine transform line by line: in host memory, or of short lines on a GPU.
///
/// Parameters
/// ----------
/// operand : array
///     Any operand of `TensorView` in single or double precision. The real and the imaginary parts
///     of complex numbers are transformed each for itself.
/// transform : int
///     Type of the transform, 1 to 4.
/// axis : int
///     Axis of the transform, not negative.
/// is_sine, scale, num_threads
///     As for `cosine_step`.
/// before, after : tuple of float
///     Factors of the first and of the last element, of the operand and of the result.
///
/// Returns
/// -------
/// array or None
///     A C-contiguous array like the operand. None for lines of more than 16 points in device
///     memory: there are the two steps around a Fourier transform.
///
/// Raises
/// ------
/// TypeError
///     The operand is not of single or double precision.
/// ValueError
///     There is no such type or axis, or there are too few points.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.cosine_transform(np.array([1.0, 2.0]), 3, 0, scale=0.5).round(3)
/// array([ 1.914, -0.914])
#[pyfunction]
#[pyo3(
    signature = (
        operand, transform, axis, *, is_sine=false, scale=1.0, before=(1.0, 1.0),
        after=(1.0, 1.0), num_threads=None
    ),
    // Without it the tuples would be an ellipsis.
    text_signature = "(operand, transform, axis, *, is_sine=False, scale=1.0, \
                      before=(1.0, 1.0), after=(1.0, 1.0), num_threads=None)"
)]
#[allow(clippy::too_many_arguments, reason = "they are those of the Python function")]
pub(crate) fn cosine_transform<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    transform: u8,
    axis: usize,
    is_sine: bool,
    scale: f64,
    before: (f64, f64),
    after: (f64, f64),
    num_threads: Option<NonZeroUsize>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut operands = Operands::read(&[("the operand", operand)], None, None)?;
    let request = CosineRequest { kind: transform, is_sine, axis };
    let factors = CosineFactors { scale, before: before.into(), after: after.into() };
    if operands.first().is_none_or(|view| !CosineRequest::is_by_lines(view)) {
        let is_short = |view: &TensorView| {
            let points = view.layout.shape.get(axis);
            points.is_some_and(|&points| points <= cosine::MOST_SHORT_POINTS)
        };
        return if operands.first().is_some_and(is_short) {
            short_on_gpu(py, operand, &request, factors).map(Some)
        } else {
            Ok(None)
        };
    }
    let chosen = ExecutionArguments { num_threads, ..ExecutionArguments::default() };
    let plan = operands.plan::<CosineLines>(py, &request, &chosen, None)?;
    operands.run(py, &plan, factors, None, None, false).map(Some)
}

/// Transforms short lines in device memory.
fn short_on_gpu<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    request: &CosineRequest,
    factors: CosineFactors,
) -> PyResult<Bound<'py, PyAny>> {
    // A library without a current stream works on the default stream, whose handle is 0.
    let (mut source, library) = interop::view_without_gradient("the operand", operand, Some(0))?;
    request.check(&source.view).or_raise(py)?;
    let layout = Layout::contiguous(&source.layout.shape);
    let (location, device) = (source.device, source.device.device());
    let streams = WorkStreams::of(py, library, location, device, None)?;
    let new =
        streams.allocate(py, || library.empty(operand, &source, &layout, source.dtype, None))?;
    let target = TensorView { ptr: new.ptr, layout, readonly: false, ..source.view.clone() };
    let stream = streams.work.unwrap_or(StreamRef::legacy_default(0));
    // SAFETY: the new array has the target's layout. Both arrays are alive for the call, and the
    // operand is kept until the work is done.
    let compute = || unsafe {
        cosine::transform_short_lines(&target, &source.view, request, factors, stream)
    };
    release_gil(py, compute).or_raise(py)?;
    deferred_release::keep_until_done(operand, &mut source, stream).or_raise(py)?;
    Ok(new.array)
}

/// Returns a view of the real and imaginary parts of a complex array, in a further dimension.
fn parts_of(view: &TensorView) -> PyResult<TensorView> {
    if !view.dtype.is_complex() {
        return Err(PyTypeError::new_err(format!("an array of {} has no parts", view.dtype)));
    }
    let layout = view.layout.of_parts();
    Ok(TensorView { layout, dtype: real(view.dtype), ..view.clone() })
}

fn real(dtype: DType) -> DType {
    match dtype {
        DType::Complex64 => DType::Float32,
        DType::Complex128 => DType::Float64,
        other => other,
    }
}

fn complex(dtype: DType) -> DType {
    match dtype {
        DType::Float32 => DType::Complex64,
        DType::Float64 => DType::Complex128,
        other => other,
    }
}
