//! Tables of factors.

use super::vectors::Lane;

/// Bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// Numbers that begin at a cache line, so that no vector of them takes two.
pub(super) struct Table<T> {
    numbers: Vec<T>,
    first: usize,
}

impl<T: Lane> Table<T> {
    pub(super) fn new(numbers: Vec<T>) -> Self {
        let mut moved = Vec::<T>::with_capacity(numbers.len() + LINE_BYTES / size_of::<T>());
        let first = moved.as_ptr().align_offset(LINE_BYTES);
        moved.resize(first, T::rounded(0.0));
        moved.extend(numbers);
        Self { numbers: moved, first }
    }

    #[inline(always)]
    pub(super) fn numbers(&self) -> &[T] {
        &self.numbers[self.first..]
    }
}

/// Returns the factors of a vector as [`Pairs::times`](super::pairs::Pairs::times) takes them:
/// first the real parts, each twice, then the imaginary parts, each negated and as it is.
pub(super) fn vector_of_factors<T: Lane>(
    factors: impl Iterator<Item = [f64; 2]> + Clone,
) -> impl Iterator<Item = T> {
    let real = factors.clone().flat_map(|[re, _]| [re, re]);
    real.chain(factors.flat_map(|[_, im]| [-im, im])).map(T::rounded)
}
