//! The numbers that the CPU multiplies.

use std::ops::{Add, Mul};

use pulp::{MemMask, Simd};
use rustfft::num_complex::Complex;

use crate::memory::Pod;

/// Whether parts of vectors are read and written as fast as whole ones: by AVX-512.
#[inline(always)]
pub(super) const fn has_fast_masks<S: Simd>() -> bool {
    size_of::<S::f32s>() == 64
}

/// Whether there are 16 registers for vectors, not 32: too few for the sums of large tiles.
#[inline(always)]
pub(super) const fn has_few_registers<S: Simd>() -> bool {
    S::REGISTER_COUNT < 32
}

/// A real or complex number that the `gemm` crate knows.
pub(crate) trait Number:
    Pod + Send + Sync + PartialEq + Add<Output = Self> + Mul<Output = Self> + 'static
{
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// Whether it has no imaginary part.
    const IS_REAL: bool;

    /// As many numbers as an instruction processes.
    type Vector<S: Simd>: Copy;

    /// Which numbers of a vector are read or written.
    type Mask<S: Simd>: Copy;

    /// Converts from a real and an imaginary part; a real number has no place for the latter.
    fn from_parts(parts: [f64; 2]) -> Self;

    /// Returns the real and the imaginary part.
    fn parts(self) -> [f64; 2];

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// Returns the complex conjugate.
    #[must_use]
    fn conjugate(self) -> Self;

    /// Returns the number without its imaginary part.
    #[must_use]
    fn real_part(self) -> Self;

    /// Returns a vector of this number.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// Returns the mask of a vector's first numbers, at most all of them.
    fn mask<S: Simd>(simd: S, count: usize) -> Self::Mask<S>;

    /// Reads the numbers of a mask, with zeros for the others.
    ///
    /// # Safety
    /// They are in memory that can be read.
    unsafe fn load_masked<S: Simd>(
        simd: S,
        from: *const Self,
        mask: Self::Mask<S>,
    ) -> Self::Vector<S>;

    /// Writes the numbers of a mask.
    ///
    /// # Safety
    /// They have their places in memory that can be written.
    unsafe fn store_masked<S: Simd>(
        simd: S,
        to: *mut Self,
        mask: Self::Mask<S>,
        vector: Self::Vector<S>,
    );

    /// Returns `a * b`.
    fn multiply<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a * b + c`, rounded once or twice.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// Returns the sum of two vectors.
    fn add_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns the sum of a vector's numbers.
    fn sum<S: Simd>(simd: S, vector: Self::Vector<S>) -> Self;
}

macro_rules! vectors {
    (
        $vector:ident,
        $mask:ident,
        $parts:expr,
        $splat:ident,
        $mask_between:ident,
        $load:ident,
        $store:ident,
        $multiply:ident,
        $multiply_add:ident,
        $add:ident,
        $sum:ident
    ) => {
        type Vector<S: Simd> = S::$vector;
        type Mask<S: Simd> = MemMask<S::$mask>;

        #[inline(always)]
        fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
            simd.$splat(value)
        }

        #[inline(always)]
        fn mask<S: Simd>(simd: S, count: usize) -> MemMask<S::$mask> {
            let mask = simd.$mask_between(0, ($parts * count) as _);
            // With the mask alone, AVX-512's instructions take it. Those before AVX-512 take long,
            // and `pulp` has functions that are called instead.
            if has_fast_masks::<S>() { MemMask::new(mask.mask()) } else { mask }
        }

        #[inline(always)]
        unsafe fn load_masked<S: Simd>(
            simd: S,
            from: *const Self,
            mask: MemMask<S::$mask>,
        ) -> S::$vector {
            // SAFETY: the caller guarantees the memory.
            unsafe { simd.$load(mask, from) }
        }

        #[inline(always)]
        unsafe fn store_masked<S: Simd>(
            simd: S,
            to: *mut Self,
            mask: MemMask<S::$mask>,
            vector: S::$vector,
        ) {
            // SAFETY: the caller guarantees the memory.
            unsafe { simd.$store(mask, to, vector) };
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
        fn add_vectors<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
            simd.$add(a, b)
        }

        #[inline(always)]
        fn sum<S: Simd>(simd: S, vector: S::$vector) -> Self {
            simd.$sum(vector)
        }
    };
}

macro_rules! numbers {
    ($real:ident, $real_vectors:tt, $complex_vectors:tt) => {
        impl Number for $real {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const IS_REAL: bool = true;

            vectors! $real_vectors;

            fn from_parts(parts: [f64; 2]) -> Self {
                parts[0] as Self
            }

            fn parts(self) -> [f64; 2] {
                [f64::from(self), 0.0]
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$real>::is_finite(self)
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }

            #[inline(always)]
            fn real_part(self) -> Self {
                self
            }
        }

        impl Number for Complex<$real> {
            const ZERO: Self = Self::new(0.0, 0.0);
            const ONE: Self = Self::new(1.0, 0.0);
            const IS_REAL: bool = false;

            vectors! $complex_vectors;

            fn from_parts(parts: [f64; 2]) -> Self {
                Self::new(parts[0] as $real, parts[1] as $real)
            }

            fn parts(self) -> [f64; 2] {
                [f64::from(self.re), f64::from(self.im)]
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.re.is_finite() & self.im.is_finite()
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self.conj()
            }

            #[inline(always)]
            fn real_part(self) -> Self {
                Self::new(self.re, 0.0)
            }
        }
    };
}

numbers!(
    f32,
    (
        f32s,
        m32s,
        1,
        splat_f32s,
        mask_between_m32s,
        mask_load_ptr_f32s,
        mask_store_ptr_f32s,
        mul_f32s,
        mul_add_e_f32s,
        add_f32s,
        reduce_sum_f32s
    ),
    (
        c32s,
        m32s,
        2,
        splat_c32s,
        mask_between_m32s,
        mask_load_ptr_c32s,
        mask_store_ptr_c32s,
        mul_c32s,
        mul_add_e_c32s,
        add_c32s,
        reduce_sum_c32s
    )
);
numbers!(
    f64,
    (
        f64s,
        m64s,
        1,
        splat_f64s,
        mask_between_m64s,
        mask_load_ptr_f64s,
        mask_store_ptr_f64s,
        mul_f64s,
        mul_add_e_f64s,
        add_f64s,
        reduce_sum_f64s
    ),
    (
        c64s,
        m64s,
        2,
        splat_c64s,
        mask_between_m64s,
        mask_load_ptr_c64s,
        mask_store_ptr_c64s,
        mul_c64s,
        mul_add_e_c64s,
        add_c64s,
        reduce_sum_c64s
    )
);
