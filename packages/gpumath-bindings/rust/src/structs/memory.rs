//! Where the structs lie, and who frees it.

use std::alloc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Alignment of what the allocator gives out; a stricter one is made by leaving bytes free at the start.
const ALLOCATED_ALIGNMENT: usize = 16;

/// A range of host memory. Arrays and their views share it.
pub(super) struct StructMemory {
    pub(super) readonly: bool,
    source: MemorySource,
}

enum MemorySource {
    Allocated { block: *mut u8, layout: alloc::Layout },
    Borrowed { _buffer: PyUntypedBuffer },
    Foreign,
}

// SAFETY: the block is freed once, by the last owner, and any thread may free it. Reads and writes of it go through raw
// addresses, as C's own do; that two threads do not write the same struct at once is up to them.
unsafe impl Send for StructMemory {}
// SAFETY: as above.
unsafe impl Sync for StructMemory {}

impl StructMemory {
    /// New memory, all zero, and its address.
    pub(super) fn zeroed(bytes: Option<usize>, alignment: usize) -> PyResult<(Self, usize)> {
        let layout = bytes
            .and_then(|bytes| bytes.checked_add(alignment))
            .and_then(|bytes| alloc::Layout::from_size_align(bytes, ALLOCATED_ALIGNMENT).ok());
        let Some(layout) = layout else {
            return Err(PyMemoryError::new_err("so many structs exceed the address space"));
        };
        // SAFETY: the size is not 0, for the alignment is part of it.
        let block = unsafe { alloc::alloc_zeroed(layout) };
        if block.is_null() {
            let text = format!("no memory for {} bytes of structs", layout.size());
            return Err(PyMemoryError::new_err(text));
        }
        let address = (block as usize).next_multiple_of(alignment);
        Ok((Self { readonly: false, source: MemorySource::Allocated { block, layout } }, address))
    }

    /// The memory of another object, which is kept.
    pub(super) fn borrowed(buffer: PyUntypedBuffer) -> Self {
        Self { readonly: buffer.readonly(), source: MemorySource::Borrowed { _buffer: buffer } }
    }

    /// Memory that somebody else keeps.
    pub(super) fn foreign(readonly: bool) -> Self {
        Self { readonly, source: MemorySource::Foreign }
    }
}

impl Drop for StructMemory {
    fn drop(&mut self) {
        if let MemorySource::Allocated { block, layout } = self.source {
            // SAFETY: from `alloc_zeroed` with this layout, and freed here alone.
            unsafe { alloc::dealloc(block, layout) };
        }
    }
}
