//! Products of a triangular or diagonal matrix, and batches of them, in one kernel.

use std::ffi::CStr;

use super::{BLOCK, launch};
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::{BatchDims, DType};

/// The kernels of `structured.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/structured.ptx"), "\0");

/// Most dimensions of a batch.
const DIMENSIONS: usize = 3;

/// Columns that a block looks at before it computes them again.
const CHECKED: u64 = 8;

/// What is computed of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Whole,
    /// The columns with NaN in the row of a triangle with one stored element.
    WithNan,
}

/// What is stored of the left factor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored {
    /// The diagonal, if it is not all ones, and what is below it.
    Lower { has_unit_diagonal: bool },
    /// The diagonal, if it is not all ones, and what is above it.
    Upper { has_unit_diagonal: bool },
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
    structure: i64,
    has_unit_diagonal: i64,
    are_conjugated: [i64; 2],
    has_addend: i64,
    is_along_rows: i64,
    alpha: [f64; 2],
    beta: [f64; 2],
}

impl StructuredProduct {
    /// Describes a product with `[rows, columns]` and the operands' steps. `None` if the batch has
    /// too many dimensions.
    pub(crate) fn new(
        stored: Stored,
        [rows, columns]: [i64; 2],
        steps: [[i64; 2]; 4],
        are_conjugated: [bool; 2],
        batch: &BatchDims<4>,
    ) -> Option<Self> {
        let (structure, has_unit_diagonal, is_reversed) = match stored {
            Stored::Lower { has_unit_diagonal } => (0, has_unit_diagonal, false),
            Stored::Upper { has_unit_diagonal } => (1, has_unit_diagonal, false),
            Stored::Diagonal { is_reversed } => (2, false, is_reversed),
        };
        let mut product = Self {
            rows: rows as u64,
            columns: columns as u64,
            entries: batch.count() as u64,
            steps,
            extents: [1; DIMENSIONS],
            strides: [[0; 4]; DIMENSIONS],
            start: 0,
            structure,
            has_unit_diagonal: i64::from(has_unit_diagonal),
            are_conjugated: are_conjugated.map(i64::from),
            has_addend: 0,
            is_along_rows: i64::from(steps[3][1].unsigned_abs() <= steps[3][0].unsigned_abs()),
            alpha: [1.0, 0.0],
            beta: [0.0; 2],
        };
        if batch.len() > DIMENSIONS {
            return None;
        }
        for (axis, dim) in batch.iter().rev().enumerate() {
            (product.extents[axis], product.strides[axis]) = (dim.extent as u64, dim.strides);
        }
        if is_reversed {
            product.start = (rows - 1) * steps[0][0];
            product.steps[0][0] = -steps[0][0];
        }
        Some(product)
    }

    /// Sets what the product and `c` are multiplied by; `c` is not read without `beta`.
    pub(crate) fn with_scalars(self, alpha: [f64; 2], beta: Option<[f64; 2]>) -> Self {
        let has_addend = i64::from(beta.is_some());
        Self { alpha, beta: beta.unwrap_or_default(), has_addend, ..self }
    }
}

/// Enqueues a product, or a part of it, on `stream`, in the context of the stream's device. The work
/// can be captured into a graph.
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
    part: Part,
    stream: StreamRef,
) -> Result<()> {
    let name: &'static CStr = match (part, dtype) {
        (Part::Whole, DType::Float32) => c"structured_float32",
        (Part::Whole, DType::Float64) => c"structured_float64",
        (Part::Whole, DType::Complex64) => c"structured_complex64",
        (Part::Whole, DType::Complex128) => c"structured_complex128",
        (Part::WithNan, DType::Float32) => c"repair_float32",
        (Part::WithNan, DType::Float64) => c"repair_float64",
        (Part::WithNan, DType::Complex64) => c"repair_complex64",
        (Part::WithNan, DType::Complex128) => c"repair_complex128",
        _ => {
            return Err(Error::InvalidValue(format!(
                "matrices of {dtype} with a structure are not multiplied"
            )));
        }
    };
    let columns = product.columns * product.entries;
    let blocks = match part {
        Part::Whole => (product.rows * columns).div_ceil(u64::from(BLOCK)),
        Part::WithNan => columns.div_ceil(CHECKED),
    };
    if product.rows * columns == 0 {
        return Ok(());
    }
    let addresses = [&result, &a, &b, &c].map(|address| std::ptr::from_ref(address) as usize);
    let [to, left, right, third] = addresses;
    let parameters = [to, left, right, third, std::ptr::from_ref(product) as usize];
    // SAFETY: the kernel takes four addresses and a `StructuredProduct`; the caller guarantees that
    // they fit the memory.
    unsafe {
        launch(context, (PTX, name), blocks, &parameters, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["float32", "float64", "complex64", "complex128"] {
            let size = size_of::<StructuredProduct>();
            for part in ["structured", "repair"] {
                let parameter = format!("{part}_{name}_param_4[{size}]");
                assert!(PTX.contains(&parameter), "{parameter}");
            }
        }
    }
}
