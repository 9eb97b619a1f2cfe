//! Completes matrices of which one triangle is stored.

use std::ffi::CStr;

use super::launch;
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::DType;

/// The kernels of `mirror.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/mirror.ptx"), "\0");

/// Side of the squares that blocks turn.
const SQUARE: u64 = 32;

/// Square matrices in column-major order without gaps, one after the other: the argument of the
/// kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Mirror {
    side: u64,
    matrices: u64,
    is_upper: i64,
    is_hermitian: i64,
}

impl Mirror {
    /// Describes that the upper or the lower triangle of each matrix is copied to the other one,
    /// and conjugated for Hermitian matrices.
    pub(crate) fn new(side: i64, matrices: i64, is_upper: bool, is_hermitian: bool) -> Self {
        Self {
            side: side as u64,
            matrices: matrices as u64,
            is_upper: i64::from(is_upper),
            is_hermitian: i64::from(is_hermitian),
        }
    }
}

/// Enqueues on `stream` that matrices are completed, in the context of the stream's device. The
/// work can be captured into a graph.
///
/// # Safety
/// The matrices are at `first`, aligned to their elements, in memory of the stream's device that is
/// valid until the work is done.
pub(crate) unsafe fn mirror(
    context: &ContextGuard,
    first: usize,
    dtype: DType,
    mirror: &Mirror,
    stream: StreamRef,
) -> Result<()> {
    let name: &'static CStr = match dtype {
        DType::Float32 => c"mirror_float32",
        DType::Float64 => c"mirror_float64",
        DType::Complex64 => c"mirror_complex64",
        DType::Complex128 => c"mirror_complex128",
        _ => {
            return Err(Error::InvalidValue(format!(
                "a matrix of {dtype} cannot be completed from a triangle"
            )));
        }
    };
    let squares = mirror.side.div_ceil(SQUARE);
    let blocks = squares * squares * mirror.matrices;
    if blocks == 0 {
        return Ok(());
    }
    let parameters = [&raw const first as usize, std::ptr::from_ref(mirror) as usize];
    // SAFETY: the kernel takes an address and a `Mirror`; the caller guarantees that they fit the
    // memory.
    unsafe { launch(context, (PTX, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["float32", "float64", "complex64", "complex128"] {
            let parameter = format!("mirror_{name}_param_1[{}]", size_of::<Mirror>());
            assert!(PTX.contains(&parameter), "{parameter}");
        }
    }
}
