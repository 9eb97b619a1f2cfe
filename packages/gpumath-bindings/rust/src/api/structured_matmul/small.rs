//! Small products of NumPy's matrices and vectors, and of batches of them, without a plan.

use std::num::NonZeroUsize;

use gpumath_core::operation::usable_cores;
use gpumath_core::structured_matmul::{
    Qualifier, SmallFactor, Structure, are_small, multiply_small,
};
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
    qualifiers: [Qualifier; 2],
    threads: Option<NonZeroUsize>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if qualifiers.iter().all(|known| known.structure != Structure::General) {
        return Ok(None);
    }
    let (py, Some(numpy)) = (a.py(), NumpyCApi::of(a)) else { return Ok(None) };
    let (Some(left), Some(right)) = (numpy.read(a), numpy.read(b)) else { return Ok(None) };
    let [of_left, of_right] = qualifiers;
    let (Some(first), Some(second)) =
        (Factor::of(&left, of_left, false), Factor::of(&right, of_right, true))
    else {
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
    // Each element of a product by a diagonal matrix is one multiplication.
    let is_diagonal = qualifiers.iter().any(|known| known.structure.is_diagonal());
    let work = if is_diagonal { [first.extent, second.extent, 1] } else { shape };
    if is_declined || !are_small(count, work, threads.unwrap_or_else(usable_cores)) {
        return Ok(None);
    }
    let mut extents: SmallVec<[isize; 4]> = SmallVec::from_slice(batch);
    extents.extend(first.is_matrix.then_some(first.extent as isize));
    extents.extend(second.is_matrix.then_some(second.extent as isize));
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
    /// Whether the result has a dimension of this extent.
    is_matrix: bool,
    /// Extents of the batch.
    batch: &'a [isize],
    matrices: SmallFactor,
}

impl<'a> Factor<'a> {
    /// `None` if there is no step, in elements, from each matrix to the next, and if the matrix
    /// cannot have its structure or is not small.
    fn of(array: &NumpyArray<'a>, known: Qualifier, is_right: bool) -> Option<Self> {
        let size = array.dtype.size() as isize;
        let step = |stride: isize| (stride % size == 0).then_some(stride / size);
        let Qualifier { structure, is_conjugated } = known;
        let (batch, outer, [rows, columns], steps) = match (array.shape, array.strides) {
            (&[ref batch @ .., rows], &[ref outer @ .., along]) if structure.is_diagonal() => {
                (batch, outer, [rows, rows], [step(along)?, 0])
            }
            (&[extent], &[along]) => {
                let along = step(along)?;
                let (extents, steps) =
                    if is_right { ([extent, 1], [along, 0]) } else { ([1, extent], [0, along]) };
                (&[][..], &[][..], extents, steps)
            }
            (&[ref batch @ .., rows, columns], &[ref outer @ .., down, across]) => {
                (batch, outer, [rows, columns], [step(down)?, step(across)?])
            }
            _ => return None,
        };
        let is_matrix = array.shape.len() > 1 || structure.is_diagonal();
        let (extent, depth) = if is_right { (columns, rows) } else { (rows, columns) };
        let (extent, depth) = (extent as usize, depth as usize);
        let next = step(stride_of_batch(batch, outer)?)?;
        let matrices = SmallFactor { first: array.first, steps, next, structure, is_conjugated };
        let fits = structure == Structure::General || (is_matrix && rows == columns);
        (fits && matrices.is_small(extent)).then_some(Self {
            extent,
            depth,
            is_matrix,
            batch,
            matrices,
        })
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
