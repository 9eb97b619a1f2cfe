//! Products computed in tiles of a few rows, and of as many columns as a vector has numbers.
//!
//! Nothing is copied where the rows of the right factor lie side by side, so that small products,
//! and those with few columns, take less time than a call of `gemm`.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::{Number, has_fast_masks};
use super::panel::Panel;

/// Bytes of a right factor that are copied at a time. More would take long to put on the stack.
const COPIED: usize = 1 << 14;

/// Room on the stack for them.
#[repr(align(64))]
struct Room([MaybeUninit<u8>; COPIED]);

/// The depth that is multiplied at once, if the result has at most so many rows, and a right factor
/// of more bytes than are near the processor.
const CHUNK: usize = 16;
const FEW_ROWS: usize = 8;
const NEAR: usize = 1 << 18;

/// Columns whose sums are collected.
const PANEL: usize = 256;

/// Vectors of a row whose sums are computed together, at most.
pub(super) const MOST_VECTORS: usize = 3;

/// Numbers of a vector at most.
pub(super) const MAX_LANES: usize = 16;

/// `out = alpha * a @ b + beta * out`. Without `beta`, `out` is not read.
#[derive(Clone, Copy)]
pub(super) struct Product<T> {
    pub(super) shape: [usize; 3],
    pub(super) alpha: T,
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) beta: Option<T>,
    pub(super) out: Matrix,
}

impl<T: Number> Product<T> {
    /// Returns the transposed product, in the same memory.
    pub(super) fn transposed(self) -> Self {
        let [rows, columns, depth] = self.shape;
        Self {
            shape: [columns, rows, depth],
            a: self.b.transposed(),
            b: self.a.transposed(),
            out: self.out.transposed(),
            ..self
        }
    }

    /// Goes on to the next product of a run.
    #[inline(always)]
    pub(super) fn move_by(&mut self, run: Run) {
        for (matrix, step) in [&mut self.a, &mut self.b, &mut self.out].into_iter().zip(run.steps) {
            matrix.first = (matrix.first as *const T).wrapping_offset(step) as usize;
        }
    }

    /// Computes in tiles.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_in_tiles(self, arch: Arch) {
        let [rows, columns, depth] = self.shape;
        if rows > FEW_ROWS || columns <= MAX_LANES || columns * depth * size_of::<T>() <= NEAR {
            arch.dispatch(Tiles { product: self, run: Run::ONE });
            return;
        }
        if self.out.steps[1] == 1 {
            // SAFETY: the caller guarantees the same.
            unsafe { self.compute_in_chunks(arch) };
            return;
        }
        // Sums are collected side by side first, because single elements take long to store.
        let mut panel = [const { MaybeUninit::<T>::uninit() }; FEW_ROWS * PANEL];
        let steps = [PANEL as isize, 1];
        let out = Matrix { first: panel.as_mut_ptr() as usize, steps, is_conjugated: false };
        for left in (0..columns).step_by(PANEL) {
            let shape = [rows, PANEL.min(columns - left), self.shape[2]];
            let b = self.b.from::<T>(0, left);
            let part = Self { shape, alpha: T::ONE, b, beta: None, out, ..self };
            // SAFETY: the panel has room for so many sums, and the caller guarantees the factors.
            unsafe { part.compute_in_chunks(arch) };
            for row in 0..rows {
                for column in 0..shape[1] {
                    // SAFETY: the sums were written, and the caller guarantees the result.
                    unsafe {
                        let sum = out.get(row, column);
                        store(self.out.at(row, left + column), self.alpha, sum, self.beta);
                    }
                }
            }
        }
    }

    /// Computes a run of small products, of which this one is the first, in tiles.
    ///
    /// # Safety
    /// As for [`multiply_run`](super::kernels::multiply_run).
    pub(super) unsafe fn compute_run_in_tiles(self, arch: Arch, run: Run) {
        arch.dispatch(Tiles { product: self, run });
    }

    /// Computes few rows. Those of the right factor may be far apart, so few are read at once.
    ///
    /// # Safety
    /// As for [`Self::compute_in_tiles`].
    unsafe fn compute_in_chunks(self, arch: Arch) {
        let [rows, columns, depth] = self.shape;
        let mut beta = self.beta;
        for first in (0..depth.max(1)).step_by(CHUNK) {
            let shape = [rows, columns, CHUNK.min(depth - first)];
            let (a, b) = (self.a.from::<T>(0, first), self.b.from::<T>(first, 0));
            let product = Self { shape, a, b, beta, ..self };
            arch.dispatch(Tiles { product, run: Run::ONE });
            beta = Some(T::ONE);
        }
    }
}

/// How many products of the same extents there are, and elements from each to the next in `a`, `b`
/// and `out`.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) count: usize,
    pub(super) steps: [isize; 3],
}

impl Run {
    pub(super) const ONE: Self = Self { count: 1, steps: [0; 3] };

    /// Returns the run of the transposed products.
    pub(super) fn transposed(self) -> Self {
        let [a, b, out] = self.steps;
        Self { steps: [b, a, out], ..self }
    }
}

struct Tiles<T> {
    product: Product<T>,
    run: Run,
}

impl<T: Number> WithSimd for Tiles<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut room = Room([const { MaybeUninit::uninit() }; COPIED]);
        let first = room.0.as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: there is room for so many numbers, which need not be initialized.
        let copy = unsafe { std::slice::from_raw_parts_mut(first, COPIED / size_of::<T>()) };
        for _ in 0..self.run.count {
            self.compute_one(simd, copy);
            self.product.move_by(self.run);
        }
    }
}

impl<T: Number> Tiles<T> {
    /// Computes one product. What has to be copied goes to `copy`.
    #[inline(always)]
    fn compute_one<S: Simd>(&self, simd: S, copy: &mut [MaybeUninit<T>]) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let columns = self.product.shape[1];
        let mut left = 0;
        while left < columns {
            let vectors = (columns - left).div_ceil(lanes);
            // Four vectors are two and two, not three and one.
            left += lanes
                * match vectors {
                    // Sums of complex numbers need more registers each.
                    _ if !T::IS_REAL => self.compute_panel::<S, 1>(simd, left, copy),
                    1 => self.compute_panel::<S, 1>(simd, left, copy),
                    2 | 4 => self.compute_panel::<S, 2>(simd, left, copy),
                    _ => self.compute_panel::<S, MOST_VECTORS>(simd, left, copy),
                };
        }
    }

    /// Computes columns from `left` on: as many as `V` vectors have, or as there are. Returns `V`.
    #[inline(always)]
    fn compute_panel<S: Simd, const V: usize>(
        &self,
        simd: S,
        left: usize,
        copy: &mut [MaybeUninit<T>],
    ) -> usize {
        let product = &self.product;
        let [rows, columns, depth] = product.shape;
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let room = V * lanes;
        let width = room.min(columns - left);
        // Elements of the left factor are read as they are: where they count conjugated, those of
        // the right one are conjugated instead, and so is the sum.
        let is_conjugated = !T::IS_REAL && product.a.is_conjugated;
        let right = if is_conjugated { product.b.conjugated() } else { product.b };
        let is_apart = right.steps[1] != 1 || (!T::IS_REAL && right.is_conjugated);
        let is_slow_part = width < room && !has_fast_masks::<S>();
        let is_copied = is_apart || (is_slow_part && rows > FEW_ROWS);
        let chunk = if is_copied { copy.len() / room } else { depth.max(1) };
        let mut beta = product.beta;
        for first in (0..depth.max(1)).step_by(chunk) {
            let depth = chunk.min(depth - first);
            let mut b = right.from::<T>(first, left);
            if is_copied {
                for (middle, row) in copy.chunks_exact_mut(room).enumerate().take(depth) {
                    for (column, element) in row.iter_mut().enumerate().take(width) {
                        // SAFETY: the right factor has so many elements from there on.
                        element.write(unsafe { b.get::<T>(middle, column) });
                    }
                    row[width..].fill(MaybeUninit::new(T::ZERO));
                }
                let first = copy.as_ptr() as usize;
                b = Matrix { first, steps: [room as isize, 1], is_conjugated: false };
            }
            let panel = Panel {
                rows,
                depth,
                width,
                a: product.a.from::<T>(0, first),
                b,
                out: product.out.from::<T>(0, left),
                alpha: product.alpha,
                beta,
                is_conjugated,
            };
            // SAFETY: so many rows and columns are left, and the caller of `compute_in_tiles`
            // vouches for the memory.
            unsafe {
                if is_copied || width == room {
                    panel.compute::<S, V, true>(simd);
                } else {
                    panel.compute::<S, V, false>(simd);
                }
            }
            beta = Some(T::ONE);
        }
        V
    }
}

/// Stores one element of the result.
///
/// # Safety
/// The element of `out` is in valid memory.
#[inline(always)]
pub(super) unsafe fn store<T: Number>(out: *mut T, alpha: T, sum: T, beta: Option<T>) {
    // SAFETY: the caller guarantees it.
    unsafe {
        *out = match beta {
            Some(beta) => alpha * sum + beta * *out,
            None => alpha * sum,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, whose products are exact.
    fn numbers<T: Number>(count: usize, seed: usize) -> Vec<T> {
        let number = |index: usize| ((index + seed) * 7919 % 17) as f64 - 8.0;
        (0..count).map(|index| T::from_parts([number(index), number(index + 5)])).collect()
    }

    fn check<T: Number + std::fmt::Debug>(arch: Arch, shape: [usize; 3], is_conjugated: bool) {
        let [rows, columns, depth] = shape;
        let (a, b) = (numbers::<T>(rows * depth, 1), numbers::<T>(depth * columns, 3));
        let before = numbers::<T>(rows * columns, 2);
        for is_turned in [false, true] {
            let mut found = before.clone();
            let matrix = |first: usize, [height, width]: [usize; 2]| {
                let steps = if is_turned { [1, height as isize] } else { [width as isize, 1] };
                Matrix { first, steps, is_conjugated: false }
            };
            let right = matrix(b.as_ptr() as usize, [depth, columns]);
            let product = Product {
                shape,
                alpha: T::ONE,
                a: matrix(a.as_ptr() as usize, [rows, depth]),
                b: Matrix { is_conjugated, ..right },
                beta: (rows % 2 == 0).then_some(T::from_parts([2.0, 1.0])),
                out: matrix(found.as_mut_ptr() as usize, [rows, columns]),
            };
            let mut expected = before.clone();
            let out = Matrix { first: expected.as_mut_ptr() as usize, ..product.out };
            for row in 0..rows {
                for column in 0..columns {
                    // SAFETY: the vectors have so many elements.
                    unsafe {
                        let mut sum = T::ZERO;
                        for middle in 0..depth {
                            let right = product.b.get::<T>(middle, column);
                            sum = sum + product.a.get::<T>(row, middle) * right;
                        }
                        store(out.at(row, column), product.alpha, sum, product.beta);
                    }
                }
            }
            // SAFETY: likewise.
            unsafe { product.compute_in_tiles(arch) };
            assert_eq!(found, expected, "{shape:?} {arch:?} turned: {is_turned}");
        }
    }

    #[test]
    fn every_set_of_instructions_computes_the_same() {
        let mut sets = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
        for arch in sets {
            for columns in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 47, 49, 65] {
                for rows in [1, 2, 3, 4, 5, 7, 8, 9, 13] {
                    let shape = [rows, columns, 3 + columns % 5];
                    check::<f32>(arch, shape, false);
                    check::<f64>(arch, shape, false);
                    check::<rustfft::num_complex::Complex<f32>>(arch, shape, rows % 3 == 0);
                    check::<rustfft::num_complex::Complex<f64>>(arch, shape, rows % 3 == 1);
                }
            }
        }
    }
}
