//! Small products whose left factor has a structure, computed together.

use super::blocks::Sum;
use super::diagonal::in_order;
use super::elementwise::NumberProducts;
use super::kernels::multiply_run;
use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::structure::Structure;
use super::structured::Part;
use super::tile::Product;
use crate::error::Result;
use crate::memory::zeroed;

/// Most rows of matrices that are copied with all their elements before they are multiplied.
const MOST_ROWS: usize = 32;

/// Elements of the copies that are made before their products are computed.
const COPIED: usize = 1 << 11;

/// Most elements of a result for which one loop computes all products of a run by diagonal
/// matrices.
const MOST_SCALED: usize = 1 << 10;

/// Computes products of the same extents, without `beta`, whose left factor has a structure.
///
/// # Safety
/// As for [`multiply_run`].
pub(super) unsafe fn multiply_structured_run<T: Number>(
    structure: Structure,
    mut product: Product<T>,
    run: Run,
) -> Result<()> {
    let [side, columns, _] = product.shape;
    match structure {
        Structure::General => {
            // SAFETY: the caller guarantees what the function requires.
            unsafe { multiply_run(product, run) };
            return Ok(());
        }
        Structure::Diagonal { is_reversed } if columns == 1 || side * columns <= MOST_SCALED => {
            product.a = in_order::<T>(is_reversed, product.a, side);
            // SAFETY: likewise.
            unsafe { NumberProducts::of_diagonals(product, run).compute() };
            return Ok(());
        }
        _ => {}
    }
    if run.count > 1 && side <= MOST_ROWS && structure.triangle().is_some() {
        // SAFETY: likewise.
        return unsafe { multiply_completed(structure, product, run) };
    }
    for _ in 0..run.count {
        // SAFETY: likewise.
        unsafe { multiply_one(structure, product) }?;
        product.move_by(run);
    }
    Ok(())
}

/// Computes a product without `beta`.
///
/// # Safety
/// As for [`multiply_structured_run`].
unsafe fn multiply_one<T: Number>(structure: Structure, product: Product<T>) -> Result<()> {
    let Product { shape: [side, columns, _], alpha, a, b, beta, out } = product;
    let sum = Sum { alpha, beta, columns, out };
    // SAFETY: the caller guarantees the memory.
    unsafe {
        if let Structure::Diagonal { is_reversed } = structure {
            sum.add_diagonal(is_reversed, a, b, 0..side, side);
            return Ok(());
        }
        sum.add_square(Part { structure, a, side }, b)
    }
}

/// Computes products of triangular, symmetric or Hermitian matrices, of which some at a time are
/// copied with all their elements.
///
/// # Safety
/// As for [`multiply_structured_run`].
unsafe fn multiply_completed<T: Number>(
    structure: Structure,
    mut product: Product<T>,
    run: Run,
) -> Result<()> {
    let [side, columns, _] = product.shape;
    let elements = side * side;
    let is_shared = run.steps[0] == 0;
    let at_once = if is_shared { run.count } else { (COPIED / elements).clamp(1, run.count) };
    let matrices = if is_shared { 1 } else { at_once };
    let mut copies = zeroed::<T>(matrices * elements, "matrices with a structure")?;
    for first in (0..run.count).step_by(at_once) {
        let part = Run { count: at_once.min(run.count - first), ..run };
        // SAFETY: the caller guarantees the memory.
        unsafe {
            // Zeros of triangles are multiplied too.
            if matches!(structure, Structure::Triangular { .. })
                && !are_finite::<T>(product.b, part, [side, columns])
            {
                for _ in 0..part.count {
                    multiply_one(structure, product)?;
                    product.move_by(run);
                }
                continue;
            }
            let mut next = product;
            let mut a = product.a;
            for copy in copies.chunks_exact_mut(elements).take(part.count) {
                a = Part { structure, a: next.a, side }.completed(copy);
                next.move_by(run);
            }
            a.first = copies.as_ptr() as usize;
            let step = if is_shared { 0 } else { elements as isize };
            let [_, of_b, of_out] = run.steps;
            multiply_run(Product { a, ..product }, Run { steps: [step, of_b, of_out], ..part });
            product = next;
        }
    }
    Ok(())
}

/// Whether no element of the right factors of a run is infinite or NaN.
///
/// # Safety
/// The elements are in memory that is valid for reads.
unsafe fn are_finite<T: Number>(b: Matrix, run: Run, [rows, columns]: [usize; 2]) -> bool {
    let [_, step, _] = run.steps;
    let is_without_gaps = step == (rows * columns) as isize;
    let place = |entry: usize| (b.first as *const T).wrapping_offset(entry as isize * step);
    // SAFETY: the caller guarantees the memory.
    unsafe {
        if step == 0 {
            b.is_finite::<T>(rows, columns)
        } else if is_without_gaps && b.steps == [columns as isize, 1] {
            b.is_finite::<T>(run.count * rows, columns)
        } else if is_without_gaps && b.steps == [1, rows as isize] {
            b.transposed().is_finite::<T>(run.count * columns, rows)
        } else {
            (0..run.count).all(|entry| {
                Matrix { first: place(entry) as usize, ..b }.is_finite::<T>(rows, columns)
            })
        }
    }
}
