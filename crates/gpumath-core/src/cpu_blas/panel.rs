//! The kernel of [tiles](super::tile): a few rows and columns of a result at a time, whose sums
//! stay in registers.

use std::mem::MaybeUninit;

use pulp::Simd;

use super::matrix::Matrix;
use super::number::{Number, has_fast_masks, has_few_registers};
use super::tile::{MAX_LANES, MOST_VECTORS, store};
use super::transpose::Transposition;
use super::vector::load;
use crate::memory::fetch;

/// Columns of a result that a few vectors span.
pub(super) struct Panel<T> {
    pub(super) rows: usize,
    pub(super) depth: usize,
    pub(super) width: usize,
    pub(super) a: Matrix,
    /// Its rows lie side by side, and count as they are.
    pub(super) b: Matrix,
    pub(super) out: Matrix,
    pub(super) alpha: T,
    pub(super) beta: Option<T>,
    /// Whether the sums are to be conjugated.
    pub(super) is_conjugated: bool,
    /// Elements from a row of `b` to those of the next panel, which are asked for meanwhile; 0 for
    /// none.
    pub(super) ahead: usize,
}

impl<T: Number> Panel<T> {
    /// Computes the panel, whose width needs `V` vectors. `FULL` says that whole vectors can be
    /// read from the rows of `b`.
    ///
    /// # Safety
    /// The matrices have these extents and are in valid memory.
    #[inline(always)]
    pub(super) unsafe fn compute<S: Simd, const V: usize, const FULL: bool>(self, simd: S) {
        let has_registers = !has_few_registers::<S>();
        let mut top = 0;
        // Rows at a time, and sums of each, such that as many vectors of sums are computed as keep
        // the processor busy and as there are registers for.
        // SAFETY: there is a row left.
        unsafe {
            while (V == 1 || (V < 4 && has_registers)) && top + 4 < self.rows {
                self.compute_tile::<S, V, 8, 1, FULL>(simd, top);
                top += 8;
            }
            // Six rows at a time; seven or eight are four and four.
            let has_six = V == 4 || (V == 2 && !has_registers);
            while has_six && matches!(self.rows.saturating_sub(top), 5 | 6 | 9..) {
                self.compute_tile::<S, V, 6, 1, FULL>(simd, top);
                top += 6;
            }
            while top + 2 < self.rows {
                if V == 1 || (V == 2 && has_registers) {
                    self.compute_tile::<S, V, 4, 2, FULL>(simd, top);
                } else {
                    self.compute_tile::<S, V, 4, 1, FULL>(simd, top);
                }
                top += 4;
            }
            if top + 1 < self.rows {
                if V == 1 {
                    self.compute_tile::<S, V, 2, 4, FULL>(simd, top);
                } else {
                    self.compute_tile::<S, V, 2, 2, FULL>(simd, top);
                }
                top += 2;
            }
            if top < self.rows {
                self.compute_tile::<S, V, 1, 4, FULL>(simd, top);
            }
        }
    }

    /// Computes `M` rows from `top` on, or as many as there are, each from `U` sums.
    ///
    /// # Safety
    /// There is a row at `top`.
    #[inline(always)]
    unsafe fn compute_tile<
        S: Simd,
        const V: usize,
        const M: usize,
        const U: usize,
        const FULL: bool,
    >(
        &self,
        simd: S,
        top: usize,
    ) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let mask = T::mask(simd, self.width - (V - 1) * lanes);
        // Addresses are computed for each tile. The compiler would go on from those of the tile
        // before, which are more than there are registers.
        let top = std::hint::black_box(top);
        let last = self.rows - 1 - top;
        // The last row stands for those that there are not.
        let mut rows = [std::ptr::null::<T>(); M];
        for (row, pointer) in rows.iter_mut().enumerate() {
            *pointer = self.a.at::<T>(top + row.min(last), 0);
        }
        let mut sums = [[[T::splat(simd, T::ZERO); V]; M]; U];
        let mut middle = 0;
        // SAFETY: the caller guarantees the extents.
        unsafe {
            while middle + U <= self.depth {
                if self.ahead > 0 && top == 0 {
                    for place in middle..middle + U {
                        fetch(self.b.at::<T>(place, 0).wrapping_add(self.ahead), V * lanes);
                    }
                }
                for (place, sums) in sums.iter_mut().enumerate() {
                    self.add::<S, V, M, FULL>(simd, &rows, middle + place, mask, sums);
                }
                middle += U;
            }
            while middle < self.depth {
                self.add::<S, V, M, FULL>(simd, &rows, middle, mask, &mut sums[0]);
                middle += 1;
            }
        }
        let mut half = U / 2;
        while half > 0 {
            let (low, high) = sums.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                for (low, high) in low.as_flattened_mut().iter_mut().zip(high.as_flattened()) {
                    *low = T::add_vectors(simd, *low, *high);
                }
            }
            half /= 2;
        }
        let is_plain = self.out.steps[1] == 1 && self.alpha == T::ONE && !self.is_conjugated;
        let (is_whole, beta) = (self.width == V * lanes, self.beta);
        // SAFETY: the caller guarantees the rows.
        unsafe {
            match (is_plain, is_whole, beta) {
                (true, true, None) => self.store::<S, V, M, true>(simd, top, &sums[0], mask),
                (true, false, None) => self.store::<S, V, M, false>(simd, top, &sums[0], mask),
                (true, true, Some(beta)) => {
                    self.add_to::<S, V, M, true>(simd, top, &sums[0], mask, beta);
                }
                (true, false, Some(beta)) => {
                    self.add_to::<S, V, M, false>(simd, top, &sums[0], mask, beta);
                }
                _ => self.store_any::<S, V, M>(top, &sums[0]),
            }
        }
    }

    /// Adds a column of `a`, which has these rows, times a row of `b`.
    ///
    /// # Safety
    /// `middle` is less than the depth.
    #[inline(always)]
    unsafe fn add<S: Simd, const V: usize, const M: usize, const FULL: bool>(
        &self,
        simd: S,
        rows: &[*const T; M],
        middle: usize,
        mask: T::Mask<S>,
        sums: &mut [[T::Vector<S>; V]; M],
    ) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let right = self.b.at::<T>(middle, 0);
        let down = (middle as isize).wrapping_mul(self.a.steps[1]);
        let mut vectors = [T::splat(simd, T::ZERO); V];
        // SAFETY: the caller guarantees the extents.
        unsafe {
            for (place, vector) in vectors.iter_mut().enumerate() {
                let from = right.wrapping_add(place * lanes);
                *vector = if FULL || place + 1 < V {
                    load::<T, S>(from)
                } else {
                    T::load_masked(simd, from, mask)
                };
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                let left = T::splat(simd, *row.wrapping_offset(down));
                for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                    *sum = T::multiply_add(simd, left, vector, *sum);
                }
            }
        }
    }

    /// Stores as many of the rows as there are, side by side. `WHOLE` says that the panel is as
    /// wide as its vectors.
    ///
    /// # Safety
    /// The result has a row at `top`.
    // The loop must stay short enough to be unrolled, or else the sums would be in memory all the
    // time.
    #[inline(always)]
    unsafe fn store<S: Simd, const V: usize, const M: usize, const WHOLE: bool>(
        &self,
        simd: S,
        top: usize,
        sums: &[[T::Vector<S>; V]; M],
        mask: T::Mask<S>,
    ) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        // Where parts of vectors take long: what is written beyond a row belongs to the next rows,
        // which come later.
        let is_dense = !has_fast_masks::<S>() && V == 1 && self.out.steps[0] == self.width as isize;
        for (row, sums) in sums.iter().enumerate() {
            if top + row < self.rows {
                let to = self.out.at::<T>(top + row, 0);
                let is_followed = is_dense && (self.rows - top - row) * self.width >= lanes;
                for (place, &sum) in sums.iter().enumerate() {
                    let to = to.wrapping_add(place * lanes);
                    // SAFETY: the caller guarantees the memory.
                    unsafe {
                        if WHOLE || place + 1 < V || is_followed {
                            to.cast::<T::Vector<S>>().write_unaligned(sum);
                        } else {
                            T::store_masked(simd, to, mask, sum);
                        }
                    }
                }
            }
        }
    }

    /// Adds as many of the rows as there are to `beta` times those of the result, side by side.
    ///
    /// # Safety
    /// The result has a row at `top`.
    #[inline(always)]
    unsafe fn add_to<S: Simd, const V: usize, const M: usize, const WHOLE: bool>(
        &self,
        simd: S,
        top: usize,
        sums: &[[T::Vector<S>; V]; M],
        mask: T::Mask<S>,
        beta: T,
    ) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let beta = T::splat(simd, beta);
        for (row, sums) in sums.iter().enumerate() {
            if top + row < self.rows {
                let to = self.out.at::<T>(top + row, 0);
                for (place, &sum) in sums.iter().enumerate() {
                    let to = to.wrapping_add(place * lanes);
                    // SAFETY: the caller guarantees the memory.
                    unsafe {
                        if place + 1 < V || WHOLE {
                            let before = load::<T, S>(to);
                            let sum = T::multiply_add(simd, beta, before, sum);
                            to.cast::<T::Vector<S>>().write_unaligned(sum);
                            continue;
                        }
                        let before = T::load_masked(simd, to, mask);
                        let sum = T::multiply_add(simd, beta, before, sum);
                        T::store_masked(simd, to, mask, sum);
                    }
                }
            }
        }
    }

    /// Stores as many of the rows as there are, with factors, conjugated or wherever they lie.
    ///
    /// # Safety
    /// The result has a row at `top`.
    #[inline(always)]
    unsafe fn store_any<S: Simd, const V: usize, const M: usize>(
        &self,
        top: usize,
        sums: &[[T::Vector<S>; V]; M],
    ) {
        // A copy, because this loop is not unrolled: sums would have to be in memory all the time.
        let mut numbers =
            [const { [const { MaybeUninit::<T>::uninit() }; MOST_VECTORS * MAX_LANES] }; M];
        for (numbers, sums) in numbers.iter_mut().zip(sums) {
            for (place, &sum) in sums.iter().enumerate() {
                let to = numbers.as_mut_ptr().cast::<T::Vector<S>>().wrapping_add(place);
                // SAFETY: a vector has at most `MAX_LANES` numbers.
                unsafe { to.write_unaligned(sum) };
            }
        }
        for (row, numbers) in numbers.iter().enumerate().take(self.rows - top) {
            for (column, number) in numbers.iter().enumerate().take(self.width) {
                // SAFETY: the width is that of the vectors at most, and the caller guarantees the
                // row.
                unsafe {
                    let sum = number.assume_init();
                    let sum = if self.is_conjugated { sum.conjugate() } else { sum };
                    store(self.out.at(top + row, column), self.alpha, sum, self.beta);
                }
            }
        }
    }
}

/// Copies a part of a right factor side by side, with zeros up to `room` where masks are slow.
///
/// # Safety
/// Both have so many rows and columns, and the target that width, in valid memory.
#[inline(always)]
pub(super) unsafe fn copy_panel<T: Number, S: Simd>(
    simd: S,
    from: Matrix,
    to: Matrix,
    [rows, columns]: [usize; 2],
    room: usize,
) {
    // SAFETY: the caller guarantees the memory.
    unsafe {
        if let Some(transposition) = Transposition::<T>::of(from, to, rows, columns) {
            simd.vectorize(transposition);
        } else {
            let is_plain = from.steps[1] == 1 && (T::IS_REAL || !from.is_conjugated);
            for row in 0..rows {
                if is_plain {
                    to.at::<T>(row, 0).copy_from_nonoverlapping(from.at::<T>(row, 0), columns);
                    continue;
                }
                for column in 0..columns {
                    to.at::<T>(row, column).write(from.get(row, column));
                }
            }
        }
        let filled = if has_fast_masks::<S>() { columns } else { room };
        for row in 0..rows {
            for column in columns..filled {
                to.at::<T>(row, column).write(T::ZERO);
            }
        }
    }
}
