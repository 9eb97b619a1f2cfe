//! Products of a matrix with a structure, and batches of them, in one kernel.

use std::ffi::CStr;

use super::{BLOCK, Completed, launch};
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::{BatchDim, DType};

/// The kernels of `structured.cu`, for elements of each type.
pub(super) const FLOAT32: &str = concat!(include_str!("generated/structured_float32.ptx"), "\0");
pub(super) const FLOAT64: &str = concat!(include_str!("generated/structured_float64.ptx"), "\0");
pub(super) const COMPLEX64: &str =
    concat!(include_str!("generated/structured_complex64.ptx"), "\0");
pub(super) const COMPLEX128: &str =
    concat!(include_str!("generated/structured_complex128.ptx"), "\0");

/// Most dimensions of a batch.
pub(crate) const DIMENSIONS: usize = 3;

/// Most blocks of the kernel that looks for columns with NaN: more blocks would take longer to
/// start than to look at their columns.
const MOST_LOOKING: u64 = 1 << 8;

/// Rows of a block that computes a few columns, and most columns.
const FEW_ROWS: u64 = 8;
const FEW_COLUMNS: u64 = 4;

/// Side of the squares of a product with one triangle that blocks compute.
const TILE: u64 = 16;

/// Blocks from which they compute more than an element a thread of products by diagonal matrices:
/// they take longer to begin.
const MANY_BLOCKS: u64 = 256;

/// Side of the squares, and elements of a line and lines of the other blocks. Of wide elements,
/// they compute as many in several turns.
const SQUARE: u64 = 32;
const LONG_LINES: [u64; 2] = [128, 16];
const SHORT_LINES: [u64; 2] = [32, 64];

/// The number of what is stored of diagonal matrices.
const DIAGONAL: i64 = 2;

/// What computes a product, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StructuredKernel {
    /// A thread computes an element of a product with one triangle.
    Elements,
    /// A warp computes a row of up to four columns.
    FewColumns,
    /// A block computes a square.
    Tiles,
    /// Products by diagonal matrices.
    Diagonal,
    /// The columns with NaN in the row of a triangle with one stored element are computed again.
    Repair,
}

/// What is stored of the left factor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored {
    /// One triangle.
    Half { is_upper: bool, completed: Completed },
    /// The vector of the diagonal, which may begin with the last element.
    Diagonal { is_reversed: bool },
}

/// `result = alpha * a @ b + beta * c` without the scalars: the argument of the kernels. The
/// operands are `a`, `b`, `c` and the result.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct StructuredProduct {
    rows: u64,
    columns: u64,
    entries: u64,
    /// Elements from a row to the next, and from a column to the next.
    steps: [[i64; 2]; 4],
    /// Dimensions of the batch, the first one the fastest.
    extents: [u64; DIMENSIONS],
    strides: [[i64; 4]; DIMENSIONS],
    /// Elements from the address of `a` to its element (0, 0).
    start: i64,
    stored: i64,
    /// What the other elements are: a number of [`Completed`].
    others: i64,
    are_conjugated: [i64; 2],
    has_addend: i64,
    is_along_rows: i64,
    alpha: [f64; 2],
    beta: [f64; 2],
}

impl StructuredProduct {
    /// Describes a product with `[rows, columns]`, the operands' steps, and dimensions of the
    /// batch, the last one the fastest.
    pub(crate) fn new(
        stored: Stored,
        [rows, columns]: [i64; 2],
        steps: [[i64; 2]; 4],
        are_conjugated: [bool; 2],
        batch: &[BatchDim<4>],
    ) -> Self {
        let (stored, others, is_reversed) = match stored {
            Stored::Half { is_upper, completed } => (i64::from(is_upper), completed as i64, false),
            Stored::Diagonal { is_reversed } => (DIAGONAL, 0, is_reversed),
        };
        let mut product = Self {
            rows: rows as u64,
            columns: columns as u64,
            entries: batch.iter().map(|dim| dim.extent as u64).product(),
            steps,
            extents: [1; DIMENSIONS],
            strides: [[0; 4]; DIMENSIONS],
            start: 0,
            stored,
            others,
            are_conjugated: are_conjugated.map(i64::from),
            has_addend: 0,
            is_along_rows: i64::from(steps[3][1].unsigned_abs() <= steps[3][0].unsigned_abs()),
            alpha: [1.0, 0.0],
            beta: [0.0; 2],
        };
        let merged = usize::from(stored == DIAGONAL && !is_reversed && product.merge(batch.last()));
        let places = product.extents.iter_mut().zip(&mut product.strides);
        for ((extent, strides), dim) in places.zip(batch.iter().rev().skip(merged)) {
            (*extent, *strides) = (dim.extent as u64, dim.strides);
        }
        if is_reversed {
            product.start = (rows - 1) * steps[0][0];
            product.steps[0][0] = -steps[0][0];
        }
        product
    }

    /// Takes the fastest dimension of the batch as further rows of a product by a diagonal matrix,
    /// or as further columns, if the entries follow each other in this way in all operands.
    /// Returns whether they do.
    fn merge(&mut self, dim: Option<&BatchDim<4>>) -> bool {
        let Some(dim) = dim else { return false };
        let [diagonal, others @ ..] =
            [0, 1, 2, 3].map(|operand| (dim.strides[operand], self.steps[operand]));
        let follow = |extent: u64, side: usize| {
            others.iter().all(|(stride, steps)| *stride == extent as i64 * steps[side])
        };
        let (of_entry, [of_row, _]) = diagonal;
        let count = if of_entry == self.rows as i64 * of_row && follow(self.rows, 0) {
            &mut self.rows
        } else if of_entry == 0 && follow(self.columns, 1) {
            &mut self.columns
        } else {
            return false;
        };
        *count *= dim.extent as u64;
        self.entries /= dim.extent as u64;
        true
    }

    /// The name of a kernel, and the number of its blocks.
    fn launched(&self, kernel: StructuredKernel) -> (&'static CStr, u64) {
        let Self { rows, columns, entries, .. } = *self;
        // Blocks whose threads compute an element each.
        let elements = (rows * columns * entries).div_ceil(u64::from(BLOCK));
        match kernel {
            StructuredKernel::Repair => (c"repair", (columns * entries).min(MOST_LOOKING)),
            StructuredKernel::Diagonal => self.diagonal(elements),
            StructuredKernel::FewColumns if columns == 1 => {
                (c"half_stored_1", rows.div_ceil(FEW_ROWS) * entries)
            }
            StructuredKernel::FewColumns => {
                let blocks = rows.div_ceil(FEW_ROWS) * columns.div_ceil(FEW_COLUMNS);
                (c"half_stored_4", blocks * entries)
            }
            StructuredKernel::Tiles => {
                let tiles = rows.div_ceil(TILE) * columns.div_ceil(TILE);
                (c"half_stored_tiles", tiles * entries)
            }
            StructuredKernel::Elements => (c"half_stored", elements),
        }
    }

    /// Chooses the kernel of a product by a diagonal matrix, of which so many blocks compute single
    /// elements, and the number of its blocks.
    fn diagonal(&self, elements: u64) -> (&'static CStr, u64) {
        let Self { rows, columns, entries, .. } = *self;
        let [_, [down, right], ..] = self.steps;
        let are_rows = self.is_along_rows == 1;
        let is_across = (right.unsigned_abs() <= down.unsigned_abs()) != are_rows;
        let (length, lines) = if are_rows { (columns, rows) } else { (rows, columns) };
        if elements < MANY_BLOCKS || length < 8 || (is_across && lines < 8) {
            return (c"diagonal", elements);
        }
        if is_across {
            let squares = rows.div_ceil(SQUARE) * columns.div_ceil(SQUARE);
            return (c"diagonal_squares", squares * entries);
        }
        let (name, [width, height]) = if length > SHORT_LINES[0] {
            (c"diagonal_long_lines", LONG_LINES)
        } else {
            (c"diagonal_short_lines", SHORT_LINES)
        };
        if 2 * lines < height {
            return (c"diagonal", elements);
        }
        (name, length.div_ceil(width) * lines.div_ceil(height) * entries)
    }

    /// Sets what the product and `c` are multiplied by; `c` is not read without `beta`.
    pub(crate) fn with_scalars(self, alpha: [f64; 2], beta: Option<[f64; 2]>) -> Self {
        let has_addend = i64::from(beta.is_some());
        Self { alpha, beta: beta.unwrap_or_default(), has_addend, ..self }
    }
}

/// Enqueues a product on `stream`, in the context of the stream's device. The
/// work can be captured into a graph.
///
/// # Safety
/// The addresses are those of `a`, `b`, `c` and the result, aligned to their elements, in memory of
/// the stream's device that is valid until the work is done. The result overlaps no factor, and `c`
/// only if it has the same layout.
pub(crate) unsafe fn multiply_structured(
    context: &ContextGuard,
    [a, b, c, result]: [usize; 4],
    dtype: DType,
    product: &StructuredProduct,
    kernel: StructuredKernel,
    stream: StreamRef,
) -> Result<()> {
    let ptx = match dtype {
        DType::Float32 => FLOAT32,
        DType::Float64 => FLOAT64,
        DType::Complex64 => COMPLEX64,
        DType::Complex128 => COMPLEX128,
        _ => {
            return Err(Error::InvalidValue(format!(
                "matrices of {dtype} with a structure are not multiplied"
            )));
        }
    };
    if product.rows * product.columns * product.entries == 0 {
        return Ok(());
    }
    let (name, blocks) = product.launched(kernel);
    let addresses = [&result, &a, &b, &c].map(|address| std::ptr::from_ref(address) as usize);
    let [to, left, right, third] = addresses;
    let parameters = [to, left, right, third, std::ptr::from_ref(product) as usize];
    // SAFETY: the kernel takes four addresses and a `StructuredProduct`; the caller guarantees that
    // they fit the memory.
    unsafe { launch(context, (ptx, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        let size = size_of::<StructuredProduct>();
        for ptx in [FLOAT32, FLOAT64, COMPLEX64, COMPLEX128] {
            let of_half_stored =
                ["half_stored", "half_stored_1", "half_stored_4", "half_stored_tiles"];
            let of_diagonals =
                ["diagonal", "diagonal_squares", "diagonal_long_lines", "diagonal_short_lines"];
            for name in of_half_stored.into_iter().chain(of_diagonals).chain(["repair"]) {
                let parameter = format!("{name}_param_4[{size}]");
                assert!(ptx.contains(&parameter), "{parameter}");
            }
        }
    }
}
