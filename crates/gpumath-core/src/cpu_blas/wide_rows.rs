//! Products of a small matrix and a few wide rows, such as points in columns that are turned.

use pulp::{Arch, Simd, WithSimd};

use super::kernels::SHORT;
use super::number::Number;
use super::tile::Product;
use super::vector::load;

/// Bytes of a row from which on it is wide.
const WIDE: usize = 1 << 10;

impl<T: Number> Product<T> {
    /// Whether a few wide rows are computed from as few, which lie side by side.
    pub(super) fn has_wide_rows(&self) -> bool {
        let [rows, columns, depth] = self.shape;
        rows <= SHORT
            && (1..=SHORT).contains(&depth)
            && columns * size_of::<T>() >= WIDE
            && [self.b.steps[1], self.out.steps[1]] == [1, 1]
            && (T::IS_REAL || !self.b.is_conjugated)
            && self.alpha == T::ONE
            && self.beta.is_none()
    }

    /// Computes a product that [has wide rows](Self::has_wide_rows).
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_wide_rows(self, arch: Arch) {
        arch.dispatch(WideRows(self));
    }
}

struct WideRows<T>(Product<T>);

impl<T: Number> WithSimd for WideRows<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: the caller of `compute_wide_rows` guarantees the memory.
        unsafe {
            match self.0.shape[2] {
                1 => self.compute::<S, 1>(simd),
                2 => self.compute::<S, 2>(simd),
                3 => self.compute::<S, 3>(simd),
                _ => self.compute::<S, 4>(simd),
            }
        }
    }
}

impl<T: Number> WideRows<T> {
    /// Computes with `K` as the depth.
    ///
    /// # Safety
    /// As for [`Product::compute_wide_rows`].
    #[inline(always)]
    unsafe fn compute<S: Simd, const K: usize>(self, simd: S) {
        let [rows, columns, _] = self.0.shape;
        let width = size_of::<T::Vector<S>>() / size_of::<T>();
        let mut factors = [[T::ZERO; K]; SHORT];
        for (row, factors) in factors.iter_mut().enumerate().take(rows) {
            for (middle, factor) in factors.iter_mut().enumerate() {
                // SAFETY: the indices are below the extents.
                *factor = unsafe { self.0.a.get(row, middle) };
            }
        }
        // The last vector ends where the rows end: it may have elements of the one before.
        let last = columns - width;
        let mut place = 0;
        while place < columns {
            // SAFETY: the caller guarantees the memory.
            unsafe { self.compute_vectors::<S, K>(simd, &factors[..rows], place.min(last)) };
            place += if place == 0 { self.first_whole_vector(width) } else { width };
        }
    }

    /// Returns where the second vector begins, such that it and those after it are aligned: others
    /// take longer to store.
    #[inline(always)]
    fn first_whole_vector(&self, width: usize) -> usize {
        let size = width * size_of::<T>();
        width - self.0.out.first % size / size_of::<T>()
    }

    /// Computes a vector of each row.
    ///
    /// # Safety
    /// As for [`Self::compute`]; there are so many columns from `place` on.
    #[inline(always)]
    unsafe fn compute_vectors<S: Simd, const K: usize>(
        &self,
        simd: S,
        factors: &[[T; K]],
        place: usize,
    ) {
        let Product { b, out, .. } = self.0;
        // SAFETY: the caller guarantees the memory.
        unsafe {
            let mut vectors = [T::splat(simd, T::ZERO); K];
            for (middle, vector) in vectors.iter_mut().enumerate() {
                *vector = load::<T, S>(b.at(middle, place));
            }
            for (row, factors) in factors.iter().enumerate() {
                let mut sum = T::multiply(simd, T::splat(simd, factors[0]), vectors[0]);
                for (&factor, &vector) in factors.iter().zip(&vectors).skip(1) {
                    sum = T::multiply_add(simd, T::splat(simd, factor), vector, sum);
                }
                out.at::<T>(row, place).cast::<T::Vector<S>>().write_unaligned(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::super::matrix::Matrix;
    use super::super::tests::{instruction_sets, numbers};
    use super::*;

    fn check<T: Number + std::fmt::Debug>(arch: Arch, [rows, columns, depth]: [usize; 3]) {
        let (a, b) = (numbers::<T>(rows * depth, 1), numbers::<T>(depth * columns, 3));
        let mut found = numbers::<T>(rows * columns, 2);
        let matrix = |first: usize, width: usize| {
            let steps = [width as isize, 1];
            Matrix { first, steps, is_conjugated: false }
        };
        let product = Product {
            shape: [rows, columns, depth],
            alpha: T::ONE,
            a: matrix(a.as_ptr() as usize, depth).conjugated(),
            b: matrix(b.as_ptr() as usize, columns),
            beta: None,
            out: matrix(found.as_mut_ptr() as usize, columns),
        };
        assert!(product.has_wide_rows());
        // SAFETY: the vectors have so many elements.
        unsafe { product.compute_wide_rows(arch) };
        for (place, &found) in found.iter().enumerate() {
            let (row, column) = (place / columns, place % columns);
            let mut sum = T::ZERO;
            for middle in 0..depth {
                sum = sum + a[row * depth + middle].conjugate() * b[middle * columns + column];
            }
            assert_eq!(found, sum, "{:?} {arch:?}", [rows, columns, depth]);
        }
    }

    #[test]
    fn every_set_of_instructions_computes_wide_rows() {
        for arch in instruction_sets() {
            for (rows, depth) in (1..=4).flat_map(|rows| (1..=4).map(move |depth| (rows, depth))) {
                for columns in [256, 257, 263, 271, 300] {
                    check::<f32>(arch, [rows, columns, depth]);
                    check::<f64>(arch, [rows, columns, depth]);
                    check::<Complex<f32>>(arch, [rows, columns, depth]);
                    check::<Complex<f64>>(arch, [rows, columns, depth]);
                }
            }
        }
    }
}
