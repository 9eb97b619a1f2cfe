//! Products of many short rows and a small matrix, such as points that are turned.

use pulp::{Arch, Simd, WithSimd};

use super::kernels::SHORT;
use super::number::Number;
use super::tile::Product;

impl<T: Number> Product<T> {
    /// Whether the rows of the left factor and of the result are short and follow each other in
    /// memory.
    pub(super) fn has_short_rows(&self) -> bool {
        let [_, columns, depth] = self.shape;
        (1..=SHORT).contains(&columns)
            && (1..=SHORT).contains(&depth)
            && self.a.steps == [depth as isize, 1]
            && self.out.steps == [columns as isize, 1]
            && T::IS_REAL
            && self.alpha == T::ONE
            && self.beta.is_none()
    }

    /// Computes a product that [has short rows](Self::has_short_rows).
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_short_rows(self, arch: Arch) {
        let [rows, columns, depth] = self.shape;
        let mut b = [[T::ZERO; SHORT]; SHORT];
        for (middle, b) in b.iter_mut().enumerate().take(depth) {
            for (column, b) in b.iter_mut().enumerate().take(columns) {
                // SAFETY: the indices are below the extents.
                *b = unsafe { self.b.get(middle, column) };
            }
        }
        // SAFETY: the rows follow each other, and the caller guarantees the memory.
        unsafe {
            let a = std::slice::from_raw_parts(self.a.at::<T>(0, 0), rows * depth);
            let out = std::slice::from_raw_parts_mut(self.out.at::<T>(0, 0), rows * columns);
            arch.dispatch(ShortRows { shape: [columns, depth], a, b, out });
        }
    }
}

struct ShortRows<'a, T> {
    /// Columns and depth.
    shape: [usize; 2],
    a: &'a [T],
    b: [[T; SHORT]; SHORT],
    out: &'a mut [T],
}

impl<T: Number> WithSimd for ShortRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.shape[1] {
            1 => self.compute_depth::<1>(),
            2 => self.compute_depth::<2>(),
            3 => self.compute_depth::<3>(),
            _ => self.compute_depth::<4>(),
        }
    }
}

impl<T: Number> ShortRows<'_, T> {
    #[inline(always)]
    fn compute_depth<const K: usize>(self) {
        match self.shape[0] {
            1 => self.compute::<K, 1>(),
            2 => self.compute::<K, 2>(),
            3 => self.compute::<K, 3>(),
            _ => self.compute::<K, 4>(),
        }
    }

    /// Computes with `K` as the depth and `N` columns. The compiler makes instructions for vectors
    /// of this loop, because the extents are constants.
    #[inline(always)]
    fn compute<const K: usize, const N: usize>(self) {
        let mut b = [[T::ZERO; N]; K];
        for (b, from) in b.iter_mut().zip(self.b) {
            b.copy_from_slice(&from[..N]);
        }
        for (out, a) in self.out.chunks_exact_mut(N).zip(self.a.chunks_exact(K)) {
            for column in 0..N {
                let mut sum = a[0] * b[0][column];
                for middle in 1..K {
                    sum = sum + a[middle] * b[middle][column];
                }
                out[column] = sum;
            }
        }
    }
}
