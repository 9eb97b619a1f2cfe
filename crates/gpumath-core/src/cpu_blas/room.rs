//! Room for copies.

use std::mem::MaybeUninit;

use super::number::Number;
use crate::memory::ScratchBuffer;

/// Room on the stack for numbers that are copied. Threads of Python may have stacks of 64 KiB, so
/// it is small, and more comes from [`with_large_room`].
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

/// Bytes of room on the stack: for tiny products, and where memory is short. More copies are made
/// then, one after the other, but nothing fails.
pub(super) const LEAST: usize = 4 << 10;

/// Works with room for so many bytes of numbers, in memory that the thread keeps for the next time.
pub(super) fn with_large_room<T: Number>(bytes: usize, work: impl FnOnce(&mut [MaybeUninit<T>])) {
    /// Apart, because whoever enters a function touches all of its part of the stack.
    #[inline(never)]
    fn with_least<T: Number>(work: impl FnOnce(&mut [MaybeUninit<T>])) {
        work(Room::<LEAST>::new().numbers());
    }
    let Ok(mut memory) = ScratchBuffer::take(bytes) else {
        return with_least(work);
    };
    let numbers = memory.pieces().next::<T>(bytes / size_of::<T>());
    let (first, count) = (numbers.as_mut_ptr().cast::<MaybeUninit<T>>(), numbers.len());
    // SAFETY: the same memory, borrowed as long; numbers alone are written to it.
    work(unsafe { std::slice::from_raw_parts_mut(first, count) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_room_is_that_of_the_thread_or_a_little() {
        let count = |bytes: usize| {
            let mut found = 0;
            with_large_room::<f64>(bytes, |numbers| {
                numbers.fill(MaybeUninit::new(1.0));
                found = numbers.len();
            });
            found
        };
        assert_eq!(count(68 << 10), (68 << 10) / 8);
        // More than there are addresses for.
        assert_eq!(count(1 << 62), LEAST / 8);
    }
}
