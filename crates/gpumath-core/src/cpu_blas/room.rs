//! Room for copies.

use std::mem::MaybeUninit;

use super::number::Number;

/// Room on the stack for numbers that are copied.
#[repr(align(64))]
pub(super) struct Room<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

impl<const BYTES: usize> Room<BYTES> {
    pub(super) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; BYTES])
    }

    /// Returns room for numbers.
    #[inline(always)]
    pub(super) fn numbers<T: Number>(&mut self) -> &mut [MaybeUninit<T>] {
        let first = self.0.as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: there is room for so many numbers, which need not be initialized.
        unsafe { std::slice::from_raw_parts_mut(first, BYTES / size_of::<T>()) }
    }
}
