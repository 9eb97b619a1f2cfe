//! Completes matrices of which one triangle is stored: the other one mirrors it, or is zero.

use std::ffi::CStr;

use super::launch;
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::DType;

/// The kernels of `mirror.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/mirror.ptx"), "\0");

/// Sides of the squares that blocks turn.
const SQUARE: u64 = 32;
const LARGE_SQUARE: u64 = 64;
/// Elements of matrices from which large squares take less time.
const LARGE: u64 = 3 << 20;

/// What is known of a matrix, besides the triangle that is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completed {
    /// The other triangle has the same elements.
    Symmetric = 0,
    /// The other triangle has the conjugates, and the diagonal is real.
    Hermitian = 1,
    /// The other triangle is zero.
    Triangular = 2,
    /// The other triangle is zero, and the diagonal is all ones, which are not stored.
    UnitTriangular = 3,
}

/// Square matrices, copied to column-major order without gaps, one after the other: an argument of
/// the kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Mirror {
    side: u64,
    matrices: u64,
    /// Elements from a row of a source to the next, and from a column to the next.
    steps: [i64; 2],
    /// Elements from a source to the next.
    next: i64,
    is_upper: i64,
    structure: i64,
}

impl Mirror {
    /// Describes that the upper or the lower triangle of each matrix is copied to its place, and
    /// that the other elements are made. Before [`Self::from`] says otherwise, the sources lie like
    /// the results.
    pub(crate) fn new(side: i64, matrices: i64, is_upper: bool, completed: Completed) -> Self {
        Self {
            side: side as u64,
            matrices: matrices as u64,
            steps: [1, side],
            next: side * side,
            is_upper: i64::from(is_upper),
            structure: completed as i64,
        }
    }

    /// Sets the steps along rows and columns of the sources, and from each to the next.
    pub(crate) fn from(self, steps: [i64; 2], next: i64) -> Self {
        Self { steps, next, ..self }
    }
}

/// Enqueues on `stream` that matrices at `from` are copied to `to` with all their elements, in the
/// context of the stream's device. The work can be captured into a graph.
///
/// # Safety
/// Both are aligned to their elements, in memory of the stream's device that is valid until the
/// work is done. They do not overlap, unless they are the same.
pub(crate) unsafe fn mirror(
    context: &ContextGuard,
    to: usize,
    from: usize,
    dtype: DType,
    mirror: &Mirror,
    stream: StreamRef,
) -> Result<()> {
    let is_large = mirror.side * mirror.side * mirror.matrices >= LARGE;
    let (name, square): (&'static CStr, _) = match (dtype, is_large) {
        (DType::Float32, false) => (c"mirror_float32", SQUARE),
        (DType::Float64, false) => (c"mirror_float64", SQUARE),
        (DType::Complex64, false) => (c"mirror_complex64", SQUARE),
        (DType::Float32, true) => (c"mirror_large_float32", LARGE_SQUARE),
        (DType::Float64, true) => (c"mirror_large_float64", LARGE_SQUARE),
        (DType::Complex64, true) => (c"mirror_large_complex64", LARGE_SQUARE),
        (DType::Complex128, _) => (c"mirror_complex128", SQUARE),
        _ => {
            return Err(Error::InvalidValue(format!(
                "a matrix of {dtype} cannot be completed from a triangle"
            )));
        }
    };
    let squares = mirror.side.div_ceil(square);
    let blocks = squares * squares * mirror.matrices;
    if blocks == 0 {
        return Ok(());
    }
    let addresses = [&raw const to as usize, &raw const from as usize];
    let parameters = [addresses[0], addresses[1], std::ptr::from_ref(mirror) as usize];
    // SAFETY: the kernel takes two addresses and a `Mirror`; the caller guarantees that they fit
    // the memory.
    unsafe { launch(context, (PTX, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        let large = ["large_float32", "large_float64", "large_complex64"];
        for name in ["float32", "float64", "complex64", "complex128"].into_iter().chain(large) {
            let parameter = format!("mirror_{name}_param_2[{}]", size_of::<Mirror>());
            assert!(PTX.contains(&parameter), "{parameter}");
        }
    }
}
