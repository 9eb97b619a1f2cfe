//! Products computed in tiles of a few rows, and of as many columns as a vector has numbers.
//!
//! Nothing is copied where the rows of the right factor lie side by side, so that small products,
//! and those with few columns, take less time than a call of `gemm`.

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::Number;
use super::vector::load_count;

/// Elements of a right factor that are copied at a time.
const COPIED: usize = 2048;

/// The depth that is multiplied at once, if the result has at most so many rows.
const CHUNK: usize = 16;
const FEW_ROWS: usize = 8;

/// Columns whose sums are collected.
const PANEL: usize = 256;

/// Numbers of a vector at most.
const MAX_LANES: usize = 16;

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

    /// Computes in tiles.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn compute_in_tiles(self, arch: Arch) {
        let [rows, columns, _] = self.shape;
        if rows > FEW_ROWS || columns <= MAX_LANES {
            arch.dispatch(Tiles(self));
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
            arch.dispatch(Tiles(Self { shape, a, b, beta, ..self }));
            beta = Some(T::ONE);
        }
    }
}

struct Tiles<T>(Product<T>);

impl<T: Number> WithSimd for Tiles<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(product) = self;
        let [rows, columns, depth] = product.shape;
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        // Elements of the left factor are read as they are: where they count conjugated, those of
        // the right one are conjugated instead, and so is the sum.
        let is_conjugated = !T::IS_REAL && product.a.is_conjugated;
        let right = if is_conjugated { product.b.conjugated() } else { product.b };
        let is_apart = right.steps[1] != 1 || (!T::IS_REAL && right.is_conjugated);
        let mut copy = [const { MaybeUninit::<T>::uninit() }; COPIED];
        for left in (0..columns).step_by(lanes) {
            let width = lanes.min(columns - left);
            // Parts of vectors take long to load.
            let is_copied = is_apart || (width < lanes && rows > FEW_ROWS);
            let chunk = if is_copied { COPIED / lanes } else { depth.max(1) };
            let mut beta = product.beta;
            for first in (0..depth.max(1)).step_by(chunk) {
                let depth = chunk.min(depth - first);
                let mut b = right.from::<T>(first, left);
                if is_copied {
                    for (middle, row) in copy.chunks_exact_mut(lanes).enumerate().take(depth) {
                        for (column, element) in row.iter_mut().enumerate() {
                            // SAFETY: the right factor has so many elements from there on.
                            let read = || unsafe { b.get::<T>(middle, column) };
                            element.write(if column < width { read() } else { T::ZERO });
                        }
                    }
                    let first = copy.as_ptr() as usize;
                    b = Matrix { first, steps: [lanes as isize, 1], is_conjugated: false };
                }
                let tiles = Column {
                    depth,
                    rows,
                    width,
                    has_whole_rows: is_copied || width == lanes,
                    a: product.a.from::<T>(0, first),
                    b,
                    out: product.out.from::<T>(0, left),
                    alpha: product.alpha,
                    beta,
                    is_conjugated,
                };
                beta = Some(T::ONE);
                let mut top = 0;
                // SAFETY: so many rows and columns are left, and the caller of `compute_in_tiles`
                // vouches for the memory.
                unsafe {
                    while top + 8 <= rows {
                        tiles.compute::<S, 8, 1>(simd, top);
                        top += 8;
                    }
                    if top + 4 <= rows {
                        tiles.compute::<S, 4, 2>(simd, top);
                        top += 4;
                    }
                    if top + 2 <= rows {
                        tiles.compute::<S, 2, 4>(simd, top);
                        top += 2;
                    }
                    if top < rows {
                        tiles.compute::<S, 1, 4>(simd, top);
                    }
                }
            }
        }
    }
}

/// A column of tiles.
struct Column<T> {
    depth: usize,
    rows: usize,
    /// Columns of the result: at most the numbers of a vector.
    width: usize,
    /// Whether a whole vector can be read from each row of `b`.
    has_whole_rows: bool,
    a: Matrix,
    /// Its rows lie side by side, and count as they are.
    b: Matrix,
    out: Matrix,
    alpha: T,
    beta: Option<T>,
    is_conjugated: bool,
}

impl<T: Number> Column<T> {
    /// Computes `M` rows of the result from `top` on, each from `U` sums.
    ///
    /// # Safety
    /// The result has so many rows, and the matrices are in valid memory.
    #[inline(always)]
    unsafe fn compute<S: Simd, const M: usize, const U: usize>(&self, simd: S, top: usize) {
        let mut sums = [[T::splat(simd, T::ZERO); M]; U];
        // SAFETY: the caller guarantees the extents.
        unsafe {
            if self.has_whole_rows {
                self.add_up::<S, M, U, true>(simd, top, &mut sums);
            } else {
                self.add_up::<S, M, U, false>(simd, top, &mut sums);
            }
        }
        let mut half = U / 2;
        while half > 0 {
            let (low, high) = sums.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                for (sum, &other) in low.iter_mut().zip(&*high) {
                    *sum = T::add_vectors(simd, *sum, other);
                }
            }
            half /= 2;
        }
        for (row, &sum) in sums[0].iter().enumerate() {
            // SAFETY: the caller guarantees the extents.
            unsafe { self.store(simd, top + row, sum) };
        }
    }

    /// Adds the products of the rows of `a` from `top` on.
    ///
    /// # Safety
    /// As for [`Self::compute`]. `FULL` says that whole vectors can be read from `b`.
    #[inline(always)]
    unsafe fn add_up<S: Simd, const M: usize, const U: usize, const FULL: bool>(
        &self,
        simd: S,
        top: usize,
        sums: &mut [[T::Vector<S>; M]; U],
    ) {
        let mut rows = [std::ptr::null::<T>(); M];
        for (row, pointer) in rows.iter_mut().enumerate() {
            *pointer = self.a.at::<T>(top + row, 0);
        }
        let mut middle = 0;
        // SAFETY: the caller guarantees the extents.
        unsafe {
            while middle + U <= self.depth {
                for (place, sums) in sums.iter_mut().enumerate() {
                    self.add_one::<S, M, FULL>(simd, &rows, middle + place, sums);
                }
                middle += U;
            }
            while middle < self.depth {
                self.add_one::<S, M, FULL>(simd, &rows, middle, &mut sums[0]);
                middle += 1;
            }
        }
    }

    /// Adds a column of `a`, which has these rows, times a row of `b`.
    ///
    /// # Safety
    /// As for [`Self::add_up`].
    #[inline(always)]
    unsafe fn add_one<S: Simd, const M: usize, const FULL: bool>(
        &self,
        simd: S,
        rows: &[*const T; M],
        middle: usize,
        sums: &mut [T::Vector<S>; M],
    ) {
        let row = self.b.at::<T>(middle, 0);
        let right = (middle as isize).wrapping_mul(self.a.steps[1]);
        // SAFETY: the caller guarantees the extents.
        unsafe {
            let b = load_count::<T, S, FULL>(simd, row, self.width);
            for (sum, row) in sums.iter_mut().zip(rows) {
                let a = T::splat(simd, *row.wrapping_offset(right));
                *sum = T::multiply_add(simd, a, b, *sum);
            }
        }
    }

    /// Stores a row of the result. Rows are stored in their order.
    ///
    /// # Safety
    /// The result has the row, and is in valid memory.
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, simd: S, row: usize, sum: T::Vector<S>) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let out = self.out.from::<T>(row, 0);
        if out.steps[1] == 1 && self.alpha == T::ONE && !self.is_conjugated {
            let to = out.at::<T>(0, 0);
            // What is written beyond a row belongs to the next rows, which come later.
            let is_followed =
                self.out.steps[0] == self.width as isize && (self.rows - row) * self.width >= lanes;
            // SAFETY: the caller guarantees the memory.
            unsafe {
                let is_whole = self.width == lanes;
                let sum = match self.beta {
                    None => sum,
                    Some(beta) => {
                        let before = if is_whole {
                            load_count::<T, S, true>(simd, to, lanes)
                        } else {
                            load_count::<T, S, false>(simd, to, self.width)
                        };
                        T::multiply_add(simd, T::splat(simd, beta), before, sum)
                    }
                };
                if is_whole || (is_followed && self.beta.is_none()) {
                    to.cast::<T::Vector<S>>().write_unaligned(sum);
                } else {
                    T::store_part(simd, std::slice::from_raw_parts_mut(to, self.width), sum);
                }
            }
            return;
        }
        let mut sums = [T::ZERO; MAX_LANES];
        // SAFETY: a vector has at most so many numbers, and the caller guarantees the memory.
        unsafe {
            sums.as_mut_ptr().cast::<T::Vector<S>>().write_unaligned(sum);
            for (column, &sum) in sums.iter().enumerate().take(self.width) {
                let sum = if self.is_conjugated { sum.conjugate() } else { sum };
                store(out.at(0, column), self.alpha, sum, self.beta);
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
