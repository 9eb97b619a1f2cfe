//! Small products of NumPy's matrices and vectors, without a plan.

use std::num::NonZeroUsize;

use gpumath_core::operation::usable_cores;
use gpumath_core::structured_matmul::{SmallFactor, is_small, multiply_small};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::interop::{NumpyArray, NumpyCApi};

/// Multiplies two matrices or vectors. `None` declines what is large, empty, of different types or
/// not of NumPy, before anything happens. The GIL is kept, because that takes less time.
pub(super) fn multiply<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    threads: Option<NonZeroUsize>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, Some(numpy)) = (a.py(), NumpyCApi::of(a)) else { return Ok(None) };
    let (Some(left), Some(right)) = (numpy.read(a), numpy.read(b)) else { return Ok(None) };
    let (Some((rows, depth, first)), Some((columns, other, second))) =
        (factor(&left, false), factor(&right, true))
    else {
        return Ok(None);
    };
    let shape = [rows, columns, depth];
    let is_declined = left.dtype != right.dtype || depth != other || shape.contains(&0);
    if is_declined || !is_small(shape, threads.unwrap_or_else(usable_cores)) {
        return Ok(None);
    }
    let mut extents: SmallVec<[isize; 2]> = SmallVec::new();
    extents.extend((left.shape.len() == 2).then_some(rows as isize));
    extents.extend((right.shape.len() == 2).then_some(columns as isize));
    let Some((array, address)) = numpy.empty(py, &extents, left.dtype)? else { return Ok(None) };
    // SAFETY: the arrays have these types, extents and steps, and are alive; the result is new.
    unsafe { multiply_small(left.dtype, shape, first, second, address) }.or_raise(py)?;
    Ok(Some(array))
}

/// Returns the extent of a factor that is one of the result, the depth, and where its elements are.
fn factor(array: &NumpyArray<'_>, is_right: bool) -> Option<(usize, usize, SmallFactor)> {
    let size = array.dtype.size() as isize;
    let step = |axis: usize| match array.strides[axis] {
        stride if stride % size == 0 => Some(stride / size),
        _ => None,
    };
    let extent = |axis: usize| array.shape[axis] as usize;
    let first = array.first;
    match (array.shape.len(), is_right) {
        (1, false) => Some((1, extent(0), SmallFactor { first, steps: [0, step(0)?] })),
        (1, true) => Some((1, extent(0), SmallFactor { first, steps: [step(0)?, 0] })),
        (2, _) => {
            let factor = SmallFactor { first, steps: [step(0)?, step(1)?] };
            let (own, depth) = if is_right { (1, 0) } else { (0, 1) };
            Some((extent(own), extent(depth), factor))
        }
        _ => None,
    }
}
