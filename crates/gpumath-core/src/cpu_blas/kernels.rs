//! `out = alpha * a @ b + beta * out` on one thread.
//!
//! The `gemm` crate computes what is large. What is small, a vector, or of few elements and a long
//! depth has kernels of our own, because `gemm` copies its operands first.

use gemm::Parallelism;
use pulp::Arch;

use super::library::library;
use super::matrix::Matrix;
use super::number::Number;
use super::tile::Product;
use super::vector::multiply_vector;

/// Multiplications up to which plain loops take less time than a call of `gemm`.
pub(super) const TINY: usize = 1 << 10;

/// Multiplications up to which there is no choice.
const TINIEST: usize = 256;

/// Most columns of a result that count as few.
pub(super) const FEW: usize = 8;

/// Most elements of a result that are worth a long dot product each, and the least such depth.
const FEW_ELEMENTS: usize = 1024;
const LONG: usize = 1024;

/// Depths that count as little, and most elements of such a result: larger ones have tiles that are
/// far apart in memory.
const SHALLOW: usize = 8;
const MOST_OF_SHALLOW: usize = 1 << 14;

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
    // SAFETY: the caller guarantees what the functions require.
    unsafe {
        if columns == 1 && has_unit_step(a) && depth > SHORT {
            return multiply_vector(rows, depth, alpha, a, b, beta, out);
        }
        if rows == 1 && has_unit_step(b) && depth > SHORT {
            let (a, b, out) = (b.transposed(), a.transposed(), out.transposed());
            return multiply_vector(columns, depth, alpha, a, b, beta, out);
        }
        let product = Product { shape, alpha, a, b, beta, out };
        if multiply_few(product) {
            return;
        }
        if let Ok(Some(library)) = library()
            && library.multiply(product)
        {
            return;
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

/// Computes a small product, or one of few rows or columns, without `gemm` if that takes less time.
/// Returns whether it did.
///
/// # Safety
/// As for [`multiply_add`].
unsafe fn multiply_few<T: Number>(product: Product<T>) -> bool {
    let [rows, columns, depth] = product.shape;
    let work = rows * columns * depth;
    if work <= TINIEST {
        // To compare the ways would take longer than any of them.
        let is_turned = product.a.steps[0] == 1 && product.b.steps[1] != 1;
        let product = if is_turned { product.transposed() } else { product };
        // SAFETY: the caller guarantees what the function requires.
        unsafe { product.compute_in_tiles(Arch::new()) };
        return true;
    }
    let is_tiny = work <= TINY;
    let is_shallow = depth <= SHALLOW && rows * columns <= MOST_OF_SHALLOW;
    let is_narrow = rows.min(columns) <= FEW || is_shallow;
    let are_few = rows * columns <= FEW_ELEMENTS && depth >= LONG;
    // `gemm` has better kernels for complex numbers.
    if !(is_tiny || (T::IS_REAL && (is_narrow || are_few))) {
        return false;
    }
    let (arch, turned) = (Arch::new(), product.transposed());
    let costs = [
        product.cost_of_dots(),
        turned.cost_of_dots(),
        product.cost_of_tiles(),
        turned.cost_of_tiles(),
        if is_tiny { f64::INFINITY } else { product.cost_of_gemm() },
    ];
    let mut cheapest = 0;
    for (way, &cost) in costs.iter().enumerate() {
        if cost < costs[cheapest] {
            cheapest = way;
        }
    }
    // SAFETY: the caller guarantees what the functions require.
    unsafe {
        match cheapest {
            0 => return product.compute_by_dots(arch),
            1 => return turned.compute_by_dots(arch),
            2 => product.compute_in_tiles(arch),
            3 => turned.compute_in_tiles(arch),
            _ => return false,
        }
    }
    true
}

/// About how many cycles each way takes, by measurements on processors with vectors of 64 bytes.
/// Their ratios are much the same for shorter vectors.
impl<T: Number> Product<T> {
    const NUMBERS: f64 = (64 / size_of::<T>()) as f64;
    const MULTIPLY_ADD: f64 = if T::IS_REAL { 0.55 } else { 2.2 };

    /// By dot products of rows of `a` and columns of `b`.
    fn cost_of_dots(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        if self.a.steps[1] != 1 {
            return f64::INFINITY;
        }
        let one = (depth / Self::NUMBERS).ceil() * Self::MULTIPLY_ADD + 5.0;
        let copy = if self.b.steps[0] == 1 { 0.0 } else { 2.0 * columns * depth };
        rows * columns * one + copy
    }

    /// In tiles, whose vectors lie along the rows of `out`.
    fn cost_of_tiles(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        let vectors = (columns / Self::NUMBERS).ceil();
        let stored = if self.out.steps[1] == 1 { vectors } else { 1.5 * columns };
        let copy = if self.b.steps[1] == 1 { 0.0 } else { 1.5 * columns * depth };
        rows * (depth * vectors * (Self::MULTIPLY_ADD + 0.15) + stored) + copy
    }

    /// By the `gemm` crate, which copies its operands.
    fn cost_of_gemm(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        let sum = rows * columns * depth / Self::NUMBERS * Self::MULTIPLY_ADD;
        sum + rows * columns + 0.5 * (rows + columns) * depth + 3000.0
    }
}
