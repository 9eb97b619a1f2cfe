//! Products on the CPU, by the `gemm` crate. Each thread computes blocks of rows or of columns of
//! the result, so all threads are those of [`crate::parallel`].

use std::cell::Cell;
use std::num::NonZeroUsize;

use gemm::Parallelism;

use super::MatmulArguments;
use super::geometry::{Geometry, Matrix};
use super::problem::MatmulProblem;
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::memory::check_available;
use crate::operation::{Call, Engine};
use crate::parallel::parallel_for;
use crate::tensor::DType;

/// Multiplications that are worth another thread.
const WORTH_A_THREAD: usize = 1 << 18;

/// Rows or columns that a kernel computes at once: blocks end at a multiple of it.
const TILE: usize = 16;

/// Most rows and columns of a block, and the most of the depth that is multiplied at once. They
/// bound what the kernel allocates, a copy of its blocks, and how long a call of it takes: about a
/// tenth of a second.
const MAX_SIDE: usize = 1024;
const MAX_DEPTH: usize = 2048;

/// Bytes that the kernel allocates on the first use of a thread, at most: a part of a block, as
/// large as a cache.
const CACHE_BYTES: usize = 8 << 20;

/// A product on the CPU, of operands with any strides.
#[derive(Debug)]
pub(super) struct CpuMatmul {
    dtype: DType,
    geometry: Geometry,
    threads: NonZeroUsize,
}

impl CpuMatmul {
    pub(super) fn new(problem: &MatmulProblem, threads: NonZeroUsize) -> Result<Self> {
        problem.check_plain("the CPU")?;
        Ok(Self { dtype: problem.types.a, geometry: problem.geometry(), threads })
    }

    /// Multiplies matrices with elements of type `T`, of which `one` is 1, and by `factor`. Blocks
    /// until the result is written.
    ///
    /// # Safety
    /// - The addresses are those of elements (0, 0) of memory in the problem's layouts, the first
    ///   two readable and the last one writable during the call.
    /// - The result overlaps neither operand, and no other thread uses it during the call.
    unsafe fn multiply<T: Copy + Sync + 'static>(
        &self,
        [a, b, out]: [usize; 3],
        one: T,
        factor: T,
    ) -> Result<()> {
        let Geometry { rows, columns, depth, .. } = self.geometry;
        let [rows, columns, depth] = [rows, columns, depth].map(|extent| extent as usize);
        let (left, right, result) = (Matrix::A, Matrix::B, Matrix::Result);
        let step = |matrix: Matrix, axis: usize| self.geometry.strides(matrix)[axis] as isize;
        let element = |first: usize, matrix: Matrix, row: usize, column: usize| {
            let offset = row as isize * step(matrix, 0) + column as isize * step(matrix, 1);
            (first as *mut T).wrapping_offset(offset)
        };
        // The longer side is shared by the threads, and both are cut into blocks of bounded work.
        let is_tall = rows >= columns;
        let shares =
            ((rows * columns).saturating_mul(depth) / WORTH_A_THREAD).clamp(1, self.threads.get());
        let cut = |extent: usize, shares: usize| {
            let size = extent.div_ceil(shares).next_multiple_of(TILE).min(MAX_SIDE);
            (size, extent.div_ceil(size))
        };
        let (height, down) = cut(rows, if is_tall { shares } else { 1 });
        let (width, across) = cut(columns, if is_tall { 1 } else { shares });
        parallel_for(self.threads, down * across, |mut blocks| {
            check_memory::<T>(height.max(width) * depth.min(MAX_DEPTH))?;
            while let Some(block) = blocks.next() {
                let (row, column) = (block / across * height, block % across * width);
                // Without any depth, the block is set to zero.
                for first in (0..depth.max(1)).step_by(MAX_DEPTH) {
                    if blocks.is_over() {
                        return Ok(());
                    }
                    // SAFETY: the caller guarantees that the memory is valid, and one thread alone
                    // claims each block of the result.
                    unsafe {
                        gemm::gemm(
                            height.min(rows - row),
                            width.min(columns - column),
                            MAX_DEPTH.min(depth - first),
                            element(out, result, row, column),
                            step(result, 1),
                            step(result, 0),
                            first > 0,
                            element(a, left, row, first),
                            step(left, 1),
                            step(left, 0),
                            element(b, right, first, column),
                            step(right, 1),
                            step(right, 0),
                            one,
                            factor,
                            false,
                            false,
                            false,
                            Parallelism::None,
                        );
                    }
                }
            }
            Ok(())
        })
    }
}

/// Returns `OutOfMemory` unless there is memory for what a call of the kernel allocates, for so
/// many elements of a block: the kernel would end the process.
fn check_memory<T>(elements: usize) -> Result<()> {
    thread_local! {
        static HAS_CACHE: Cell<bool> = const { Cell::new(false) };
    }
    const PURPOSE: &str = "this product";
    if !HAS_CACHE.get() {
        check_available::<u8>(CACHE_BYTES, PURPOSE)?;
        HAS_CACHE.set(true);
    }
    check_available::<T>(elements, PURPOSE)
}

impl Engine for CpuMatmul {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        "embedded"
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        let (&[a, b], &[out]) = (call.inputs, call.outputs) else {
            return Err(Error::InvalidValue("matmul has two operands and one result".into()));
        };
        // SAFETY: the caller guarantees what the functions require, for elements of this type.
        unsafe {
            match self.dtype {
                DType::Float32 => self.multiply([a, b, out], 1.0, call.arguments.alpha[0] as f32),
                _ => self.multiply([a, b, out], 1.0, call.arguments.alpha[0]),
            }
        }
    }
}
