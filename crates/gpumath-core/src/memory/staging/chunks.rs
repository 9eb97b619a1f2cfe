//! Parts of a range of memory, which several threads claim one after the other.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The chunks of a range, as offsets from its start. Threads draw them from the front until they
/// are used up.
#[derive(Debug)]
pub(super) struct Chunks {
    /// Offset of the next chunk.
    next: AtomicUsize,
    /// Bytes of the range.
    size: usize,
    /// Bytes of each chunk but the first and the last. A power of two; each chunk but the last ends
    /// at a multiple of it.
    step: usize,
    /// Bytes from the last multiple of `step` to the start of the range.
    shift: usize,
}

impl Chunks {
    /// Splits `size` bytes at `address` into chunks. Each but the last ends at an address that is a
    /// multiple of `step`, rounded up to a power of two.
    pub(super) fn new(address: usize, size: usize, step: usize) -> Self {
        let step = step.next_power_of_two();
        Self { next: AtomicUsize::new(0), size, step, shift: address % step }
    }

    /// Claims the next chunk; `None` once they are used up.
    pub(super) fn draw(&self) -> Option<Range<usize>> {
        let draw = |start| (start < self.size).then(|| self.end_of(start));
        let start = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, draw).ok()?;
        Some(start..self.end_of(start))
    }

    /// Claims chunks until they are used up.
    pub(super) fn draw_all(&self) -> impl Iterator<Item = Range<usize>> {
        iter::from_fn(|| self.draw())
    }

    /// Discards the chunks that are left, so that every thread stops.
    pub(super) fn stop(&self) {
        self.next.store(self.size, Ordering::Relaxed);
    }

    /// Returns the end of the chunk that starts at `start`.
    fn end_of(&self, start: usize) -> usize {
        (start + self.step - (self.shift + start) % self.step).min(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cover_the_range_once_and_end_at_multiples() {
        for (address, size) in [(0, 1), (0, 64), (1, 64), (63, 65), (64, 128), (100, 1000), (5, 3)]
        {
            let chunks = Chunks::new(address, size, 50);
            let mut end = 0;
            for chunk in chunks.draw_all() {
                assert_eq!(chunk.start, end);
                assert!(!chunk.is_empty() && chunk.len() <= 64);
                end = chunk.end;
                assert!(end == size || (address + end).is_multiple_of(64), "{address} {size}");
            }
            assert_eq!(end, size);
        }
    }

    #[test]
    fn nobody_draws_after_a_stop() {
        let chunks = Chunks::new(0, 100, 8);
        assert_eq!(chunks.draw(), Some(0..8));
        chunks.stop();
        assert_eq!(chunks.draw(), None);
    }

    #[test]
    fn threads_share_them() {
        let chunks = Chunks::new(3, 10_007, 16);
        let total: usize = std::thread::scope(|scope| {
            let draw = || chunks.draw_all().map(|chunk| chunk.len()).sum::<usize>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
        });
        assert_eq!(total, 10_007);
    }
}
