//! Small products of two matrices, or a batch of them, computed at once: without a plan, on the
//! calling thread.

use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use super::kernels::TINY;
use super::library::library;
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::structure::Structure;
use super::structured_run::multiply_structured_run;
use super::tile::Product;
use super::{MAX_STRUCTURED_SIDE, WORTH_A_THREAD, check_memory, worth_in_threads};
use crate::error::{Error, Result};
use crate::tensor::DType;

/// Whether so many products of `[rows, columns, depth]` are small, if so many threads may compute
/// them: they have no work for another thread, and looking for a plan would take long beside them.
#[must_use]
pub fn are_small(count: usize, shape: [usize; 3], threads: NonZeroUsize) -> bool {
    if threads.get() > 1 {
        return worth_in_threads(count, shape) < 2.0;
    }
    shape.iter().fold(count, |all, &extent| all.saturating_mul(extent)) <= 4 * WORTH_A_THREAD
}

/// A factor of small products.
#[derive(Clone, Copy, Debug)]
pub struct SmallFactor {
    /// Address of element (0, 0) of the first matrix.
    pub first: usize,
    /// Elements from a row to the next, and from a column to the next.
    pub steps: [isize; 2],
    /// Elements from a matrix to that of the next product.
    pub next: isize,
    /// What is known of the matrix. A diagonal matrix has the step of its vector as that of the
    /// rows.
    pub structure: Structure,
    /// Whether the complex conjugates of the elements are multiplied.
    pub is_conjugated: bool,
}

impl SmallFactor {
    /// Whether such a factor of so many rows can be one of a small product.
    #[must_use]
    pub fn is_small(&self, rows: usize) -> bool {
        self.structure.triangle().is_none() || rows <= MAX_STRUCTURED_SIDE
    }

    fn matrix(self) -> Matrix {
        Matrix { first: self.first, steps: self.steps, is_conjugated: self.is_conjugated }
    }
}

/// Computes `out = a @ b` for so many products of `[rows, columns, depth]`, whose results follow
/// each other in C order. One of the factors is a general matrix.
///
/// # Errors
/// `InvalidValue` for two factors with a structure, and for an element type that is not multiplied,
/// `OutOfMemory` where memory is short, `LibraryNotFound` if a library was asked for that cannot be
/// used.
///
/// # Safety
/// The matrices have these extents, and elements of this type, in memory that is aligned and valid:
/// for reads, and at `out` for writes. Nothing else uses the memory at `out`.
pub unsafe fn multiply_small(
    dtype: DType,
    count: usize,
    shape: [usize; 3],
    a: SmallFactor,
    b: SmallFactor,
    out: usize,
) -> Result<()> {
    // SAFETY: the caller guarantees what the functions require.
    unsafe {
        match dtype {
            DType::Float32 => multiply::<f32>(count, shape, a, b, out),
            DType::Float64 => multiply::<f64>(count, shape, a, b, out),
            DType::Complex64 => multiply::<Complex<f32>>(count, shape, a, b, out),
            DType::Complex128 => multiply::<Complex<f64>>(count, shape, a, b, out),
            _ => Err(Error::InvalidValue(format!("elements of type {dtype} are not multiplied"))),
        }
    }
}

/// # Safety
/// As for [`multiply_small`], with elements of type `T`.
unsafe fn multiply<T: Number>(
    count: usize,
    shape: [usize; 3],
    a: SmallFactor,
    b: SmallFactor,
    out: usize,
) -> Result<()> {
    library()?;
    let [rows, columns, depth] = shape;
    // Nothing is allocated for a diagonal matrix, whose depth is no measure of its work.
    let is_diagonal = a.structure.is_diagonal() || b.structure.is_diagonal();
    if !is_diagonal && rows.saturating_mul(columns).saturating_mul(depth) > TINY {
        check_memory::<T>(rows.max(columns) * depth, 1)?;
    }
    let steps = [a.next, b.next, (rows * columns) as isize];
    let out = Matrix { first: out, steps: [columns as isize, 1], is_conjugated: false };
    let structures = [a.structure, b.structure].map(|structure| structure.of_side(depth));
    let (a, b) = (a.matrix(), b.matrix());
    let product = Product { shape, alpha: T::ONE, a, b, beta: None, out };
    let run = Run { count, steps };
    match structures {
        // SAFETY: the caller guarantees the memory.
        [structure, Structure::General] => unsafe {
            multiply_structured_run(structure, product, run)
        },
        [Structure::General, structure] => {
            let mut turned = product.transposed();
            if structure.is_diagonal() {
                // The transposed matrix has the same vector.
                turned.a = product.b;
            }
            // SAFETY: the same elements.
            unsafe { multiply_structured_run(structure.transposed(), turned, run.transposed()) }
        }
        _ => {
            let message = "both factors of a small product have a structure";
            Err(Error::InvalidValue(message.into()))
        }
    }
}
