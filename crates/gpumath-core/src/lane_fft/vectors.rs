//! What the transforms need of the vectors of a processor, in both precisions.

use pulp::{Simd, WithSimd};
use rustfft::num_complex::Complex;

use crate::memory::Pod;

/// A real type of which vectors have several.
pub(crate) trait Lane: Pod + Send + Sync + 'static {
    /// As many numbers as an instruction processes.
    type Vector<S: Simd>: Copy;

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
}

macro_rules! lane {
    (
        $real:ident,
        $vector:ident,
        [$splat:ident, $add:ident, $subtract:ident, $multiply:ident, $multiply_add:ident],
        [$split:ident, $join:ident]
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
        }
    };
}

lane!(
    f32,
    f32s,
    [splat_f32s, add_f32s, sub_f32s, mul_f32s, mul_add_e_f32s],
    [deinterleave_shfl_f32s, interleave_shfl_f32s]
);
lane!(
    f64,
    f64s,
    [splat_f64s, add_f64s, sub_f64s, mul_f64s, mul_add_e_f64s],
    [deinterleave_shfl_f64s, interleave_shfl_f64s]
);

/// Counts the numbers of a vector.
pub(super) struct CountLanes<T>(pub(super) std::marker::PhantomData<T>);

impl<T: Lane> WithSimd for CountLanes<T> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        size_of::<T::Vector<S>>() / size_of::<T>()
    }
}

/// Complex numbers, one in each lane.
pub(super) struct Complexes<T: Lane, S: Simd> {
    pub(super) re: T::Vector<S>,
    pub(super) im: T::Vector<S>,
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
    pub(super) fn zero(simd: S) -> Self {
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

    /// Returns `self + other`.
    #[inline(always)]
    pub(super) fn plus(self, simd: S, other: Self) -> Self {
        Self { re: T::add(simd, self.re, other.re), im: T::add(simd, self.im, other.im) }
    }

    /// Returns `self - other`.
    #[inline(always)]
    pub(super) fn minus(self, simd: S, other: Self) -> Self {
        Self { re: T::subtract(simd, self.re, other.re), im: T::subtract(simd, self.im, other.im) }
    }

    /// Returns `self + i * other`.
    #[inline(always)]
    pub(super) fn plus_i(self, simd: S, other: Self) -> Self {
        Self { re: T::subtract(simd, self.re, other.im), im: T::add(simd, self.im, other.re) }
    }

    /// Returns `self - i * other`.
    #[inline(always)]
    pub(super) fn minus_i(self, simd: S, other: Self) -> Self {
        Self { re: T::add(simd, self.re, other.im), im: T::subtract(simd, self.im, other.re) }
    }

    /// Returns `self * factor + other`, for a real factor.
    #[inline(always)]
    pub(super) fn times_plus(self, simd: S, factor: T::Vector<S>, other: Self) -> Self {
        Self {
            re: T::multiply_add(simd, self.re, factor, other.re),
            im: T::multiply_add(simd, self.im, factor, other.im),
        }
    }

    /// Multiplies by a real factor.
    #[inline(always)]
    pub(super) fn scaled(self, simd: S, factor: T::Vector<S>) -> Self {
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
    pub(super) fn turned(self, simd: S, [re, im, negated]: [T; 3]) -> Self {
        let (re, im) = (T::splat(simd, re), T::splat(simd, im));
        let negated = T::splat(simd, negated);
        Self {
            re: T::multiply_add(simd, self.im, negated, T::multiply(simd, self.re, re)),
            im: T::multiply_add(simd, self.re, im, T::multiply(simd, self.im, re)),
        }
    }
}
