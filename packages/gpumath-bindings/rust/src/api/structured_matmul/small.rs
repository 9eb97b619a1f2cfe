//! Small products of NumPy's matrices and vectors, and of batches of them, without a plan.

use std::num::NonZeroUsize;

use gpumath_core::operation::usable_cores;
use gpumath_core::structured_matmul::{SmallFactor, are_small, multiply_small};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::interop::{NumpyArray, NumpyCApi};

/// Multiplies matrices or vectors, or batches of them. `None` declines what is large, empty, of
/// different types, of other layouts or not of NumPy, before anything happens. The GIL is kept,
/// because that takes less time.
pub(super) fn multiply<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    threads: Option<NonZeroUsize>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, Some(numpy)) = (a.py(), NumpyCApi::of(a)) else { return Ok(None) };
    let (Some(left), Some(right)) = (numpy.read(a), numpy.read(b)) else { return Ok(None) };
    let (Some(first), Some(second)) = (Factor::of(&left, false), Factor::of(&right, true)) else {
        return Ok(None);
    };
    let batch = if first.batch.is_empty() { second.batch } else { first.batch };
    let is_batch = |factor: &Factor<'_>| factor.batch.is_empty() || factor.batch == batch;
    let count = batch.iter().fold(1, |all: usize, &extent| all.saturating_mul(extent as usize));
    let shape = [first.extent, second.extent, first.depth];
    let is_declined = left.dtype != right.dtype
        || first.depth != second.depth
        || !(is_batch(&first) && is_batch(&second))
        || count == 0
        || shape.contains(&0);
    if is_declined || !are_small(count, shape, threads.unwrap_or_else(usable_cores)) {
        return Ok(None);
    }
    let mut extents: SmallVec<[isize; 4]> = SmallVec::from_slice(batch);
    extents.extend((left.shape.len() > 1).then_some(first.extent as isize));
    extents.extend((right.shape.len() > 1).then_some(second.extent as isize));
    let Some((array, address)) = numpy.empty(py, &extents, left.dtype)? else { return Ok(None) };
    let (a, b) = (first.matrices, second.matrices);
    // SAFETY: the arrays have these types, extents and steps, and are alive; the result is new.
    unsafe { multiply_small(left.dtype, count, shape, a, b, address) }.or_raise(py)?;
    Ok(Some(array))
}

/// A vector, matrix or batch of matrices that is multiplied.
struct Factor<'a> {
    /// The extent that is one of the result's.
    extent: usize,
    depth: usize,
    /// Extents of the batch.
    batch: &'a [isize],
    matrices: SmallFactor,
}

impl<'a> Factor<'a> {
    /// `None` if there is no step, in elements, from each matrix to the next.
    fn of(array: &NumpyArray<'a>, is_right: bool) -> Option<Self> {
        let size = array.dtype.size() as isize;
        let step = |stride: isize| (stride % size == 0).then_some(stride / size);
        let (&[ref batch @ .., rows, columns], &[ref outer @ .., down, across]) =
            (array.shape, array.strides)
        else {
            let (&[extent], &[stride]) = (array.shape, array.strides) else { return None };
            let (one, steps) = (step(stride)?, if is_right { [1, 0] } else { [0, 1] });
            let matrices =
                SmallFactor { first: array.first, steps: steps.map(|step| step * one), next: 0 };
            return Some(Self { extent: 1, depth: extent as usize, batch: &[], matrices });
        };
        let (extent, depth) = if is_right { (columns, rows) } else { (rows, columns) };
        let steps = [step(down)?, step(across)?];
        let next = step(stride_of_batch(batch, outer)?)?;
        let matrices = SmallFactor { first: array.first, steps, next };
        Some(Self { extent: extent as usize, depth: depth as usize, batch, matrices })
    }
}

/// Returns the stride from each matrix of a batch to the next, in C order; `None` if they differ.
fn stride_of_batch(shape: &[isize], strides: &[isize]) -> Option<isize> {
    let mut last = None;
    let mut span = 0;
    for (&extent, &stride) in shape.iter().zip(strides).rev().filter(|&(&extent, _)| extent != 1) {
        if last.is_some() && stride != span {
            return None;
        }
        last.get_or_insert(stride);
        span = stride.checked_mul(extent)?;
    }
    Some(last.unwrap_or(0))
}
