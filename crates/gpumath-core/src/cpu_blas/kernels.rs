//! `out = alpha * a @ b + beta * out` on one thread.
//!
//! Kernels of our own compute most products of real matrices in tiles, and what is small, a vector,
//! or of few elements and a long depth. The `gemm` crate computes the others: complex matrices,
//! what has many rows and columns, and large factors that would have to be read across their lines.

use gemm::Parallelism;
use pulp::Arch;

use super::elementwise::NumberProducts;
use super::library::library;
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::tile::Product;
use super::vector::multiply_vector;

/// Multiplications up to which plain loops take less time than a call of `gemm`.
pub(super) const TINY: usize = 1 << 10;

/// Multiplications up to which the ways are not compared, and up to which half a vector is as good
/// as a whole one.
pub(super) const TINIEST: usize = 256;
pub(super) const SMALL: usize = 1 << 12;

/// Most multiplications of one product of a run whose way is chosen once for the whole run.
pub(super) const MOST_OF_RUN: usize = 1 << 15;

/// Most columns of a result that count as few.
pub(super) const FEW: usize = 8;

/// Most elements of a result that are worth a long dot product each, and the least such depth.
const FEW_ELEMENTS: usize = 1024;
const LONG: usize = 1024;

/// Depths that count as little, and most elements of such a result: larger ones have tiles that are
/// far apart in memory.
const SHALLOW: usize = 8;
const MOST_OF_SHALLOW: usize = 1 << 14;

/// Bytes of a factor that is near the processor while it is read again and again.
const NEAR: usize = 1 << 19;

/// Rows or columns of a large product up to which it takes less time in tiles than by `gemm`.
const THIN: usize = 128;

/// Depths up to which a vector is treated as a small matrix, and elements of rows that are short.
pub(super) const SHORT: usize = 4;

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
        let product = Product { shape, alpha, a, b, beta, out };
        if depth == 1 && rows.min(columns) == 1 {
            return NumberProducts::of_lines(product, Run::ONE).compute();
        }
        // Rows of a few elements are not worth the way for vectors.
        let is_vector = |lines: usize, step: isize| depth > SHORT && (lines > SHORT || step == 1);
        if columns == 1 && has_unit_step(a) && is_vector(rows, a.steps[1]) {
            return multiply_vector(rows, depth, alpha, a, b, beta, out);
        }
        if rows == 1 && has_unit_step(b) && is_vector(columns, b.steps[0]) {
            let (a, b, out) = (b.transposed(), a.transposed(), out.transposed());
            return multiply_vector(columns, depth, alpha, a, b, beta, out);
        }
        // A library that the user has takes what is not small.
        let is_small = rows.min(columns) <= FEW || rows * columns * depth <= SMALL;
        if is_small && multiply_without_gemm(product) {
            return;
        }
        // Libraries do not read the factors if alpha is 0, so they would lose NaN and infinity.
        if alpha != T::ZERO
            && let Ok(Some(library)) = library()
            && library.multiply(product)
        {
            return;
        }
        if !is_small && multiply_without_gemm(product) {
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

/// Computes products like [`multiply_add`], all of the same extents, without `beta`.
///
/// # Safety
/// As for [`multiply_add`], for the first product and those that follow it.
pub(super) unsafe fn multiply_run<T: Number>(mut product: Product<T>, run: Run) {
    let [rows, columns, depth] = product.shape;
    let work = rows * columns * depth;
    if depth == 1 && (run.count > 1 || rows.min(columns) == 1) {
        // SAFETY: the caller guarantees what the function requires.
        return unsafe { NumberProducts::of_lines(product, run).compute() };
    }
    let most = match library() {
        Ok(None) => MOST_OF_RUN,
        // Larger ones are for the library.
        _ => SMALL,
    };
    if work <= TINIEST || (work <= most && rows > 1 && columns > 1) {
        let (way, is_turned) = product.way();
        if matches!(way, Way::Tiles) {
            let (product, run) =
                if is_turned { (product.transposed(), run.transposed()) } else { (product, run) };
            // SAFETY: the caller guarantees what the function requires.
            return unsafe { product.compute_run_in_tiles(Arch::new(), run) };
        }
    }
    for _ in 0..run.count {
        let Product { shape, alpha, a, b, beta, out } = product;
        // SAFETY: likewise.
        unsafe { multiply_add(shape, alpha, a, b, beta, out) };
        product.move_by(run);
    }
}

/// How a product is computed.
#[derive(Clone, Copy)]
enum Way {
    /// By dot products of rows of `a` and columns of `b`.
    Dots,
    /// In tiles, whose vectors lie along the rows of `out`.
    Tiles,
    /// All elements of a row of `out` after the other, where the rows are short.
    ShortRows,
    /// A few rows of `out`, all of them vector by vector, from a few rows of `b`.
    WideRows,
    /// By the `gemm` crate, which copies its operands.
    Gemm,
}

/// Computes a product without `gemm` if that takes less time. Returns whether it did.
///
/// # Safety
/// As for [`multiply_add`].
unsafe fn multiply_without_gemm<T: Number>(product: Product<T>) -> bool {
    let (way, is_turned) = product.way();
    let product = if is_turned { product.transposed() } else { product };
    // SAFETY: the caller guarantees what the functions require.
    unsafe {
        match way {
            Way::Dots => product.compute_by_dots(Arch::new()),
            Way::Tiles => product.compute_in_tiles(Arch::new()),
            Way::ShortRows => product.compute_short_rows(Arch::new()),
            Way::WideRows => product.compute_wide_rows(Arch::new()),
            Way::Gemm => return false,
        }
    }
    true
}

/// About how many cycles each way takes, by measurements on processors with vectors of 64 bytes.
/// Their ratios are much the same for shorter vectors.
impl<T: Number> Product<T> {
    const NUMBERS: f64 = (64 / size_of::<T>()) as f64;

    /// Cycles for as many multiplications as a vector has numbers: at best, and in our kernels.
    const MULTIPLY_ADD: f64 = if T::IS_REAL { 0.55 } else { 1.1 };
    const OWN_MULTIPLY_ADD: f64 = if T::IS_REAL { 0.55 } else { 1.7 };

    /// Whether nothing is allocated for it.
    pub(super) fn is_computed_in_place(&self) -> bool {
        !matches!(self.way(), (Way::Gemm, _))
    }

    /// Returns the way that takes the least time, and whether it is for the transposed product.
    fn way(&self) -> (Way, bool) {
        let [rows, columns, depth] = self.shape;
        let work = rows * columns * depth;
        // To compare the ways would take longer than a small product.
        if work <= TINIEST {
            return (Way::Tiles, self.a.steps[0] == 1 && self.b.steps[1] != 1);
        }
        if self.has_short_rows() {
            return (Way::ShortRows, false);
        }
        if self.has_wide_rows() {
            return (Way::WideRows, false);
        }
        if self.transposed().has_wide_rows() {
            return (Way::WideRows, true);
        }
        let width = columns * size_of::<T>();
        let are_vectors_full = width >= 64 || (width >= 32 && work <= SMALL);
        let are_few = rows * columns <= FEW_ELEMENTS && depth >= LONG;
        if T::IS_REAL && are_vectors_full && self.out.steps[1] == 1 {
            let is_read_in_place = self.b.steps[1] == 1 && width * depth <= NEAR;
            let is_thin = rows > FEW && rows.min(columns) <= THIN && !are_few;
            let is_read_along_rows = self.a.steps[1] == 1 && is_thin;
            if is_read_in_place || is_read_along_rows {
                return (Way::Tiles, false);
            }
        }
        let is_tiny = work <= TINY;
        let is_shallow = depth <= SHALLOW && rows * columns <= MOST_OF_SHALLOW;
        let is_narrow = rows.min(columns) <= FEW || is_shallow;
        let is_near = rows.min(columns) * depth * size_of::<T>() <= NEAR;
        if !(is_tiny || is_narrow || are_few || (T::IS_REAL && is_near)) {
            return (Way::Gemm, false);
        }
        let turned = self.transposed();
        let ways = [
            (self.cost_of_dots(), (Way::Dots, false)),
            (turned.cost_of_dots(), (Way::Dots, true)),
            (self.cost_of_tiles(), (Way::Tiles, false)),
            (turned.cost_of_tiles(), (Way::Tiles, true)),
            (self.cost_of_gemm(), (Way::Gemm, false)),
        ];
        let mut best = ways[0];
        for one in ways {
            if one.0 < best.0 {
                best = one;
            }
        }
        best.1
    }

    fn cost_of_dots(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        let added_up = if T::IS_REAL { 5.0 } else { 14.0 };
        let one = (depth / Self::NUMBERS).ceil() * Self::OWN_MULTIPLY_ADD + added_up;
        let has_rows = self.a.steps[1] == 1;
        // If only the left factor is to be copied, that is what the transposed product is for.
        let copy = match (has_rows, self.b.steps[0]) {
            (true, 1) => 0.0,
            (false, 1) => return f64::INFINITY,
            (false, _) if self.shape[0] > FEW => return f64::INFINITY,
            (true, _) => Self::cost_of_columns(self.b, self.shape[2], self.shape[1]),
            (false, _) => {
                Self::cost_of_columns(self.a.transposed(), self.shape[2], self.shape[0])
                    + Self::cost_of_columns(self.b, self.shape[2], self.shape[1])
            }
        };
        rows * columns * one + copy
    }

    /// Copies columns of a matrix, such that their elements lie side by side.
    fn cost_of_columns(matrix: Matrix, rows: usize, columns: usize) -> f64 {
        if columns <= SHORT && matrix.steps == [columns as isize, 1] {
            return 0.3 * (rows * columns) as f64;
        }
        Self::cost_of_turning(rows, columns)
    }

    fn cost_of_tiles(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        let vectors = (columns / Self::NUMBERS).ceil();
        let stored = if self.out.steps[1] == 1 { rows * vectors } else { 200.0 + rows * columns };
        let copy = if self.b.steps[1] == 1 {
            0.0
        } else {
            Self::cost_of_turning(self.shape[1], self.shape[2])
        };
        // Short rows of the right factor take longer to read than sums of eight rows to compute.
        let is_short = self.shape[1] <= SHORT;
        let read = if is_short { 2.5 * depth * (rows / 8.0).ceil() } else { 0.0 };
        let sum = rows * depth * vectors * Self::OWN_MULTIPLY_ADD;
        // Tiles of complex numbers are one vector wide.
        let tile = if T::IS_REAL { 30.0 } else { 390.0 };
        sum + read + stored + tile * self.tiles() + copy
    }

    /// Copies lines to columns: in blocks, and what is beside the blocks one by one. Complex
    /// numbers may have to be conjugated.
    fn cost_of_turning(lines: usize, length: usize) -> f64 {
        let [group, part] = [32, 16].map(|bytes: usize| (bytes / size_of::<T>()).max(1));
        let in_blocks = (lines / group * group) * (length / part * part);
        let saved = if T::IS_REAL { 1.1 * in_blocks as f64 } else { 0.0 };
        1.5 * (lines * length) as f64 - saved
    }

    fn cost_of_gemm(&self) -> f64 {
        let [rows, columns, depth] = self.shape.map(|extent| extent as f64);
        let sum = rows * depth * (columns / Self::NUMBERS).ceil() * Self::MULTIPLY_ADD;
        sum + 0.3 * (rows * columns + (rows + columns) * depth) + 100.0 * self.tiles() + 600.0
    }

    /// Number of tiles: of 8 rows and 3 vectors.
    fn tiles(&self) -> f64 {
        let [rows, columns, _] = self.shape.map(|extent| extent as f64);
        (rows / 8.0).ceil() * (columns / Self::NUMBERS / 3.0).ceil()
    }
}
