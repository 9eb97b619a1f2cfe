//! Scaling of a result: in a pass of its own, for libraries that cannot scale while they transform,
//! and of a slice that a pass of the embedded engine has just written.

use std::num::NonZeroUsize;
use std::ops::Mul;

use rustfft::num_complex::Complex;

use crate::error::Result;
use crate::memory::Pod;
use crate::parallel::{SyncPtr, parallel_for};
use crate::tensor::{BatchDims, DType, Layout};

/// Elements that one thread multiplies at a time.
const CHUNK: usize = 1 << 14;

/// Multiplies every element of a layout by the factor.
///
/// # Safety
/// - `address` is that of element (0, …, 0) in memory of this layout and type.
/// - No two indices share an element.
/// - No other thread uses the memory during the call.
pub(super) unsafe fn scale(
    address: usize,
    dtype: DType,
    layout: &Layout,
    factor: f64,
    threads: NonZeroUsize,
) -> Result<()> {
    // SAFETY: the caller guarantees the same, and the types are those of `dtype`.
    unsafe {
        match dtype {
            DType::Float32 => scale_all::<f32, _>(address, layout, factor as f32, threads),
            DType::Float64 => scale_all::<f64, _>(address, layout, factor, threads),
            DType::Complex64 => {
                scale_all::<Complex<f32>, _>(address, layout, factor as f32, threads)
            }
            DType::Complex128 => scale_all::<Complex<f64>, _>(address, layout, factor, threads),
            _ => Err(super::half_precision_error()),
        }
    }
}

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

/// Like [`scale`], for elements of type `E`.
///
/// # Safety
/// As for [`scale`].
unsafe fn scale_all<E, T>(
    address: usize,
    layout: &Layout,
    factor: T,
    threads: NonZeroUsize,
) -> Result<()>
where
    E: RealParts<T> + Mul<T, Output = E>,
    T: Pod + Mul<Output = T> + Sync,
{
    let mut lines = BatchDims::outside(&[], [layout]);
    let fastest = lines.pop_fastest();
    let (extent, stride) = (fastest.extent as usize, fastest.strides[0] as isize);
    let chunks = extent.div_ceil(CHUNK);
    let first = SyncPtr::new(std::ptr::with_exposed_provenance_mut::<E>(address));
    parallel_for(threads, lines.count() * chunks, |numbers| {
        for number in numbers {
            let start = number % chunks * CHUNK;
            let [offset] = lines.offsets(number / chunks);
            let count = CHUNK.min(extent - start);
            // SAFETY: the caller guarantees that elements of the layout are valid and distinct, and
            // no other thread has this chunk.
            unsafe {
                let first = first.get().offset(offset as isize + start as isize * stride);
                if stride == 1 {
                    scale_slice(std::slice::from_raw_parts_mut(first, count), factor);
                } else {
                    for index in 0..count as isize {
                        let element = first.offset(index * stride);
                        *element = *element * factor;
                    }
                }
            }
        }
        Ok(())
    })
}
