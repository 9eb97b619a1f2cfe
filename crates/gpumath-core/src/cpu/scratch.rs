//! Work memory: a small piece that each thread keeps, and one large piece that the process keeps.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::{Error, Result};

/// A cache line; the unit of allocation, so that every buffer is aligned for any vector unit.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read through pointers")] [u8; 64]);

/// Most bytes that a thread keeps between transforms.
const THREAD_BYTES: usize = 1 << 20;

/// Most bytes that the process keeps for the next large transform, because fresh pages are slow to
/// get.
const PROCESS_BYTES: usize = 64 << 20;

thread_local! {
    static SMALL: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// The large buffer while no transform uses it. A swap, not a lock, so that a fork cannot leave it
/// locked.
static LARGE: AtomicPtr<Vec<Line>> = AtomicPtr::new(std::ptr::null_mut());

/// Takes the large buffer, or an empty one, and puts another in its place.
fn swap_large(put: Option<Vec<Line>>) -> Vec<Line> {
    let put = put.map_or(std::ptr::null_mut(), |lines| Box::into_raw(Box::new(lines)));
    let kept = LARGE.swap(put, Ordering::AcqRel);
    if kept.is_null() {
        return Vec::new();
    }
    // SAFETY: only pointers from Box::into_raw are stored, and the swap hands each one out once.
    *unsafe { Box::from_raw(kept) }
}

/// Numbers for which every bit pattern is a value.
///
/// # Safety
/// Implement it only for types without padding, invalid values or drop glue.
pub(super) unsafe trait Pod: Copy {}

// SAFETY: every bit pattern is a float.
unsafe impl Pod for f32 {}
// SAFETY: every bit pattern is a float.
unsafe impl Pod for f64 {}
// SAFETY: two floats side by side, without padding.
unsafe impl<T: Pod> Pod for rustfft::num_complex::Complex<T> {}

/// Zeroed or previously used memory, aligned to a cache line.
pub(super) struct ScratchBuffer {
    lines: Vec<Line>,
}

impl ScratchBuffer {
    /// At least `bytes` bytes: a kept buffer if one is large enough, else a new one.
    pub(super) fn take(bytes: usize) -> Result<Self> {
        let count = bytes.div_ceil(size_of::<Line>());
        let kept = if bytes <= THREAD_BYTES {
            SMALL.try_with(Cell::take).unwrap_or_default()
        } else {
            swap_large(None)
        };
        if kept.len() >= count {
            return Ok(Self { lines: kept });
        }
        drop(kept);
        Ok(Self { lines: zeroed(count)? })
    }

    /// The address of the first byte, for those who take addresses.
    pub(super) fn address(&mut self) -> usize {
        self.lines.as_mut_ptr().expose_provenance()
    }

    /// The buffer cut into consecutive pieces that each start on a cache line.
    pub(super) fn pieces(&mut self) -> ScratchPieces<'_> {
        ScratchPieces { rest: &mut self.lines }
    }
}

impl Drop for ScratchBuffer {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let bytes = lines.len() * size_of::<Line>();
        if bytes <= THREAD_BYTES {
            // A thread that is ending has no place to keep it, and then it is simply freed.
            let _ = SMALL.try_with(|kept| kept.set(lines));
        } else if bytes <= PROCESS_BYTES {
            drop(swap_large(Some(lines)));
        }
    }
}

/// Cuts a [`ScratchBuffer`] into typed slices.
pub(super) struct ScratchPieces<'a> {
    rest: &'a mut [Line],
}

impl<'a> ScratchPieces<'a> {
    /// Bytes that [`ScratchPieces::next`] takes for `len` elements of `E`.
    pub(super) fn bytes<E>(len: usize) -> usize {
        (len * size_of::<E>()).next_multiple_of(size_of::<Line>())
    }

    /// The next `len` elements. Shorter only when the buffer was made too small.
    pub(super) fn next<E: Pod>(&mut self, len: usize) -> &'a mut [E] {
        let lines = Self::bytes::<E>(len) / size_of::<Line>();
        let rest = std::mem::take(&mut self.rest);
        let at = lines.min(rest.len());
        let (piece, rest) = rest.split_at_mut(at);
        self.rest = rest;
        let len = len.min(size_of_val(piece) / size_of::<E>());
        // SAFETY: `piece` holds at least `len` elements of E, its alignment exceeds E's, every byte
        // is initialised, and E accepts any bits. The piece is borrowed mutably for 'a and handed
        // out once.
        unsafe { std::slice::from_raw_parts_mut(piece.as_mut_ptr().cast::<E>(), len) }
    }
}

fn zeroed(count: usize) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    lines.try_reserve_exact(count).map_err(|_| {
        Error::OutOfMemory(format!(
            "the CPU engine needs {} bytes of work memory for this transform, which the system \
             does not give; transform fewer batches at a time",
            count.saturating_mul(size_of::<Line>())
        ))
    })?;
    lines.resize(count, Line([0; 64]));
    Ok(lines)
}
