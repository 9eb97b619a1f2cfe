//! The memory of struct arrays, and who frees it.

use std::alloc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// The alignment that the allocator is asked for, in bytes. For a stricter one, bytes at the start
/// are left free.
const ALLOCATED_ALIGNMENT: usize = 16;

/// Host memory that arrays and their views share. Dropping the last reference frees it or releases
/// the buffer.
pub(super) struct StructMemory {
    pub(super) readonly: bool,
    source: MemorySource,
}

enum MemorySource {
    /// Allocated here.
    Allocated { block: *mut u8, layout: alloc::Layout },
    /// The locked buffer of another object.
    Borrowed { _buffer: PyUntypedBuffer },
    /// At an address that the user keeps valid.
    Foreign,
}

// SAFETY: `block` may be freed by any thread, and a `PyUntypedBuffer` is `Send`. The memory itself
// is read and written through raw addresses only, as C does it; the user sees to it that no two
// threads use one struct at once.
unsafe impl Send for StructMemory {}
// SAFETY: nothing is changed through a shared reference, and what is said of the memory above holds
// here too.
unsafe impl Sync for StructMemory {}

impl StructMemory {
    /// Allocates memory that is all zero. Returns it and its first aligned address. `bytes` is
    /// `None` for more than the address space.
    pub(super) fn zeroed(bytes: Option<usize>, alignment: usize) -> PyResult<(Self, usize)> {
        let layout = bytes
            .and_then(|bytes| bytes.checked_add(alignment))
            .and_then(|bytes| alloc::Layout::from_size_align(bytes, ALLOCATED_ALIGNMENT).ok());
        let Some(layout) = layout else {
            return Err(PyMemoryError::new_err("so many structs exceed the address space"));
        };
        // SAFETY: the size is not 0, because the alignment is part of it.
        let block = unsafe { alloc::alloc_zeroed(layout) };
        if block.is_null() {
            let text = format!("no memory for {} bytes of structs", layout.size());
            return Err(PyMemoryError::new_err(text));
        }
        let address = (block as usize).next_multiple_of(alignment);
        Ok((Self { readonly: false, source: MemorySource::Allocated { block, layout } }, address))
    }

    /// Wraps the buffer of an object, which stays locked.
    pub(super) fn borrowed(buffer: PyUntypedBuffer) -> Self {
        Self { readonly: buffer.readonly(), source: MemorySource::Borrowed { _buffer: buffer } }
    }

    /// Stands for memory that the user keeps valid.
    pub(super) fn foreign(readonly: bool) -> Self {
        Self { readonly, source: MemorySource::Foreign }
    }
}

impl Drop for StructMemory {
    fn drop(&mut self) {
        if let MemorySource::Allocated { block, layout } = self.source {
            // SAFETY: `alloc_zeroed` returned `block` for this layout, and only this drop frees it.
            unsafe { alloc::dealloc(block, layout) };
        }
    }
}

/// Returns an empty vector with room for so many bytes; `None` stands for more than there are
/// addresses. An array in foreign memory may claim any length.
pub(super) fn reserve_bytes(count: Option<usize>) -> PyResult<Vec<u8>> {
    let mut room = Vec::new();
    let found = count.is_some_and(|count| room.try_reserve_exact(count).is_ok());
    let size = || count.map_or_else(|| String::from("so many"), |count| count.to_string());
    let error = || PyMemoryError::new_err(format!("no memory for a copy of {} bytes", size()));
    if found { Ok(room) } else { Err(error()) }
}
