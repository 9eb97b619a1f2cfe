//! Work memory of transforms and products on the CPU. Each thread keeps small buffers for the next
//! one, and the process keeps two large buffers.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Pod, zeroed};
use crate::error::Result;

/// A cache line. Pieces of buffers begin at one, which aligns them for any vector instruction.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[allow(dead_code, reason = "read through pointers")] [u8; 64]);

/// What buffers are allocated in: memory that is aligned to more than 16 bytes is zeroed by the
/// thread that allocates it. Other memory is by the system, when a thread uses it first.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Quarter(#[allow(dead_code, reason = "read through pointers")] [u8; 16]);

/// Quarters that so many cache lines are in, wherever they begin.
const fn quarters(lines: usize) -> usize {
    lines.saturating_mul(4).saturating_add(3)
}

/// The largest buffer that a thread keeps between transforms: 1 MiB.
const MOST_SMALL: usize = quarters((1 << 20) / size_of::<CacheLine>());

/// Most buffers that a thread keeps: one for a block, and one for the passes over it.
const THREAD_BUFFERS: usize = 2;

/// The largest buffers that the process keeps for the next large transform, because fresh pages are
/// slow to get: 64 MiB. There are two, since a transform may be a step of another one.
const MOST_LARGE: usize = quarters((64 << 20) / size_of::<CacheLine>());

thread_local! {
    /// The small buffers of the thread that no transform uses. The last one to be kept is the next
    /// to be taken, so that those within others get their own again.
    static SMALL: Cell<Vec<Vec<Quarter>>> = const { Cell::new(Vec::new()) };
}

/// A large buffer while no transform uses it; null otherwise. It is swapped rather than locked,
/// because a lock that is held during a fork stays locked in the child.
struct Slot(AtomicPtr<Vec<Quarter>>);

static LARGE: [Slot; 2] = [const { Slot::empty() }; 2];

impl Slot {
    const fn empty() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Takes the buffer, or an empty one if there is none.
    fn take(&self) -> Vec<Quarter> {
        Self::buffer(self.0.swap(std::ptr::null_mut(), Ordering::AcqRel))
    }

    /// Puts a buffer in the place of the one that is there, which is returned.
    fn replace(&self, memory: Vec<Quarter>) -> Vec<Quarter> {
        Self::buffer(self.0.swap(Box::into_raw(Box::new(memory)), Ordering::AcqRel))
    }

    fn buffer(kept: *mut Vec<Quarter>) -> Vec<Quarter> {
        if kept.is_null() {
            return Vec::new();
        }
        // SAFETY: only pointers from `Box::into_raw` are stored, and a swap takes each of them
        // once.
        *unsafe { Box::from_raw(kept) }
    }
}

/// Takes a large buffer of at least so many quarters; an empty one if there is none.
fn take_large(slots: &[Slot; 2], count: usize) -> Vec<Quarter> {
    slots.iter().map(Slot::take).find(|kept| kept.len() >= count).unwrap_or_default()
}

/// Keeps a large buffer as the first one to be taken. Where both slots have one, the smaller one of
/// these is freed.
fn keep_large(slots: &[Slot; 2], memory: Vec<Quarter>) {
    let [first, second] = slots;
    let before = first.replace(memory);
    if before.is_empty() {
        return;
    }
    let other = second.take();
    drop(second.replace(if other.len() > before.len() { other } else { before }));
}

/// Changes the small buffers; `None` on a thread that is ending.
fn change_small<R>(change: impl FnOnce(&mut Vec<Vec<Quarter>>) -> R) -> Option<R> {
    let change = |kept: &Cell<_>| {
        let mut buffers = kept.take();
        let result = change(&mut buffers);
        kept.set(buffers);
        result
    };
    SMALL.try_with(change).ok()
}

// SAFETY: every bit pattern is an array of bytes.
unsafe impl Pod for Quarter {}

/// Initialized memory with any contents, aligned to a cache line. Dropping it keeps it for the next
/// transform, unless it is too large.
pub(crate) struct ScratchBuffer {
    memory: Vec<Quarter>,
}

impl ScratchBuffer {
    /// Takes the kept buffer of the thread or the process, or allocates one if that has fewer than
    /// `bytes` bytes.
    pub(crate) fn take(bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self { memory: Vec::new() });
        }
        let count = quarters(bytes.div_ceil(size_of::<CacheLine>()));
        let kept = if count <= MOST_SMALL {
            change_small(Vec::pop).flatten().unwrap_or_default()
        } else {
            take_large(&LARGE, count)
        };
        if kept.len() >= count {
            return Ok(Self { memory: kept });
        }
        drop(kept);
        Ok(Self { memory: zeroed(count, "a transform on the CPU")? })
    }

    /// Returns the buffer to be split into consecutive pieces, each of which starts on a cache
    /// line.
    pub(crate) fn pieces(&mut self) -> ScratchPieces<'_> {
        // SAFETY: any bytes are cache lines.
        let (_, lines, _) = unsafe { self.memory.align_to_mut() };
        ScratchPieces { rest: lines }
    }
}

impl Drop for ScratchBuffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        match memory.len() {
            0 => {}
            // A thread that is ending has no place to keep the buffer, so it is freed then.
            1..=MOST_SMALL => drop(change_small(|kept| {
                kept.truncate(THREAD_BUFFERS - 1);
                kept.push(memory);
            })),
            len if len <= MOST_LARGE => keep_large(&LARGE, memory),
            _ => {}
        }
    }
}

/// Splits a [`ScratchBuffer`] into typed slices.
pub(crate) struct ScratchPieces<'a> {
    rest: &'a mut [CacheLine],
}

impl<'a> ScratchPieces<'a> {
    /// Returns the bytes that [`Self::next`] takes for `len` elements of `E`.
    pub(crate) fn bytes<E>(len: usize) -> usize {
        len.saturating_mul(size_of::<E>()).div_ceil(size_of::<CacheLine>()) * size_of::<CacheLine>()
    }

    /// Returns the next `len` elements, or fewer if the buffer is too small.
    pub(crate) fn next<E: Pod>(&mut self, len: usize) -> &'a mut [E] {
        let lines = Self::bytes::<E>(len) / size_of::<CacheLine>();
        let rest = std::mem::take(&mut self.rest);
        let at = lines.min(rest.len());
        let (piece, rest) = rest.split_at_mut(at);
        self.rest = rest;
        let len = len.min(size_of_val(piece) / size_of::<E>());
        // SAFETY: `piece` has room for `len` elements of `E`, is aligned to more than they are, and
        // is initialized; any bytes are values of `E`. It is borrowed mutably for `'a` and returned
        // once.
        unsafe { std::slice::from_raw_parts_mut(piece.as_mut_ptr().cast::<E>(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_large_buffers_are_kept() {
        let slots = [const { Slot::empty() }; 2];
        let memory = |count: usize| vec![Quarter([0; 16]); count];
        assert!(take_large(&slots, 1).is_empty());
        // A transform within another one gives its buffer back first.
        keep_large(&slots, memory(20));
        keep_large(&slots, memory(30));
        assert_eq!(take_large(&slots, 25).len(), 30);
        assert_eq!(take_large(&slots, 15).len(), 20);
        for count in [20, 40, 30] {
            keep_large(&slots, memory(count));
        }
        assert_eq!(slots.each_ref().map(|slot| slot.take().len()), [30, 40]);
        assert!(take_large(&slots, 1).is_empty());
    }

    #[test]
    fn pieces_begin_at_cache_lines() {
        for bytes in [1_usize, 64, 65, 1000, 1 << 20, (1 << 20) + 1] {
            let mut buffer = ScratchBuffer::take(2 * bytes.next_multiple_of(64)).unwrap();
            let mut pieces = buffer.pieces();
            for _ in 0..2 {
                let piece = pieces.next::<f32>(bytes / 4);
                assert_eq!((piece.len(), piece.as_ptr() as usize % 64), (bytes / 4, 0), "{bytes}");
            }
        }
    }
}
