//! Complex numbers whose parts follow each other in a vector, as in memory, and what they and
//! [`Complexes`] can do.

use pulp::bytemuck::{Pod, try_cast};
use pulp::{Simd, c32, c64};
use rustfft::num_complex::Complex;

use super::transposition::{transpose_double, transpose_single};
use super::vectors::{Complexes, Lane};

/// Returns a vector of another type with the same bits. Only processors without vectors have types
/// of different sizes, whose values are never used.
#[inline(always)]
fn same_bits<A: Pod, B: Pod>(vector: A) -> B {
    try_cast(vector).unwrap_or_else(|_| B::zeroed())
}

/// Returns a vector of pairs of these numbers.
#[inline(always)]
pub(super) fn splat_pair<T: Lane, S: Simd>(simd: S, pair: [T; 2]) -> T::Vector<S> {
    let pair = pair.as_ptr();
    // SAFETY: of the two types of numbers, this is the one that has the size.
    unsafe {
        if size_of::<T>() == size_of::<f32>() {
            same_bits(simd.splat_c32s(pair.cast::<c32>().read()))
        } else {
            same_bits(simd.splat_c64s(pair.cast::<c64>().read()))
        }
    }
}

/// Swaps the numbers of each pair.
#[inline(always)]
fn swap<T: Lane, S: Simd>(simd: S, pairs: T::Vector<S>) -> T::Vector<S> {
    if size_of::<T>() == size_of::<f32>() {
        same_bits(simd.swap_re_im_c32s(same_bits(pairs)))
    } else {
        same_bits(simd.swap_re_im_c64s(same_bits(pairs)))
    }
}

/// Turns the order of complex numbers round. Compilers make one instruction of it.
#[inline(always)]
pub(super) fn reverse<T: Lane, S: Simd>(pairs: T::Vector<S>) -> T::Vector<S> {
    if size_of::<T>() == size_of::<f32>() {
        reverse_numbers::<u64, _>(pairs)
    } else {
        reverse_numbers::<[u64; 2], _>(pairs)
    }
}

#[inline(always)]
fn reverse_numbers<N: Pod, V: Pod>(vector: V) -> V {
    match size_of::<V>() / size_of::<N>() {
        8 => reverse_array::<N, 8, V>(vector),
        4 => reverse_array::<N, 4, V>(vector),
        2 => reverse_array::<N, 2, V>(vector),
        _ => vector,
    }
}

#[inline(always)]
fn reverse_array<N: Pod, const COUNT: usize, V: Pod>(vector: V) -> V
where
    [N; COUNT]: Pod,
{
    let mut numbers: [N; COUNT] = same_bits(vector);
    numbers.reverse();
    same_bits(numbers)
}

/// Transposes a matrix of complex numbers that has eight rows, each a vector. The result has the
/// columns one after the other.
#[inline(always)]
pub(super) fn transpose<T: Lane, S: Simd>(simd: S, rows: [T::Vector<S>; 8]) -> [T::Vector<S>; 8] {
    let rows = rows.map(same_bits);
    let columns = if size_of::<T>() == size_of::<f32>() {
        transpose_single(simd, rows)
    } else {
        transpose_double(simd, rows)
    };
    columns.map(same_bits)
}

/// Complex numbers in the lanes of vectors, in one form or another.
pub(super) trait Numbers<T: Lane>: Copy {
    /// The instructions, and what else the operations need.
    type Simd: Copy;

    /// Returns `self + other`.
    fn plus(self, simd: Self::Simd, other: Self) -> Self;

    /// Returns `self - other`.
    fn minus(self, simd: Self::Simd, other: Self) -> Self;

    /// Returns `self + i * other`.
    fn plus_i(self, simd: Self::Simd, other: Self) -> Self;

    /// Returns `self - i * other`.
    fn minus_i(self, simd: Self::Simd, other: Self) -> Self;

    /// Returns `self * factor + other`, for a real factor.
    fn times_plus(self, simd: Self::Simd, factor: T, other: Self) -> Self;

    /// Multiplies by a real factor.
    fn scaled(self, simd: Self::Simd, factor: T) -> Self;

    /// Multiplies by `cos - i * sin`.
    fn rotated(self, simd: Self::Simd, cos: T, sin: T) -> Self;
}

impl<T: Lane, S: Simd> Numbers<T> for Complexes<T, S> {
    type Simd = S;

    #[inline(always)]
    fn plus(self, simd: S, other: Self) -> Self {
        self.plus(simd, other)
    }

    #[inline(always)]
    fn minus(self, simd: S, other: Self) -> Self {
        self.minus(simd, other)
    }

    #[inline(always)]
    fn plus_i(self, simd: S, other: Self) -> Self {
        self.plus_i(simd, other)
    }

    #[inline(always)]
    fn minus_i(self, simd: S, other: Self) -> Self {
        self.minus_i(simd, other)
    }

    #[inline(always)]
    fn times_plus(self, simd: S, factor: T, other: Self) -> Self {
        self.times_plus(simd, T::splat(simd, factor), other)
    }

    #[inline(always)]
    fn scaled(self, simd: S, factor: T) -> Self {
        self.scaled(simd, T::splat(simd, factor))
    }

    #[inline(always)]
    fn rotated(self, simd: S, cos: T, sin: T) -> Self {
        let [re, im] = [cos, sin].map(|factor| Numbers::scaled(self, simd, factor));
        re.minus_i(simd, im)
    }
}

/// Complex numbers whose parts follow each other in a vector, as in memory.
pub(super) struct Pairs<T: Lane, S: Simd>(pub(super) T::Vector<S>);

#[expect(clippy::expl_impl_clone_on_copy, reason = "derives would ask for `T: Copy` and `S: Copy`")]
impl<T: Lane, S: Simd> Clone for Pairs<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Lane, S: Simd> Copy for Pairs<T, S> {}

/// The instructions, and what pairs with swapped parts are multiplied by instead of by `i` and by
/// `-i`; or the other way round, which makes a transform its inverse.
pub(super) struct PairSimd<T: Lane, S: Simd> {
    pub(super) simd: S,
    plus_i: T::Vector<S>,
    minus_i: T::Vector<S>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derives would ask for `T: Copy` and `S: Copy`")]
impl<T: Lane, S: Simd> Clone for PairSimd<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Lane, S: Simd> Copy for PairSimd<T, S> {}

impl<T: Lane, S: Simd> PairSimd<T, S> {
    #[inline(always)]
    pub(super) fn new(simd: S, is_inverse: bool) -> Self {
        let one = if is_inverse { -1.0 } else { 1.0 };
        let [one, negated] = [one, -one].map(T::rounded);
        let plus_i = splat_pair::<T, S>(simd, [negated, one]);
        let minus_i = splat_pair::<T, S>(simd, [one, negated]);
        Self { simd, plus_i, minus_i }
    }
}

impl<T: Lane, S: Simd> Pairs<T, S> {
    /// Reads a number for each lane.
    #[inline(always)]
    pub(super) fn load(numbers: &[Complex<T>]) -> Self {
        assert_eq!(size_of_val(numbers), size_of::<T::Vector<S>>(), "a number for each lane");
        // SAFETY: the slice is as long as the vector, as was just checked.
        Self(unsafe { numbers.as_ptr().cast::<T::Vector<S>>().read_unaligned() })
    }

    /// Reads the parts of a number for each lane.
    #[inline(always)]
    pub(super) fn load_parts(parts: &[T]) -> Self {
        assert_eq!(size_of_val(parts), size_of::<T::Vector<S>>(), "two parts for each lane");
        // SAFETY: the slice is as long as the vector, as was just checked.
        Self(unsafe { parts.as_ptr().cast::<T::Vector<S>>().read_unaligned() })
    }

    /// Writes the number of each lane.
    #[inline(always)]
    pub(super) fn store(self, to: &mut [Complex<T>]) {
        assert_eq!(size_of_val(to), size_of::<T::Vector<S>>(), "a number for each lane");
        // SAFETY: the slice is as long as the vector, as was just checked.
        unsafe { to.as_mut_ptr().cast::<T::Vector<S>>().write_unaligned(self.0) };
    }

    /// Multiplies by complex numbers, given as their real parts, each twice, and their imaginary
    /// parts, each negated and as it is.
    #[inline(always)]
    pub(super) fn times(self, simd: S, [re, im]: [T::Vector<S>; 2]) -> Self {
        Self(T::multiply_add(simd, swap::<T, S>(simd, self.0), im, T::multiply(simd, self.0, re)))
    }
}

impl<T: Lane, S: Simd> Numbers<T> for Pairs<T, S> {
    type Simd = PairSimd<T, S>;

    #[inline(always)]
    fn plus(self, on: PairSimd<T, S>, other: Self) -> Self {
        Self(T::add(on.simd, self.0, other.0))
    }

    #[inline(always)]
    fn minus(self, on: PairSimd<T, S>, other: Self) -> Self {
        Self(T::subtract(on.simd, self.0, other.0))
    }

    #[inline(always)]
    fn plus_i(self, on: PairSimd<T, S>, other: Self) -> Self {
        Self(T::multiply_add(on.simd, swap::<T, S>(on.simd, other.0), on.plus_i, self.0))
    }

    #[inline(always)]
    fn minus_i(self, on: PairSimd<T, S>, other: Self) -> Self {
        Self(T::multiply_add(on.simd, swap::<T, S>(on.simd, other.0), on.minus_i, self.0))
    }

    #[inline(always)]
    fn times_plus(self, on: PairSimd<T, S>, factor: T, other: Self) -> Self {
        Self(T::multiply_add(on.simd, self.0, T::splat(on.simd, factor), other.0))
    }

    #[inline(always)]
    fn scaled(self, on: PairSimd<T, S>, factor: T) -> Self {
        Self(T::multiply(on.simd, self.0, T::splat(on.simd, factor)))
    }

    #[inline(always)]
    fn rotated(self, on: PairSimd<T, S>, cos: T, sin: T) -> Self {
        let sin = T::multiply(on.simd, on.minus_i, T::splat(on.simd, sin));
        self.times(on.simd, [T::splat(on.simd, cos), sin])
    }
}
