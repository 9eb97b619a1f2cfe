//! `out = alpha * a @ b + beta * out` on one thread.
//!
//! The `gemm` crate computes what is large. What is small, a vector, or of few elements and a long
//! depth has kernels of our own, because `gemm` copies its operands first.

use gemm::Parallelism;
use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::Number;
use super::vector::{add_product, load, multiply_vector};

/// Multiplications up to which plain loops take less time than a call of `gemm`.
pub(super) const TINY: usize = 1 << 10;

/// Most rows and columns of a result, and the least depth, for which sums are computed one by one.
const FEW: usize = 8;
const LONG: usize = 128;

/// Depths up to which a vector is treated as a small matrix.
const SHORT: usize = 4;

/// Computes `out = alpha * a @ b + beta * out`. Without `beta`, `out` is not read.
///
/// # Safety
/// The matrices have `[rows, columns, depth]` as their extents, and are in memory that is valid for
/// reads and, for `out`, for writes; nothing else uses the elements of `out`.
pub(super) unsafe fn multiply_add<T: Number>(
    shape: [usize; 3],
    alpha: T,
    a: Matrix,
    b: Matrix,
    beta: Option<T>,
    out: Matrix,
) {
    let [rows, columns, depth] = shape;
    let has_unit_step = |matrix: Matrix| matrix.steps.contains(&1);
    let is_tiny = rows * columns * depth <= TINY;
    // SAFETY: the caller guarantees what the functions require.
    unsafe {
        if columns == 1 && has_unit_step(a) && depth > SHORT {
            return multiply_vector(rows, depth, alpha, a, b, beta, out);
        }
        if rows == 1 && has_unit_step(b) && depth > SHORT {
            let (a, b, out) = (b.transposed(), a.transposed(), out.transposed());
            return multiply_vector(columns, depth, alpha, a, b, beta, out);
        }
        if is_tiny || (T::IS_REAL && rows <= FEW && columns <= FEW && depth >= LONG) {
            return multiply_small(shape, alpha, a, b, beta, out);
        }
        gemm::gemm(
            rows,
            columns,
            depth,
            out.first as *mut T,
            out.steps[1],
            out.steps[0],
            beta.is_some(),
            a.first as *const T,
            a.steps[1],
            a.steps[0],
            b.first as *const T,
            b.steps[1],
            b.steps[0],
            beta.unwrap_or(T::ZERO),
            alpha,
            false,
            a.is_conjugated,
            b.is_conjugated,
            Parallelism::None,
        );
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

/// Computes a result of few elements.
///
/// # Safety
/// As for [`multiply_add`].
unsafe fn multiply_small<T: Number>(
    [rows, columns, depth]: [usize; 3],
    alpha: T,
    a: Matrix,
    b: Matrix,
    beta: Option<T>,
    out: Matrix,
) {
    let is_conjugated = !T::IS_REAL && (a.is_conjugated || b.is_conjugated);
    if a.steps[1] == 1 && b.steps[0] == 1 && depth >= LONG && rows <= FEW && !is_conjugated {
        for column in 0..columns {
            let mut sums = [T::ZERO; FEW];
            // SAFETY: the column has so many elements, side by side, and `a` has rows as long.
            unsafe {
                let x = std::slice::from_raw_parts(b.at::<T>(0, column), depth);
                add_product(Arch::new(), &mut sums[..rows], a, x);
                for (row, &sum) in sums.iter().enumerate().take(rows) {
                    store(out.at(row, column), alpha, sum, beta);
                }
            }
        }
        return;
    }
    let is_turned = a.steps[0] == 1 && b.steps[1] != 1;
    let (a, b, out, rows, columns) = if is_turned {
        // The rows of the right factor are to lie side by side.
        (b.transposed(), a.transposed(), out.transposed(), columns, rows)
    } else {
        (a, b, out, rows, columns)
    };
    let product = SmallProduct { rows, columns, depth, alpha, a, b, beta, out };
    Arch::new().dispatch(product);
}

/// A product that is computed in tiles of a few rows, and of as many columns as a vector has
/// numbers.
struct SmallProduct<T> {
    rows: usize,
    columns: usize,
    depth: usize,
    alpha: T,
    a: Matrix,
    b: Matrix,
    beta: Option<T>,
    out: Matrix,
}

impl<T: Number> WithSimd for SmallProduct<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        for left in (0..self.columns).step_by(lanes) {
            let width = lanes.min(self.columns - left);
            let mut top = 0;
            // SAFETY: so many rows and columns are left, and the caller of `multiply_small` vouches
            // for the memory.
            unsafe {
                while top + 4 <= self.rows {
                    self.compute_tile::<S, 4>(simd, top, left, width);
                    top += 4;
                }
                while top < self.rows {
                    self.compute_tile::<S, 1>(simd, top, left, width);
                    top += 1;
                }
            }
        }
    }
}

/// Numbers of a vector at most.
const MAX_LANES: usize = 16;

impl<T: Number> SmallProduct<T> {
    /// Computes `M` by `width` elements of the result, from sums of even and of odd steps of the
    /// depth.
    ///
    /// # Safety
    /// The result has so many elements from there on, at most as many columns as a vector has
    /// numbers, and the matrices are in valid memory.
    #[inline(always)]
    unsafe fn compute_tile<S: Simd, const M: usize>(
        &self,
        simd: S,
        top: usize,
        left: usize,
        width: usize,
    ) {
        let (a, b) = (self.a.from::<T>(top, 0), self.b.from::<T>(0, left));
        let are_neighbours = b.steps[1] == 1 && (T::IS_REAL || !b.is_conjugated);
        let mut even = [T::splat(simd, T::ZERO); M];
        let mut odd = even;
        let middles = self.depth / 2 * 2;
        // SAFETY: the caller guarantees the extents.
        unsafe {
            let row = |middle: usize| load_row::<T, S>(simd, b, are_neighbours, middle, width);
            for middle in (0..middles).step_by(2) {
                add_outer::<T, S, M>(simd, &mut even, a, middle, row(middle));
                add_outer::<T, S, M>(simd, &mut odd, a, middle + 1, row(middle + 1));
            }
            if middles < self.depth {
                add_outer::<T, S, M>(simd, &mut even, a, middles, row(middles));
            }
        }
        for (row, (even, odd)) in even.into_iter().zip(odd).enumerate() {
            let mut sums = [T::ZERO; MAX_LANES];
            // SAFETY: a vector has at most so many numbers, and the caller guarantees the extents.
            unsafe {
                let sum = T::add_vectors(simd, even, odd);
                sums.as_mut_ptr().cast::<T::Vector<S>>().write_unaligned(sum);
                for (column, &sum) in sums.iter().enumerate().take(width) {
                    store(self.out.at(top + row, left + column), self.alpha, sum, self.beta);
                }
            }
        }
    }
}

/// Returns some elements of a row of the right factor, and zeros behind them.
///
/// # Safety
/// The row has so many elements, at most as many as a vector has numbers.
#[inline(always)]
unsafe fn load_row<T: Number, S: Simd>(
    simd: S,
    b: Matrix,
    are_neighbours: bool,
    middle: usize,
    width: usize,
) -> T::Vector<S> {
    // SAFETY: the caller guarantees the extents.
    unsafe {
        if are_neighbours {
            let row = std::slice::from_raw_parts(b.at::<T>(middle, 0), width);
            return T::load_part(simd, row);
        }
        let mut row = [T::ZERO; MAX_LANES];
        for (column, element) in row.iter_mut().enumerate().take(width) {
            *element = b.get(middle, column);
        }
        load::<T, S>(row.as_ptr())
    }
}

/// Adds a column of `a` times a row of the right factor.
///
/// # Safety
/// `a` has `M` rows, and the column.
#[inline(always)]
unsafe fn add_outer<T: Number, S: Simd, const M: usize>(
    simd: S,
    sums: &mut [T::Vector<S>; M],
    a: Matrix,
    middle: usize,
    right: T::Vector<S>,
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the caller guarantees the extents.
        let left = T::splat(simd, unsafe { a.get(row, middle) });
        *sum = T::multiply_add(simd, left, right, *sum);
    }
}
