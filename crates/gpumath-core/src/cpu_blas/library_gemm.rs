//! Calls of a library's `cblas_?gemm`.

use std::ffi::c_int;

use super::library::BlasLibrary;
use super::library_api::{ComplexGemm, RealGemm};
use super::matrix::Matrix;
use super::number::Number;
use super::tile::Product;
use crate::loader::cpu_library::function_at;

const ROW_MAJOR: c_int = 101;
const AS_IT_IS: c_int = 111;
const TRANSPOSED: c_int = 112;
const CONJUGATED: c_int = 113;

/// A factor, as the library takes it.
struct Operand {
    first: usize,
    transposition: c_int,
    /// Elements from a line to the next.
    step: i64,
}

impl Operand {
    /// `None` for steps that the library does not take.
    fn of<T: Number>(matrix: Matrix, rows: usize, columns: usize) -> Option<Self> {
        let [down, right] = matrix.steps;
        let is_conjugated = !T::IS_REAL && matrix.is_conjugated;
        let first = matrix.first;
        if !is_conjugated && let Some(step) = line_step(down, right, rows, columns) {
            return Some(Self { first, transposition: AS_IT_IS, step });
        }
        let transposition = if is_conjugated { CONJUGATED } else { TRANSPOSED };
        line_step(right, down, columns, rows).map(|step| Self { first, transposition, step })
    }
}

/// Returns the step between lines of so many neighbours. Without several of them, any step will do.
fn line_step(line: isize, neighbour: isize, lines: usize, neighbours: usize) -> Option<i64> {
    if neighbours > 1 && neighbour != 1 {
        return None;
    }
    if lines <= 1 {
        return Some(neighbours.max(1) as i64);
    }
    (line >= neighbours.max(1) as isize).then_some(line as i64)
}

impl BlasLibrary {
    /// Multiplies on the calling thread. `false`, before anything is written, for layouts that the
    /// library does not take.
    ///
    /// # Safety
    /// As for [`multiply_add`](super::kernels::multiply_add).
    pub(super) unsafe fn multiply<T: Number>(&self, product: Product<T>) -> bool {
        let product = if product.out.steps[1] == 1 { product } else { product.transposed() };
        let Product { shape: [rows, columns, depth], a, b, out, .. } = product;
        let Some(step) = line_step(out.steps[0], out.steps[1], rows, columns) else { return false };
        let (Some(a), Some(b)) =
            (Operand::of::<T>(a, rows, depth), Operand::of::<T>(b, depth, columns))
        else {
            return false;
        };
        // SAFETY: the caller guarantees the memory.
        self.api.on_this_thread(|| unsafe {
            if self.api.has_long_integers {
                self.call::<T, i64>(product, &a, &b, step)
            } else {
                self.call::<T, i32>(product, &a, &b, step)
            }
        })
    }

    /// # Safety
    /// As for [`Self::multiply`], with integers of the library's size.
    unsafe fn call<T: Number, I: TryFrom<i64> + Copy>(
        &self,
        product: Product<T>,
        a: &Operand,
        b: &Operand,
        step: i64,
    ) -> bool {
        let [rows, columns, depth] = product.shape.map(|extent| extent as i64);
        let integers = [rows, columns, depth, a.step, b.step, step].map(I::try_from);
        let [Ok(rows), Ok(columns), Ok(depth), Ok(a_step), Ok(b_step), Ok(step)] = integers else {
            return false;
        };
        let (order, left, right) = (ROW_MAJOR, a.transposition, b.transposition);
        let is_double = size_of::<T>() == if T::IS_REAL { 8 } else { 16 };
        let address = self.api.gemm[usize::from(!T::IS_REAL) * 2 + usize::from(is_double)];
        let (alpha, beta) = (product.alpha, product.beta.unwrap_or(T::ZERO));
        let [alpha_parts, beta_parts] = [alpha, beta].map(T::parts);
        let (from_a, from_b, to) = (a.first, b.first, product.out.first);
        // SAFETY: the address is that of the function for `T`, whose arguments these are. With
        // beta 0 the result is not read.
        unsafe {
            match (T::IS_REAL, is_double) {
                (true, false) => function_at::<RealGemm<I, f32>>(address)(
                    order,
                    left,
                    right,
                    rows,
                    columns,
                    depth,
                    alpha_parts[0] as f32,
                    from_a as *const f32,
                    a_step,
                    from_b as *const f32,
                    b_step,
                    beta_parts[0] as f32,
                    to as *mut f32,
                    step,
                ),
                (true, true) => function_at::<RealGemm<I, f64>>(address)(
                    order,
                    left,
                    right,
                    rows,
                    columns,
                    depth,
                    alpha_parts[0],
                    from_a as *const f64,
                    a_step,
                    from_b as *const f64,
                    b_step,
                    beta_parts[0],
                    to as *mut f64,
                    step,
                ),
                (false, _) => function_at::<ComplexGemm<I>>(address)(
                    order,
                    left,
                    right,
                    rows,
                    columns,
                    depth,
                    (&raw const alpha).cast(),
                    from_a as *const _,
                    a_step,
                    from_b as *const _,
                    b_step,
                    (&raw const beta).cast(),
                    to as *mut _,
                    step,
                ),
            }
        }
        true
    }
}
