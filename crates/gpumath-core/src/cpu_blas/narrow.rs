//! Products with few rows or few columns, whose sums are long: every element of the result is a
//! dot product of a row of the left factor and a column of the right one.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::kernels::{FEW, SHORT};
use super::matrix::Matrix;
use super::number::Number;
use super::room::with_large_room;
use super::tile::{Product, store};
use super::vector::load_part;

/// Rows and columns whose sums are computed at a time.
const GROUP: usize = 4;

/// Bytes of a right factor that are copied at a time, the depth of that at least, and bytes between
/// its columns, without which they would lie in the same places of a cache.
const COPIED: usize = 68 << 10;
const DEPTH: usize = 2048;
const GAP: usize = 64;

/// Bytes that are copied at a time where a few columns are, because they stay nearest to the
/// processor.
const NEAREST: usize = 24 << 10;

impl<T: Number> Product<T> {
    /// Computes by dot products. Rows of the left factor and columns of the right one whose
    /// elements do not lie side by side are copied; the former only if the latter are.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_by_dots(self, arch: Arch) {
        let is_conjugated = !T::IS_REAL && self.a.is_conjugated;
        let right = if is_conjugated { self.b.conjugated() } else { self.b };
        if right.steps[0] == 1 && (T::IS_REAL || !right.is_conjugated) {
            arch.dispatch(Dots { product: Self { b: right, ..self }, is_conjugated });
            return;
        }
        with_large_room::<T>(COPIED, |room| {
            // SAFETY: the caller guarantees the same.
            unsafe { self.compute_dots_of_copies(arch, right, is_conjugated, room) };
        });
    }

    /// Computes with copies of the right factor's columns, and perhaps of the left one's rows.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    unsafe fn compute_dots_of_copies(
        self,
        arch: Arch,
        right: Matrix,
        is_conjugated: bool,
        room: &mut [MaybeUninit<T>],
    ) {
        let [rows, columns, depth] = self.shape;
        let gap = GAP / size_of::<T>();
        let (copied_rows, width) = match self.a.steps[1] {
            1 => (0, room.len() / (DEPTH + gap)),
            _ => (rows, FEW),
        };
        let width = width.clamp(1, columns);
        let room_of_few = if width <= SHORT { NEAREST / size_of::<T>() } else { room.len() };
        let step = room.len().min(room_of_few) / (copied_rows + width);
        let step = step.min(depth.max(1) + gap);
        let most = step - gap;
        let room = room.as_mut_ptr();
        let copy = |line: usize, steps: [isize; 2]| {
            let first = room.wrapping_add(line * step) as usize;
            Matrix { first, steps, is_conjugated: false }
        };
        let copied_left = copy(0, [step as isize, 1]);
        let copied_right = copy(copied_rows, [1, step as isize]);
        let mut beta = self.beta;
        for first in (0..depth).step_by(most) {
            let depth = most.min(depth - first);
            let mut a = self.a.from::<T>(0, first);
            if copied_rows > 0 {
                let plain = Matrix { is_conjugated: false, ..a };
                // SAFETY: the caller guarantees the extents, and the copy has so much room.
                unsafe { plain.copy_to::<T>(copied_left, rows, depth) };
                a = copied_left;
            }
            for left in (0..columns).step_by(width) {
                let columns = width.min(columns - left);
                let out = self.out.from::<T>(0, left);
                // SAFETY: likewise.
                unsafe { right.from::<T>(first, left).copy_to::<T>(copied_right, depth, columns) };
                let shape = [rows, columns, depth];
                let product = Self { shape, a, b: copied_right, beta, out, ..self };
                arch.dispatch(Dots { product, is_conjugated });
            }
            beta = Some(T::ONE);
        }
    }
}

/// Rows of `a` times columns of `b`, all of whose elements lie side by side.
struct Dots<T> {
    product: Product<T>,
    /// Whether the sums are to be conjugated.
    is_conjugated: bool,
}

impl<T: Number> WithSimd for Dots<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [rows, columns, _] = self.product.shape;
        // SAFETY: so many rows and columns are left, and the caller of `compute_by_dots` vouches
        // for the memory.
        unsafe {
            let mut top = 0;
            while top + GROUP <= rows {
                self.compute_rows::<S, GROUP>(simd, top, columns);
                top += GROUP;
            }
            while top < rows {
                self.compute_rows::<S, 1>(simd, top, columns);
                top += 1;
            }
        }
    }
}

impl<T: Number> Dots<T> {
    /// Computes `M` rows of the result.
    ///
    /// # Safety
    /// The result has so many, and the matrices are in valid memory.
    #[inline(always)]
    unsafe fn compute_rows<S: Simd, const M: usize>(&self, simd: S, top: usize, columns: usize) {
        let mut left = 0;
        // SAFETY: the caller guarantees the extents.
        unsafe {
            while left + 4 <= columns {
                self.compute::<S, M, 4>(simd, top, left);
                left += 4;
            }
            match columns - left {
                1 => self.compute::<S, M, 1>(simd, top, left),
                2 => self.compute::<S, M, 2>(simd, top, left),
                3 => self.compute::<S, M, 3>(simd, top, left),
                _ => {}
            }
        }
    }

    /// Computes `M` by `N` elements of the result.
    ///
    /// # Safety
    /// As for [`Self::compute_rows`].
    #[inline(always)]
    unsafe fn compute<S: Simd, const M: usize, const N: usize>(
        &self,
        simd: S,
        top: usize,
        left: usize,
    ) {
        let Product { shape: [_, _, depth], alpha, a, b, beta, out } = self.product;
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let mut rows = [std::ptr::null::<T>(); M];
        let mut columns = [std::ptr::null::<T>(); N];
        for (row, pointer) in rows.iter_mut().enumerate() {
            *pointer = a.at::<T>(top + row, 0);
        }
        for (column, pointer) in columns.iter_mut().enumerate() {
            *pointer = b.at::<T>(0, left + column);
        }
        let mut sums = [[T::splat(simd, T::ZERO); N]; M];
        let mut at = 0;
        // SAFETY: rows and columns have so many elements.
        unsafe {
            while at + lanes <= depth {
                add_products::<T, S, M, N>(simd, &mut sums, &rows, &columns, at, None);
                at += lanes;
            }
            if at < depth {
                let mask = T::mask(simd, depth - at);
                add_products::<T, S, M, N>(simd, &mut sums, &rows, &columns, at, Some(mask));
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (column, sum) in sums.into_iter().enumerate() {
                let sum = T::sum(simd, sum);
                let sum = if self.is_conjugated { sum.conjugate() } else { sum };
                // SAFETY: the caller guarantees the extents.
                unsafe { store(out.at(top + row, left + column), alpha, sum, beta) };
            }
        }
    }
}

/// Adds the products of a vector of elements of rows and of columns, from the ones at `at` on, or
/// of those of a mask.
///
/// # Safety
/// Rows and columns have the elements.
#[inline(always)]
unsafe fn add_products<T: Number, S: Simd, const M: usize, const N: usize>(
    simd: S,
    sums: &mut [[T::Vector<S>; N]; M],
    rows: &[*const T; M],
    columns: &[*const T; N],
    at: usize,
    mask: Option<T::Mask<S>>,
) {
    let mut right = [T::splat(simd, T::ZERO); N];
    // SAFETY: the caller guarantees the elements.
    unsafe {
        for (right, column) in right.iter_mut().zip(columns) {
            *right = load_part(simd, column.wrapping_add(at), mask);
        }
        for (sums, row) in sums.iter_mut().zip(rows) {
            let left = load_part::<T, S>(simd, row.wrapping_add(at), mask);
            for (sum, &right) in sums.iter_mut().zip(&right) {
                *sum = T::multiply_add(simd, left, right, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::room::LEAST;
    use super::super::tests::numbers;
    use super::*;

    /// Computes with so much room, from small integers, whose products are exact.
    fn product_in<T: Number>(room: usize, shape: [usize; 3]) -> Vec<T> {
        let [rows, columns, depth] = shape;
        let (a, b) = (numbers::<T>(rows * depth, 1), numbers::<T>(depth * columns, 3));
        let mut out = vec![T::ZERO; rows * columns];
        let matrix = |first: usize, width: usize| Matrix {
            first,
            steps: [width as isize, 1],
            is_conjugated: false,
        };
        let right = matrix(b.as_ptr() as usize, columns);
        let product = Product {
            shape,
            alpha: T::ONE,
            a: matrix(a.as_ptr() as usize, depth),
            b: right,
            beta: None,
            out: matrix(out.as_mut_ptr() as usize, columns),
        };
        let mut room = vec![MaybeUninit::uninit(); room / size_of::<T>()];
        // SAFETY: the vectors have so many elements.
        unsafe { product.compute_dots_of_copies(Arch::new(), right, false, &mut room) };
        out
    }

    #[test]
    fn little_room_is_enough() {
        use rustfft::num_complex::Complex;
        for shape in [[4, 4, 5000], [3, 5, 2049], [8, 1, 700]] {
            let [least, most] = [LEAST, COPIED].map(|bytes| product_in::<f32>(bytes, shape));
            assert_eq!(least, most);
            let [least, most] =
                [LEAST, COPIED].map(|bytes| product_in::<Complex<f64>>(bytes, shape));
            assert_eq!(least, most);
        }
    }
}
