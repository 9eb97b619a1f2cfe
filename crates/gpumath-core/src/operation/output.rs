//! Checks of memory that a user gives for a result, and the alignment of operands.

use crate::error::{Error, Result};
use crate::tensor::{MemoryLocation, TensorView};

/// Bytes of the largest alignment of an address that a library makes use of.
pub const MAX_ALIGNMENT: usize = 16;

/// Returns `InvalidValue` unless a result like `wanted` can be written to `out`, whose strides do
/// not matter as long as no two elements share memory.
pub fn check_output(out: &TensorView, wanted: &TensorView) -> Result<()> {
    if out.dtype != wanted.dtype
        || out.layout.shape != wanted.layout.shape
        || out.device != wanted.device
    {
        return Err(Error::InvalidValue(format!(
            "out is of {}, and the result of {}; give an array like that, of any strides",
            out.describe(),
            wanted.describe()
        )));
    }
    if out.readonly {
        return Err(Error::InvalidValue("out is read-only; give an array that is writable".into()));
    }
    if !out.layout.is_injective() {
        return Err(Error::InvalidValue(format!(
            "out is of {}, so that its elements overlap; give an array whose elements do not",
            out.describe()
        )));
    }
    Ok(())
}

/// Returns the bytes that the addresses of all these operands are a multiple of, at most
/// [`MAX_ALIGNMENT`], where an engine at `location` accesses them. Only operands that a GPU
/// accesses where they are count: copies are aligned, and the CPU needs no more than the element
/// type does.
#[must_use]
pub fn alignment<'a>(
    views: impl IntoIterator<Item = &'a TensorView>,
    location: MemoryLocation,
) -> usize {
    let is_accessed =
        |view: &&TensorView| location != MemoryLocation::Host && view.device == location;
    let addresses = views.into_iter().filter(is_accessed).map(|view| view.ptr);
    // The lowest bit that is set in any of the addresses.
    1 << addresses.fold(MAX_ALIGNMENT, |bits, address| bits | address).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, Layout};

    #[test]
    fn the_least_aligned_operand_counts_where_a_gpu_reads_it() {
        let here = MemoryLocation::Device(0);
        let at = |ptr, device| TensorView {
            ptr,
            dtype: DType::Float32,
            layout: Layout::contiguous(&[2]),
            device,
            readonly: false,
        };
        assert_eq!(alignment([], here), 16);
        assert_eq!(alignment(&[at(512, here), at(72, here)], here), 8);
        assert_eq!(alignment(&[at(512, here), at(4, MemoryLocation::Host)], here), 16);
        assert_eq!(alignment(&[at(4, MemoryLocation::Host)], MemoryLocation::Host), 16);
    }
}
