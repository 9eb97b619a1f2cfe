//! Products computed in tiles of a few rows, and of as many columns as a vector has numbers.
//!
//! Nothing is copied where the rows of the right factor lie side by side, so that small products,
//! and those with few columns, take less time than a call of `gemm`. Of a large right factor, the
//! part that is read again and again is copied. The left factor is read where it is.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::kernels::TINIEST;
use super::matrix::Matrix;
use super::number::{Number, has_fast_masks, has_few_registers};
use super::panel::{Panel, copy_panel};
use super::room::{LEAST, Room, with_large_room};
use super::run::Run;

/// Bytes of a right factor that are copied at a time: of most products, and of large ones. Sums
/// that are collected have as much room as the former.
const COPIED: usize = 1 << 14;
const MOST_COPIED: usize = 48 << 10;

/// The depth that is multiplied at once. The rows of a right factor that is not near the processor
/// lie on many pages of memory, so a result of at most [`MANY_ROWS`] rows is computed with some of
/// them after the others: with fewer if the factor comes from memory and the result has few rows.
const CHUNK: usize = 64;
const CHUNK_FROM_MEMORY: usize = 16;
const FROM_MEMORY: usize = 1 << 24;
const FEW_ROWS: usize = 8;
const NEAR: usize = 1 << 18;

/// The depth that is multiplied at once if the left factor is in Fortran order, and has more bytes
/// than are near, but the result has not: so many columns are read along, which processors notice.
const CHUNK_OF_COLUMNS: usize = 32;
const FAR_LEFT: usize = 1 << 20;

/// Bytes of the rows that are computed before the next. Of a result of little depth, because most
/// of the time is spent on storing then, which takes less if memory is used page after page; else
/// of the left factor, because it is read again for each few columns.
const STORED_AT_ONCE: usize = 1 << 18;
const READ_AT_ONCE: usize = 1 << 20;
const SHALLOW: usize = 32;

/// Bytes that the rows of a right factor span, beyond which parts of it are copied for a result of
/// many rows: they lie on many pages of memory, or in the same places of the cache. For fewer rows,
/// copies would take longer than they save.
const FAR: usize = 1 << 17;
const MANY_ROWS: usize = 32;

/// Bytes from a line of a factor to the next, from which on no processor looks by itself for the
/// elements that come next.
const APART: usize = 1 << 10;

/// The depth for which a right factor is read in place: its rows may lie on as many pages.
const DEPTH_AT_ONCE: usize = 256;

/// Columns whose sums are collected, at least.
const PANEL: usize = 128;

/// Vectors of a row whose sums are computed together, at most.
pub(super) const MOST_VECTORS: usize = 4;

/// Bytes of half of the longest vector.
const HALF: usize = 32;

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
        let has_columns = self.a.steps[0] == 1
            && self.a.steps[1] != 1
            && self.out.steps[1] == 1
            && rows * size_of::<T>() > APART;
        let is_far = |width: usize| rows * width * size_of::<T>() > FAR_LEFT;
        if has_columns && depth > CHUNK_OF_COLUMNS && is_far(depth) && !is_far(columns) {
            // SAFETY: the caller guarantees the same.
            return unsafe { self.compute_in_chunks(arch, CHUNK_OF_COLUMNS) };
        }
        let at_once = self.rows_at_once();
        if rows > at_once {
            for top in (0..rows).step_by(at_once) {
                let shape = [at_once.min(rows - top), columns, depth];
                let (a, out) = (self.a.from::<T>(top, 0), self.out.from::<T>(top, 0));
                // SAFETY: the caller guarantees the same.
                unsafe { Self { shape, a, out, ..self }.compute_in_tiles(arch) };
            }
            return;
        }
        if self.out.steps[1] == 1 || rows * columns * depth <= TINIEST {
            // SAFETY: the caller guarantees the same.
            return unsafe { self.compute_side_by_side(arch) };
        }
        // SAFETY: likewise.
        with_large_room(COPIED, |room| unsafe { self.compute_collected(room, arch) });
    }

    /// Computes sums and collects them side by side in some room, before they are stored: single
    /// elements would take long to store.
    ///
    /// # Safety
    /// As for [`Self::compute_in_tiles`].
    unsafe fn compute_collected(self, numbers: &mut [MaybeUninit<T>], arch: Arch) {
        let [rows, columns, depth] = self.shape;
        let width = (numbers.len() / rows.max(FEW_ROWS)).max(PANEL);
        let height = numbers.len() / width;
        let (first, steps) = (numbers.as_mut_ptr() as usize, [width as isize, 1]);
        let sums = Matrix { first, steps, is_conjugated: false };
        for top in (0..rows).step_by(height) {
            for left in (0..columns).step_by(width) {
                let extent = [height.min(rows - top), width.min(columns - left)];
                let shape = [extent[0], extent[1], depth];
                let (a, b) = (self.a.from::<T>(top, 0), self.b.from::<T>(0, left));
                let part = Self { shape, alpha: T::ONE, a, b, beta: None, out: sums };
                // SAFETY: there is room for so many sums, and the caller guarantees the factors.
                unsafe { part.compute_side_by_side(arch) };
                let out = self.out.from::<T>(top, left);
                // SAFETY: the sums were written, and the caller guarantees the result.
                unsafe { store_sums(sums, out, extent, self.alpha, self.beta) };
            }
        }
    }

    /// Computes a result whose rows lie side by side, or single elements.
    ///
    /// # Safety
    /// As for [`Self::compute_in_tiles`].
    unsafe fn compute_side_by_side(self, arch: Arch) {
        let [rows, columns, depth] = self.shape;
        let bytes = columns * depth * size_of::<T>();
        let most = if self.b.steps[1] == 1 { MANY_ROWS } else { FEW_ROWS };
        if rows > most || columns <= MAX_LANES || bytes <= NEAR {
            return self.compute_tiles(arch);
        }
        // SAFETY: the caller guarantees the same.
        unsafe {
            if self.has_fast_strips(arch) {
                return self.compute_in_strips(arch);
            }
            let is_from_memory = rows <= FEW_ROWS && bytes > FROM_MEMORY;
            let chunk = if is_from_memory { CHUNK_FROM_MEMORY } else { CHUNK };
            self.compute_in_chunks(arch, chunk);
        }
    }

    /// Returns how many rows are computed before the next.
    fn rows_at_once(&self) -> usize {
        let [rows, columns, depth] = self.shape;
        let (row, bytes) = match depth {
            0..=SHALLOW => (columns, STORED_AT_ONCE),
            _ => (depth, READ_AT_ONCE),
        };
        let row = row * size_of::<T>();
        if rows * row <= 2 * bytes {
            return rows;
        }
        (bytes / row).max(1).next_multiple_of(FEW_ROWS)
    }

    /// Returns how many bytes there are from the first row of the right factor to the end of the
    /// last.
    #[inline(always)]
    fn span_of_right_rows(&self) -> usize {
        let [_, columns, depth] = self.shape;
        let step = self.b.steps[0].unsigned_abs().max(columns);
        step.saturating_mul(depth).saturating_mul(size_of::<T>())
    }

    /// Returns the instructions for vectors of half the length where they are as long as the rows
    /// of the result: some processors compute two of them in the time of a whole one.
    fn fitting(&self, arch: Arch) -> Arch {
        match arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(v4) if T::IS_REAL && self.shape[1] * size_of::<T>() == HALF => Arch::V3(*v4),
            _ => arch,
        }
    }

    /// Computes in tiles, whatever the extents.
    fn compute_tiles(self, arch: Arch) {
        let [rows, columns, depth] = self.shape;
        if rows * columns * depth <= TINIEST {
            // To ask the thread for room would take as long as the product.
            let mut room = Room::<LEAST>::new();
            let copy = room.numbers();
            let tiles = Tiles { product: self, run: Run::ONE, copy };
            self.fitting(arch).dispatch(tiles);
            return;
        }
        let is_large = self.span_of_right_rows() > FAR || columns * depth * size_of::<T>() > COPIED;
        with_large_room(if is_large { MOST_COPIED } else { COPIED }, |copy| {
            let tiles = Tiles { product: self, run: Run::ONE, copy };
            self.fitting(arch).dispatch(tiles);
        });
    }

    /// Computes a run of small products, of which this one is the first, in tiles.
    ///
    /// # Safety
    /// As for [`multiply_run`](super::kernels::multiply_run).
    pub(super) unsafe fn compute_run_in_tiles(mut self, arch: Arch, run: Run) {
        if self.out.steps[1] != 1 && self.shape.iter().product::<usize>() > TINIEST {
            return with_large_room(COPIED, |room| {
                for _ in 0..run.count {
                    // SAFETY: the caller guarantees the same.
                    unsafe { self.compute_collected(room, arch) };
                    self.move_by(run);
                }
            });
        }
        with_large_room(COPIED, |copy| {
            arch.dispatch(Tiles { product: self, run, copy });
        });
    }

    /// Computes with so much of the depth at once: the lines of a factor may be far apart.
    ///
    /// # Safety
    /// As for [`Self::compute_in_tiles`].
    unsafe fn compute_in_chunks(self, arch: Arch, chunk: usize) {
        let [rows, columns, depth] = self.shape;
        let mut beta = self.beta;
        for first in (0..depth.max(1)).step_by(chunk) {
            let shape = [rows, columns, chunk.min(depth - first)];
            let (a, b) = (self.a.from::<T>(0, first), self.b.from::<T>(first, 0));
            Self { shape, a, b, beta, ..self }.compute_tiles(arch);
            beta = Some(T::ONE);
        }
    }
}

struct Tiles<'a, T> {
    product: Product<T>,
    run: Run,
    /// Room for what has to be copied.
    copy: &'a mut [MaybeUninit<T>],
}

impl<T: Number> WithSimd for Tiles<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for _ in 0..self.run.count {
            self.compute_one(simd);
            self.product.move_by(self.run);
        }
    }
}

impl<T: Number> Tiles<'_, T> {
    /// Computes one product.
    #[inline(always)]
    fn compute_one<S: Simd>(&mut self, simd: S) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let columns = self.product.shape[1];
        // The sums of three vectors and four rows would leave too few of 16 registers.
        let has_registers = !has_few_registers::<S>();
        let mut left = 0;
        while left < columns {
            let vectors = (columns - left).div_ceil(lanes);
            left += lanes
                * match vectors {
                    // Sums of complex numbers need more registers each.
                    _ if !T::IS_REAL => self.compute_panel::<S, 1>(simd, left),
                    1 => self.compute_panel::<S, 1>(simd, left),
                    // Not three and one.
                    4 if has_registers => self.compute_panel::<S, MOST_VECTORS>(simd, left),
                    3.. if has_registers => self.compute_panel::<S, 3>(simd, left),
                    _ => self.compute_panel::<S, 2>(simd, left),
                };
        }
    }

    /// Computes columns from `left` on: as many as `V` vectors have, or as there are. Returns `V`.
    #[inline(always)]
    fn compute_panel<S: Simd, const V: usize>(&mut self, simd: S, left: usize) -> usize {
        let (product, copy) = (&self.product, &mut *self.copy);
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
        let is_far = rows > MANY_ROWS && product.span_of_right_rows() > FAR;
        let is_copied = is_apart || is_far || (is_slow_part && rows > FEW_ROWS);
        let row_bytes = product.b.steps[0].unsigned_abs().saturating_mul(size_of::<T>());
        let is_asked_for = !is_copied
            && left + room < columns
            && row_bytes >= APART
            && product.span_of_right_rows() > FAR;
        let chunk = if is_copied { copy.len() / room } else { DEPTH_AT_ONCE };
        let mut beta = product.beta;
        let mut first = 0;
        // A division, as in steps of a range, would be noticed in a tiny product.
        loop {
            let depth = chunk.min(depth - first);
            let mut b = right.from::<T>(first, left);
            if is_copied {
                let first = copy.as_mut_ptr() as usize;
                let copied = Matrix { first, steps: [room as isize, 1], is_conjugated: false };
                // SAFETY: the right factor has so many elements from there on, and the copy has
                // room for them.
                unsafe { copy_panel::<T, S>(simd, b, copied, [depth, width], room) };
                b = copied;
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
                ahead: if is_asked_for { room } else { 0 },
            };
            // SAFETY: so many rows and columns are left, and the caller of `compute_in_tiles`
            // vouches for the memory.
            unsafe {
                if width == room || (is_copied && !has_fast_masks::<S>()) {
                    panel.compute::<S, V, true>(simd);
                } else {
                    panel.compute::<S, V, false>(simd);
                }
            }
            first += chunk;
            if first >= product.shape[2] {
                return V;
            }
            beta = Some(T::ONE);
        }
    }
}

/// Stores a part of the result, of so many rows and columns.
///
/// # Safety
/// The elements of both are in valid memory.
#[inline(always)]
pub(super) unsafe fn store_sums<T: Number>(
    sums: Matrix,
    out: Matrix,
    [rows, columns]: [usize; 2],
    alpha: T,
    beta: Option<T>,
) {
    // SAFETY: the caller guarantees it.
    unsafe {
        if alpha == T::ONE && beta.is_none() {
            return sums.copy_to::<T>(out, rows, columns);
        }
        for row in 0..rows {
            for column in 0..columns {
                store(out.at(row, column), alpha, sums.get(row, column), beta);
            }
        }
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
    use super::super::tests::{instruction_sets, numbers};
    use super::*;

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
        for arch in instruction_sets() {
            for columns in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 47, 49, 65] {
                for rows in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13] {
                    let shape = [rows, columns, 3 + columns % 5];
                    check::<f32>(arch, shape, false);
                    check::<f64>(arch, shape, false);
                    check::<rustfft::num_complex::Complex<f32>>(arch, shape, rows % 3 == 0);
                    check::<rustfft::num_complex::Complex<f64>>(arch, shape, rows % 3 == 1);
                }
            }
            // Parts of a right factor whose rows are far apart are copied.
            for rows in [9, 32, 33, 73] {
                check::<f32>(arch, [rows, 49, 701], false);
                check::<f64>(arch, [rows, 51, 351], false);
            }
        }
    }
}
