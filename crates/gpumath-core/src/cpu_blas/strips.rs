//! Products of a few rows and a large right factor, whose rows are read along: a strip of columns
//! after the other, whose sums stay near the processor.
//!
//! Tiles would read a few elements of a row of the right factor, then of the next row, far apart in
//! memory.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::{Number, has_few_registers};
use super::room::with_large_room;
use super::tile::{Product, store_sums};
use super::vector::load;
use crate::memory::fetch;

/// Most rows of a result that takes less time in strips than in tiles.
const MOST_ROWS: usize = 16;

/// Bytes of the sums of a strip.
const SUMS: usize = 16 << 10;

/// Rows of the right factor that are read at a time, and rows of the result that they are added to
/// meanwhile: so many that the vectors of all of them have registers.
const READ: usize = 4;
const ADDED: usize = 2;

/// Bytes of a line of the cache.
const LINE: usize = 64;

impl<T: Number> Product<T> {
    /// Whether strips take less time than tiles for a large right factor: if it is read along its
    /// rows, and there are too few registers for large tiles.
    pub(super) fn has_fast_strips(&self, arch: Arch) -> bool {
        let is_for_strips = T::IS_REAL && self.b.steps[1] == 1 && self.shape[0] <= MOST_ROWS;
        is_for_strips && arch.dispatch(HasFewRegisters)
    }

    /// Computes a product of real matrices, of which the right one has rows whose elements lie side
    /// by side.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_in_strips(self, arch: Arch) {
        with_large_room(SUMS, |sums| arch.dispatch(Strips { product: self, sums }));
    }
}

/// Asks a set of instructions whether it [has few registers](has_few_registers).
struct HasFewRegisters;

impl WithSimd for HasFewRegisters {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        has_few_registers::<S>()
    }
}

struct Strips<'a, T> {
    product: Product<T>,
    /// Room for the sums of a strip.
    sums: &'a mut [MaybeUninit<T>],
}

impl<T: Number> WithSimd for Strips<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [rows, columns, _] = self.product.shape;
        let line = LINE / size_of::<T>();
        let most = self.sums.len() / rows / line * line;
        let first = self.sums.as_mut_ptr() as usize;
        let sums = Matrix { first, steps: [most as isize, 1], is_conjugated: false };
        for left in (0..columns).step_by(most) {
            let width = most.min(columns - left);
            let strip = Strip { product: self.product, left, width, sums };
            // SAFETY: there is room for the sums, and the caller of `compute_in_strips` guarantees
            // the matrices.
            unsafe { strip.compute(simd) };
        }
    }
}

/// So many columns of a product, from `left` on.
struct Strip<T> {
    product: Product<T>,
    left: usize,
    width: usize,
    /// The sums, with room for whole vectors.
    sums: Matrix,
}

impl<T: Number> Strip<T> {
    /// Computes the strip.
    ///
    /// # Safety
    /// The matrices are in valid memory.
    #[inline(always)]
    unsafe fn compute<S: Simd>(&self, simd: S) {
        let Product { shape: [rows, _, depth], alpha, beta, out, .. } = self.product;
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        // SAFETY: the caller guarantees the memory, and the indices are below the extents.
        unsafe {
            for row in 0..rows {
                for place in (0..self.width).step_by(lanes) {
                    let to = self.sums.at::<T>(row, place).cast::<T::Vector<S>>();
                    to.write_unaligned(T::splat(simd, T::ZERO));
                }
            }
            let whole = depth / READ * READ;
            for middle in (0..whole).step_by(READ) {
                self.add_to_rows::<S, READ>(simd, middle);
            }
            for middle in whole..depth {
                self.add_to_rows::<S, 1>(simd, middle);
            }
            store_sums(self.sums, out.from::<T>(0, self.left), [rows, self.width], alpha, beta);
        }
    }

    /// Adds `K` rows of the right factor, from `middle` on, to all rows.
    ///
    /// # Safety
    /// As for [`Self::compute`]; there are so many rows.
    #[inline(always)]
    unsafe fn add_to_rows<S: Simd, const K: usize>(&self, simd: S, middle: usize) {
        let rows = self.product.shape[0];
        let whole = rows / ADDED * ADDED;
        // SAFETY: the caller guarantees it.
        unsafe {
            for row in (0..whole).step_by(ADDED) {
                self.add::<S, K, ADDED>(simd, middle, row);
            }
            if whole < rows {
                self.add::<S, K, 1>(simd, middle, whole);
            }
        }
    }

    /// Adds `K` rows of the right factor, from `middle` on, to `M` rows, from `row` on.
    ///
    /// # Safety
    /// As for [`Self::compute`]; there are so many rows.
    #[inline(always)]
    unsafe fn add<S: Simd, const K: usize, const M: usize>(
        &self,
        simd: S,
        middle: usize,
        row: usize,
    ) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let Product { a, b, .. } = self.product;
        let mut factors = [[T::splat(simd, T::ZERO); K]; M];
        for (down, factors) in factors.iter_mut().enumerate() {
            for (right, factor) in factors.iter_mut().enumerate() {
                // SAFETY: the caller guarantees the row and the depth.
                *factor = unsafe { T::splat(simd, a.get(row + down, middle + right)) };
            }
        }
        let mut from = [std::ptr::null::<T>(); K];
        for (down, from) in from.iter_mut().enumerate() {
            *from = b.at::<T>(middle + down, self.left);
        }
        // The rows that come next are asked for once.
        let is_asked_for = row == 0;
        let ahead = b.steps[0].wrapping_mul(K as isize);
        let whole = self.width / lanes * lanes;
        for place in (0..whole).step_by(lanes) {
            if is_asked_for {
                for from in from {
                    fetch(from.wrapping_offset(ahead).wrapping_add(place), 1);
                }
            }
            // SAFETY: a vector of each row begins there.
            unsafe {
                let vectors = from.map(|from| load::<T, S>(from.wrapping_add(place)));
                self.add_vectors::<S, K, M>(simd, &factors, &vectors, [row, place]);
            }
        }
        if whole < self.width {
            let mask = T::mask(simd, self.width - whole);
            // SAFETY: a part of a vector of each row is there, and the sums have room for a whole
            // one.
            unsafe {
                let vectors = from.map(|from| T::load_masked(simd, from.wrapping_add(whole), mask));
                self.add_vectors::<S, K, M>(simd, &factors, &vectors, [row, whole]);
            }
        }
    }

    /// Adds a vector of each of `K` rows, times the factors, to the sums of `M` rows.
    ///
    /// # Safety
    /// The sums have room for a vector there.
    #[inline(always)]
    unsafe fn add_vectors<S: Simd, const K: usize, const M: usize>(
        &self,
        simd: S,
        factors: &[[T::Vector<S>; K]; M],
        vectors: &[T::Vector<S>; K],
        [row, place]: [usize; 2],
    ) {
        for (down, factors) in factors.iter().enumerate() {
            let to = self.sums.at::<T>(row + down, place);
            // SAFETY: the caller guarantees the room.
            unsafe {
                let mut sum = load::<T, S>(to);
                for (&factor, &vector) in factors.iter().zip(vectors) {
                    sum = T::multiply_add(simd, factor, vector, sum);
                }
                to.cast::<T::Vector<S>>().write_unaligned(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{instruction_sets, numbers};
    use super::super::tile::store;
    use super::*;

    fn check<T: Number + std::fmt::Debug>(arch: Arch, shape: [usize; 3], is_turned: bool) {
        let [rows, columns, depth] = shape;
        let (a, b) = (numbers::<T>(rows * depth, 1), numbers::<T>(depth * columns, 3));
        let mut found = numbers::<T>(rows * columns, 2);
        let matrix = |first: usize, [height, width]: [usize; 2], is_turned: bool| {
            let steps = if is_turned { [1, height as isize] } else { [width as isize, 1] };
            Matrix { first, steps, is_conjugated: false }
        };
        let product = Product {
            shape,
            alpha: T::from_parts([2.0, 0.0]),
            a: matrix(a.as_ptr() as usize, [rows, depth], is_turned),
            b: matrix(b.as_ptr() as usize, [depth, columns], false),
            beta: (depth % 2 == 0).then_some(T::from_parts([3.0, 0.0])),
            out: matrix(found.as_mut_ptr() as usize, [rows, columns], is_turned),
        };
        let mut expected = found.clone();
        let out = Matrix { first: expected.as_mut_ptr() as usize, ..product.out };
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |at| (row, at))) {
            // SAFETY: the vectors have so many elements.
            unsafe {
                let mut sum = T::ZERO;
                for middle in 0..depth {
                    sum = sum + product.a.get::<T>(row, middle) * product.b.get(middle, column);
                }
                store(out.at(row, column), product.alpha, sum, product.beta);
            }
        }
        // SAFETY: likewise.
        unsafe { product.compute_in_strips(arch) };
        assert_eq!(found, expected, "{shape:?} {arch:?} turned: {is_turned}");
    }

    #[test]
    fn every_set_of_instructions_computes_strips() {
        for arch in instruction_sets() {
            for rows in [1, 2, 3, 8, 15, 16] {
                // Less than a vector, parts of vectors, and several strips.
                for columns in [1, 3, 16, 61, 257, 1100] {
                    for depth in [1, 2, 4, 7, 9, 12] {
                        check::<f32>(arch, [rows, columns, depth], rows % 2 == 0);
                        check::<f64>(arch, [rows, columns, depth], rows % 2 == 1);
                    }
                }
            }
        }
    }
}
