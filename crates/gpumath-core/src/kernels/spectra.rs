//! Multiplies the spectra of a convolution.

use std::ffi::CStr;

use super::{BLOCK, MAX_RANK, UNROLLED, filled, launch};
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::{BatchDims, DType, Dims, Layout};

/// The kernels of `spectra.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/spectra.ptx"), "\0");

/// The arrays of a product of elements: the argument of the kernels.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Spectra {
    count: u64,
    rank: i64,
    extents: [i64; MAX_RANK],
    /// Of the left factor, the right one and the result.
    strides: [[i64; 3]; MAX_RANK],
}

impl Spectra {
    /// Describes arrays of equal shapes. A factor that is broadcast has strides of 0.
    pub(crate) fn of(left: &Layout, right: &Layout, result: &Layout) -> Result<Self> {
        let dims = BatchDims::outside(&[], [left, right, result]);
        let strides: Vec<[i64; 3]> = dims.iter().map(|dim| dim.strides).collect();
        Ok(Self {
            count: result.len() as u64,
            rank: dims.len() as i64,
            extents: filled(&dims.iter().map(|dim| dim.extent).collect::<Dims>())?,
            strides: filled(&strides)?,
        })
    }
}

/// Enqueues on `stream` that the elements of two spectra are multiplied by each other and by
/// `factor`, in the context of the stream's device. The work can be captured into a graph.
///
/// # Safety
/// - The addresses are those of the elements with index (0, …, 0) of the left factor, the right one
///   and the result, aligned to the size of the type.
/// - The elements are in memory of the stream's device, and valid until the work is done.
/// - No two indices of the result share an element. It is the left factor, or overlaps neither.
pub(crate) unsafe fn multiply_spectra(
    context: &ContextGuard,
    [left, right, result]: [usize; 3],
    dtype: DType,
    spectra: &Spectra,
    factor: f64,
    stream: StreamRef,
) -> Result<()> {
    let name: &'static CStr = match dtype {
        DType::Complex64 => c"multiply_complex64",
        DType::Complex128 => c"multiply_complex128",
        _ => {
            return Err(Error::InvalidValue(format!(
                "spectra of {dtype} are not multiplied; those of complex64 and complex128 are"
            )));
        }
    };
    let blocks = spectra.count.div_ceil(UNROLLED * u64::from(BLOCK));
    if blocks == 0 {
        return Ok(());
    }
    let parameters = [
        &raw const result as usize,
        &raw const left as usize,
        &raw const right as usize,
        &raw const factor as usize,
        std::ptr::from_ref(spectra) as usize,
    ];
    // SAFETY: the kernel takes three addresses, a factor and `Spectra`; the caller guarantees that
    // they fit the memory.
    unsafe { launch(context, (PTX, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["complex64", "complex128"] {
            let parameter = format!("multiply_{name}_param_4[{}]", size_of::<Spectra>());
            assert!(PTX.contains(&parameter), "{parameter}");
        }
    }
}
