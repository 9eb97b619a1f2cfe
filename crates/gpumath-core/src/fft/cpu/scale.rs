//! Scaling of elements that a pass has just written.

use std::ops::Mul;

use rustfft::num_complex::Complex;

use crate::memory::Pod;

/// Types made of one or two reals of type `T`.
///
/// # Safety
/// The type is these reals side by side, without padding.
pub(crate) unsafe trait RealParts<T>: Pod {}

// SAFETY: the type is one real.
unsafe impl RealParts<Self> for f32 {}
// SAFETY: the type is one real.
unsafe impl RealParts<Self> for f64 {}
// SAFETY: a complex number is two reals side by side, without padding.
unsafe impl<T: Pod> RealParts<T> for Complex<T> {}

/// Multiplies the elements of a slice by the factor.
pub(super) fn scale_slice<E: RealParts<T>, T: Pod + Mul<Output = T>>(
    elements: &mut [E],
    factor: T,
) {
    let len = size_of_val(elements) / size_of::<T>();
    // SAFETY: the elements are `len` reals of type `T`, and borrowed mutably as long as `reals`.
    let reals = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len) };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was checked above.
        unsafe { multiply_avx2(reals, factor) };
        return;
    }
    multiply(reals, factor);
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that the caller's instruction set counts")]
fn multiply<T: Copy + Mul<Output = T>>(reals: &mut [T], factor: T) {
    for real in reals {
        *real = *real * factor;
    }
}

/// Like [`multiply`], compiled for processors with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn multiply_avx2<T: Copy + Mul<Output = T>>(reals: &mut [T], factor: T) {
    multiply(reals, factor);
}
