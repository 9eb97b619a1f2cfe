//! Products on the CPU, by the `gemm` crate. Each thread computes blocks of rows or of columns of
//! the result, so all threads are those of [`crate::parallel`].

use std::num::NonZeroUsize;

use gemm::Parallelism;

use super::problem::MatmulProblem;
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::operation::{Call, Engine};
use crate::parallel::parallel_for;
use crate::tensor::{DType, Layout};

/// Multiplications that are worth another thread.
const WORTH_A_THREAD: usize = 1 << 18;

/// Rows or columns that a kernel computes at once: blocks end at a multiple of it.
const TILE: usize = 16;

/// A product on the CPU, of operands with any strides.
#[derive(Debug)]
pub(super) struct CpuMatmul {
    problem: MatmulProblem,
    threads: NonZeroUsize,
}

impl CpuMatmul {
    pub(super) fn new(problem: &MatmulProblem, threads: NonZeroUsize) -> Self {
        Self { problem: problem.clone(), threads }
    }

    /// Multiplies matrices with elements of type `T`, of which `one` is 1. Blocks until the result
    /// is written.
    ///
    /// # Safety
    /// - The addresses are those of elements (0, 0) of memory in the problem's layouts, the first
    ///   two readable and the last one writable during the call.
    /// - The result overlaps neither operand, and no other thread uses it during the call.
    unsafe fn multiply<T: Copy + Sync + 'static>(
        &self,
        [a, b, out]: [usize; 3],
        one: T,
    ) -> Result<()> {
        let [left, right, result] = &self.problem.layouts;
        let rows = result.shape[0] as usize;
        let (columns, depth) = (result.shape[1] as usize, left.shape[1] as usize);
        let step = |layout: &Layout, axis: usize| layout.strides[axis] as isize;
        let element = |first: usize, layout: &Layout, row: usize, column: usize| {
            let offset = row as isize * step(layout, 0) + column as isize * step(layout, 1);
            (first as *mut T).wrapping_offset(offset)
        };
        let is_tall = rows >= columns;
        let extent = rows.max(columns);
        let blocks =
            ((rows * columns).saturating_mul(depth) / WORTH_A_THREAD).clamp(1, self.threads.get());
        let size = extent.div_ceil(blocks).next_multiple_of(TILE);
        parallel_for(self.threads, extent.div_ceil(size), |indices| {
            for start in indices.map(|index| index * size) {
                let count = size.min(extent - start);
                let (row, column) = if is_tall { (start, 0) } else { (0, start) };
                // SAFETY: the caller guarantees that the memory is valid, and one thread alone
                // claims each block of the result.
                unsafe {
                    gemm::gemm(
                        if is_tall { count } else { rows },
                        if is_tall { columns } else { count },
                        depth,
                        element(out, result, row, column),
                        step(result, 1),
                        step(result, 0),
                        false,
                        element(a, left, row, 0),
                        step(left, 1),
                        step(left, 0),
                        element(b, right, 0, column),
                        step(right, 1),
                        step(right, 0),
                        one,
                        one,
                        false,
                        false,
                        false,
                        Parallelism::None,
                    );
                }
            }
            Ok(())
        })
    }
}

impl Engine for CpuMatmul {
    type Arguments = ();

    fn name(&self) -> &'static str {
        "embedded"
    }

    unsafe fn execute(&self, _context: Option<&ContextGuard>, call: &Call<'_, ()>) -> Result<()> {
        let (&[a, b], &[out]) = (call.inputs, call.outputs) else {
            return Err(Error::InvalidValue("matmul has two operands and one result".into()));
        };
        // SAFETY: the caller guarantees what the functions require, for elements of this type.
        unsafe {
            match self.problem.dtype {
                DType::Float32 => self.multiply([a, b, out], 1.0_f32),
                _ => self.multiply([a, b, out], 1.0_f64),
            }
        }
    }
}
