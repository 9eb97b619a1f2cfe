//! Host memory that the CPU engines work in, asked for such that a refusal is an error: Rust's own
//! collections end the process then.

use std::alloc;

use crate::error::{Error, Result};

/// Types for which every bit pattern is a value.
///
/// # Safety
/// The type has no padding, no invalid bit patterns and no destructor.
pub(crate) unsafe trait Pod: Copy {}

// SAFETY: every bit pattern is an `f32`.
unsafe impl Pod for f32 {}
// SAFETY: every bit pattern is an `f64`.
unsafe impl Pod for f64 {}
// SAFETY: every bit pattern is a `u64`.
unsafe impl Pod for std::num::Wrapping<u64> {}
// SAFETY: a complex number is two values of `T` side by side, without padding.
unsafe impl<T: Pod> Pod for rustfft::num_complex::Complex<T> {}

/// Allocates `len` elements of zeros. `purpose` says in an error what needs them.
pub(crate) fn zeroed<E: Pod>(len: usize, purpose: &str) -> Result<Vec<E>> {
    let layout = layout_of::<E>(len, purpose)?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout's size is not 0.
    let first = unsafe { alloc::alloc_zeroed(layout) };
    if first.is_null() {
        return Err(exhausted(layout.size(), purpose));
    }
    let elements = std::ptr::slice_from_raw_parts_mut(first.cast(), len);
    // SAFETY: the memory was just allocated in the layout of such a box, and its zeros are values
    // of `E`.
    Ok(unsafe { Box::from_raw(elements) }.into_vec())
}

/// Returns `OutOfMemory` unless memory for `len` elements of `E` can be allocated now. It goes
/// before calls of crates that cannot do without what they allocate.
pub(crate) fn check_available<E>(len: usize, purpose: &str) -> Result<()> {
    let layout = layout_of::<E>(len, purpose)?;
    if layout.size() == 0 {
        return Ok(());
    }
    // SAFETY: the layout's size is not 0. The compiler cannot know that nothing uses the memory, so
    // that it does allocate it.
    let first = std::hint::black_box(unsafe { alloc::alloc(layout) });
    if first.is_null() {
        return Err(exhausted(layout.size(), purpose));
    }
    // SAFETY: the memory was just allocated in this layout.
    unsafe { alloc::dealloc(first, layout) };
    Ok(())
}

fn layout_of<E>(len: usize, purpose: &str) -> Result<alloc::Layout> {
    alloc::Layout::array::<E>(len)
        .map_err(|_| exhausted(len.saturating_mul(size_of::<E>()), purpose))
}

fn exhausted(bytes: usize, purpose: &str) -> Error {
    Error::OutOfMemory(format!(
        "{purpose} needs {bytes} bytes of host memory for its tables and work, which the system \
         does not have; free some, or use smaller operands"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn what_does_not_fit_is_an_error_with_its_size() {
        for len in [1 << 46, usize::MAX / 8, usize::MAX] {
            let error = zeroed::<f64>(len, "this").unwrap_err();
            assert!(matches!(&error, Error::OutOfMemory(_)));
            let bytes = len.saturating_mul(8).to_string();
            assert!(error.to_string().contains(&bytes), "{error}");
            assert!(matches!(check_available::<f64>(len, "this"), Err(Error::OutOfMemory(_))));
        }
        assert_eq!(zeroed::<f64>(3, "this").unwrap(), [0.0; 3]);
        assert!(zeroed::<f64>(0, "this").unwrap().is_empty());
        check_available::<f64>(1000, "this").unwrap();
        check_available::<f64>(0, "this").unwrap();
    }
}
