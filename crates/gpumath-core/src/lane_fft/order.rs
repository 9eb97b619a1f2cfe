//! The order of complex numbers in vectors, where it matters.
//!
//! Processors whose vectors have several pieces of 16 bytes split and join complex numbers piece by
//! piece, which leaves the pieces of two vectors of results in turns.

use pulp::Simd;

/// Puts the pieces of two vectors of joined double complex numbers together, in turns.
#[inline(always)]
pub(super) fn put_together<S: Simd>(simd: S, [a, b]: [S::f64s; 2]) -> [S::f64s; 2] {
    if size_of::<S::f64s>() <= size_of::<[f64; 2]>() {
        return [a, b];
    }
    // The function for four vectors ends with the one for two, which is its own inverse. Compilers
    // leave out both, and what is done to the vectors that do not matter.
    let [a, second, b, fourth] = simd.interleave_shfl_f64s([a, a, b, b]);
    [simd.interleave_shfl_f64s([a, second])[0], simd.interleave_shfl_f64s([b, fourth])[0]]
}

/// Takes the pieces of two vectors apart: those at even places come first. After that, they can be
/// split.
#[inline(always)]
pub(super) fn take_apart<S: Simd>(simd: S, [a, b]: [S::f64s; 2]) -> [S::f64s; 2] {
    if size_of::<S::f64s>() <= size_of::<[f64; 2]>() {
        return [a, b];
    }
    let [a, second] = simd.deinterleave_shfl_f64s([a, a]);
    let [b, fourth] = simd.deinterleave_shfl_f64s([b, b]);
    let [a, _, b, _] = simd.deinterleave_shfl_f64s([a, second, b, fourth]);
    [a, b]
}

/// Like [`put_together`], of single complex numbers.
#[inline(always)]
pub(super) fn put_singles_together<S: Simd>(simd: S, pair: [S::f32s; 2]) -> [S::f32s; 2] {
    as_doubles::<S>(
        pair,
        #[inline(always)]
        |pair| put_together(simd, simd.interleave_shfl_f64s(pair)),
    )
}

/// Like [`take_apart`], of single complex numbers.
#[inline(always)]
pub(super) fn take_singles_apart<S: Simd>(simd: S, pair: [S::f32s; 2]) -> [S::f32s; 2] {
    as_doubles::<S>(
        pair,
        #[inline(always)]
        |pair| simd.deinterleave_shfl_f64s(take_apart(simd, pair)),
    )
}

/// Changes vectors of which each complex number is handled as one number of its size.
#[inline(always)]
fn as_doubles<S: Simd>(
    pair: [S::f32s; 2],
    change: impl FnOnce([S::f64s; 2]) -> [S::f64s; 2],
) -> [S::f32s; 2] {
    if size_of::<S::f32s>() <= size_of::<[f32; 4]>() {
        return pair;
    }
    // SAFETY: vectors have one size for all types of numbers, of which any bytes are some.
    unsafe { std::mem::transmute_copy(&change(std::mem::transmute_copy(&pair))) }
}
