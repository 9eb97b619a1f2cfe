//! `resized`

use gpumath_core::device::StreamRef;
use gpumath_core::memory::crop_or_pad;
use gpumath_core::tensor::{Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{Reader, pending, stream_handle};

/// Copy an operand to a new array of another shape: cut where that is shorter, with zeros where it is longer.
///
/// Parameters
/// ----------
/// operand : array
///     What `TensorView` takes.
/// shape : sequence of int
///     Extent of each dimension.
/// stream : int or stream object, optional
///     CUDA stream that the work goes to. By default the current stream of the operand's library, and the default
///     stream where it has none. CuPy and PyTorch allocate on their own current streams: make a stream that is given
///     theirs.
///
/// Returns
/// -------
/// array
///     Of the operand's library, element type, device and memory order, without gaps.
///
/// Raises
/// ------
/// ValueError
///     There are not as many extents as dimensions, or one is negative.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.resized(np.array([[1, 2, 3], [4, 5, 6]]), (3, 2))
/// array([[1, 2],
///        [4, 5],
///        [0, 0]])
#[pyfunction]
#[pyo3(signature = (operand, shape, *, stream=None))]
pub(crate) fn resized<'py>(
    py: Python<'py>,
    operand: &Bound<'py, PyAny>,
    shape: Vec<i64>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = Dims::from_vec(shape);
    let given = stream.map(stream_handle).transpose()?;
    let reader = Reader::of(operand)?;
    // Libraries without a current stream work on the default stream.
    let source = reader.view(operand, Some(given.unwrap_or(0)))?;
    reader.check_gradient(operand)?;
    if shape.len() != source.layout.ndim() || shape.iter().any(|&extent| extent < 0) {
        return Err(PyValueError::new_err(format!(
            "the shape {:?} was asked for, and the operand has {} dimensions; give as many extents, none of them negative",
            shape.as_slice(),
            source.layout.ndim()
        )));
    }
    let library = reader.library();
    let handle = match (given, source.device) {
        (Some(handle), _) => handle,
        (None, MemoryLocation::Device(device)) => library.current_stream(py, device)?,
        (None, MemoryLocation::Host) => 0,
    };
    let layout = Layout::packed(&shape, &source.layout.memory_order());
    let target = TensorView { layout, readonly: false, ..source.view.clone() };
    if target.span_in_memory().is_none() {
        return Err(PyValueError::new_err(format!(
            "an array of shape {:?} and {} elements is larger than the address space; ask for less",
            target.layout.shape.as_slice(),
            target.dtype
        )));
    }
    let empty = library.empty(operand, &source, &target.layout, source.dtype, stream)?;
    let target = TensorView { ptr: empty.ptr, ..target };
    let from = &source.view;
    // SAFETY: the new array has the target's layout, and both are alive for the call; what is borrowed is kept until the
    // work is done. For the stream the caller vouches.
    release_gil(py, || unsafe {
        let device = if let MemoryLocation::Device(device) = from.device { device } else { 0 };
        crop_or_pad(&target, from, StreamRef::new(device, handle))
    })
    .or_raise(py)?;
    pending::keep(operand, source, handle).or_raise(py)?;
    Ok(empty.array)
}
