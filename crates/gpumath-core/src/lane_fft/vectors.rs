//! What the transforms need of the vectors of a processor, in both precisions.

use pulp::{Simd, WithSimd, bytemuck};
use rustfft::num_complex::Complex;

use super::order::{put_singles_together, put_together, take_apart, take_singles_apart};
use crate::memory::Pod;

/// A real type of which vectors have several.
pub(crate) trait Lane: Pod + Send + Sync + 'static {
    /// As many numbers as an instruction processes.
    type Vector<S: Simd>: bytemuck::Pod;

    /// Rounds a number to this type.
    fn rounded(value: f64) -> Self;

    /// Returns a vector of this number.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// Returns `a + b`.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a - b`.
    fn subtract<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a * b`.
    fn multiply<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a * b + c`, rounded once or twice.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// Splits complex numbers into their real and imaginary parts, in an order of its own.
    fn split<S: Simd>(simd: S, pairs: [Self::Vector<S>; 2]) -> [Self::Vector<S>; 2];

    /// Puts parts that [`Self::split`] made together again.
    fn join<S: Simd>(simd: S, parts: [Self::Vector<S>; 2]) -> [Self::Vector<S>; 2];

    /// Splits complex numbers into their real and imaginary parts, in the order of the numbers.
    fn split_in_order<S: Simd>(simd: S, pairs: [Self::Vector<S>; 2]) -> [Self::Vector<S>; 2];

    /// Puts parts in the order of their numbers together.
    fn join_in_order<S: Simd>(simd: S, parts: [Self::Vector<S>; 2]) -> [Self::Vector<S>; 2];
}

macro_rules! lane {
    (
        $real:ident,
        $vector:ident,
        [$splat:ident, $add:ident, $subtract:ident, $multiply:ident, $multiply_add:ident],
        [$split:ident, $join:ident],
        [$take_apart:ident, $put_together:ident]
    ) => {
        impl Lane for $real {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn rounded(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn subtract<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$subtract(a, b)
            }

            #[inline(always)]
            fn multiply<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$multiply(a, b)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$multiply_add(a, b, c)
            }

            #[inline(always)]
            fn split<S: Simd>(simd: S, pairs: [S::$vector; 2]) -> [S::$vector; 2] {
                simd.$split(pairs)
            }

            #[inline(always)]
            fn join<S: Simd>(simd: S, parts: [S::$vector; 2]) -> [S::$vector; 2] {
                simd.$join(parts)
            }

            #[inline(always)]
            fn split_in_order<S: Simd>(simd: S, pairs: [S::$vector; 2]) -> [S::$vector; 2] {
                simd.$split($take_apart(simd, pairs))
            }

            #[inline(always)]
            fn join_in_order<S: Simd>(simd: S, parts: [S::$vector; 2]) -> [S::$vector; 2] {
                $put_together(simd, simd.$join(parts))
            }
        }
    };
}

lane!(
    f32,
    f32s,
    [splat_f32s, add_f32s, sub_f32s, mul_f32s, mul_add_e_f32s],
    [deinterleave_shfl_f32s, interleave_shfl_f32s],
    [take_singles_apart, put_singles_together]
);
lane!(
    f64,
    f64s,
    [splat_f64s, add_f64s, sub_f64s, mul_f64s, mul_add_e_f64s],
    [deinterleave_shfl_f64s, interleave_shfl_f64s],
    [take_apart, put_together]
);

/// Returns the numbers of a vector.
#[inline(always)]
pub(super) fn lanes_of<T: Lane, S: Simd>() -> usize {
    size_of::<T::Vector<S>>() / size_of::<T>()
}

/// Counts the numbers of a vector.
pub(super) struct CountLanes<T>(pub(super) std::marker::PhantomData<T>);

impl<T: Lane> WithSimd for CountLanes<T> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        lanes_of::<T, S>()
    }
}

/// Complex numbers, one in each lane.
pub(crate) struct Complexes<T: Lane, S: Simd> {
    pub(crate) re: T::Vector<S>,
    pub(crate) im: T::Vector<S>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derives would ask for `T: Copy` and `S: Copy`")]
impl<T: Lane, S: Simd> Clone for Complexes<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Lane, S: Simd> Copy for Complexes<T, S> {}

impl<T: Lane, S: Simd> Complexes<T, S> {
    #[inline(always)]
    pub(crate) fn zero(simd: S) -> Self {
        let zero = T::splat(simd, T::rounded(0.0));
        Self { re: zero, im: zero }
    }

    /// Reads a number for each lane.
    #[inline(always)]
    pub(super) fn load(simd: S, numbers: &[Complex<T>]) -> Self {
        assert_eq!(size_of_val(numbers), size_of::<[T::Vector<S>; 2]>(), "a number for each lane");
        // SAFETY: the slice is as long as two vectors, as was just checked.
        let pair = unsafe { numbers.as_ptr().cast::<[T::Vector<S>; 2]>().read_unaligned() };
        let [re, im] = T::split(simd, pair);
        Self { re, im }
    }

    /// Writes the number of each lane.
    #[inline(always)]
    pub(super) fn store(self, simd: S, to: &mut [Complex<T>]) {
        assert_eq!(size_of_val(to), size_of::<[T::Vector<S>; 2]>(), "a number for each lane");
        let pair = T::join(simd, [self.re, self.im]);
        // SAFETY: the slice is as long as two vectors, as was just checked.
        unsafe { to.as_mut_ptr().cast::<[T::Vector<S>; 2]>().write_unaligned(pair) };
    }

    /// Reads a number for each lane. In an operand, real and imaginary parts are at such a distance
    /// or take turns; within the work memory, the former are before the latter.
    ///
    /// # Safety
    /// These numbers are readable.
    #[inline(always)]
    pub(super) unsafe fn read<const IS_OPERAND: bool>(
        simd: S,
        from: *const T,
        parts: Option<isize>,
    ) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe {
            if IS_OPERAND && let Some(distance) = parts {
                let [re, im] = [from, from.wrapping_offset(distance)];
                return Self { re: read(re), im: read(im) };
            }
            let pair = read(from);
            let [re, im] = if IS_OPERAND { T::split(simd, pair) } else { pair };
            Self { re, im }
        }
    }

    /// Writes the number of each lane, where [`Self::read`] would read it.
    ///
    /// # Safety
    /// These numbers are writable.
    #[inline(always)]
    pub(super) unsafe fn write<const IS_OPERAND: bool>(
        self,
        simd: S,
        to: *mut T,
        parts: Option<isize>,
    ) {
        let pair = [self.re, self.im];
        // SAFETY: the caller guarantees it.
        unsafe {
            if IS_OPERAND && let Some(distance) = parts {
                write(to, self.re);
                write(to.wrapping_offset(distance), self.im);
                return;
            }
            write(to, if IS_OPERAND { T::join(simd, pair) } else { pair });
        }
    }

    /// Reads numbers that follow each other in the order of the lanes.
    ///
    /// # Safety
    /// These numbers are readable.
    #[inline(always)]
    pub(super) unsafe fn read_in_order(simd: S, from: *const T) -> Self {
        // SAFETY: the caller guarantees it.
        let [re, im] = T::split_in_order(simd, unsafe { read(from) });
        Self { re, im }
    }

    /// Writes the numbers one after the other in the order of the lanes.
    ///
    /// # Safety
    /// These numbers are writable.
    #[inline(always)]
    pub(super) unsafe fn write_in_order(self, simd: S, to: *mut T) {
        // SAFETY: the caller guarantees it.
        unsafe { write(to, T::join_in_order(simd, [self.re, self.im])) };
    }

    /// Returns `self + other`.
    #[inline(always)]
    pub(crate) fn plus(self, simd: S, other: Self) -> Self {
        Self { re: T::add(simd, self.re, other.re), im: T::add(simd, self.im, other.im) }
    }

    /// Returns `self - other`.
    #[inline(always)]
    pub(crate) fn minus(self, simd: S, other: Self) -> Self {
        Self { re: T::subtract(simd, self.re, other.re), im: T::subtract(simd, self.im, other.im) }
    }

    /// Returns `self + i * other`.
    #[inline(always)]
    pub(crate) fn plus_i(self, simd: S, other: Self) -> Self {
        Self { re: T::subtract(simd, self.re, other.im), im: T::add(simd, self.im, other.re) }
    }

    /// Returns `self - i * other`.
    #[inline(always)]
    pub(crate) fn minus_i(self, simd: S, other: Self) -> Self {
        Self { re: T::add(simd, self.re, other.im), im: T::subtract(simd, self.im, other.re) }
    }

    /// Returns `self * factor + other`, for a real factor.
    #[inline(always)]
    pub(crate) fn times_plus(self, simd: S, factor: T::Vector<S>, other: Self) -> Self {
        Self {
            re: T::multiply_add(simd, self.re, factor, other.re),
            im: T::multiply_add(simd, self.im, factor, other.im),
        }
    }

    /// Multiplies by a real factor.
    #[inline(always)]
    pub(crate) fn scaled(self, simd: S, factor: T::Vector<S>) -> Self {
        Self { re: T::multiply(simd, self.re, factor), im: T::multiply(simd, self.im, factor) }
    }

    /// Multiplies by other complex numbers.
    #[inline(always)]
    pub(super) fn times(self, simd: S, other: Self) -> Self {
        let product = T::multiply(simd, self.im, other.im);
        Self {
            re: T::subtract(simd, T::multiply(simd, self.re, other.re), product),
            im: T::multiply_add(simd, self.re, other.im, T::multiply(simd, self.im, other.re)),
        }
    }

    /// Multiplies by a factor given as its real part, its imaginary part and the negated latter.
    #[inline(always)]
    pub(crate) fn turned(self, simd: S, [re, im, negated]: [T; 3]) -> Self {
        let (re, im) = (T::splat(simd, re), T::splat(simd, im));
        let negated = T::splat(simd, negated);
        Self {
            re: T::multiply_add(simd, self.im, negated, T::multiply(simd, self.re, re)),
            im: T::multiply_add(simd, self.re, im, T::multiply(simd, self.im, re)),
        }
    }
}

/// Returns a vector of each number.
#[inline(always)]
pub(super) fn splats<T: Lane, S: Simd>(simd: S, [a, b]: [T; 2]) -> [T::Vector<S>; 2] {
    [T::splat(simd, a), T::splat(simd, b)]
}

/// Reads vectors at any address of numbers.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(super) unsafe fn read<T, V: Copy>(from: *const T) -> V {
    // SAFETY: the caller guarantees it.
    unsafe { from.cast::<V>().read_unaligned() }
}

/// Writes vectors at any address of numbers.
///
/// # Safety
/// They are writable.
#[inline(always)]
pub(super) unsafe fn write<T, V: Copy>(to: *mut T, vectors: V) {
    // SAFETY: the caller guarantees it.
    unsafe { to.cast::<V>().write_unaligned(vectors) };
}
