//! Products on the CPU, of all element types but those of 8 bits in floating point.
//!
//! Where all matrices are of a type that the kernels multiply, and an epilog writes nothing besides
//! the result, the kernels write the result, and the epilog changes it there. Otherwise narrower
//! factors are widened to single precision, integers to double precision, in which their sums are
//! exact; the sums of products go to memory of their own, and the epilog makes results of them.

mod elements;
mod epilog;
mod in_place;

use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use self::elements::{Elements, reader};
use self::epilog::EpilogPass;
use super::MatmulArguments;
use super::epilog::Epilog;
use super::geometry::{Geometry, Matrix};
use super::problem::{InputRole, MatmulProblem, OutputRole};
use crate::cpu_blas::{CpuProducts, Factor, Number, Structure, Terms, engine_name};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::memory::zeroed;
use crate::operation::{Call, Engine};
use crate::parallel::{SyncPtr, parallel_for};
use crate::tensor::{DType, Dims, Layout};

/// A product on the CPU, of operands with any strides.
#[derive(Debug)]
pub(super) struct CpuMatmul {
    problem: MatmulProblem,
    geometry: Geometry,
    /// What the kernels multiply: one of float32, float64, complex64 and complex128.
    wide: DType,
    /// Whether the kernels read the operands and write the result themselves.
    is_direct: bool,
    products: CpuProducts,
    threads: NonZeroUsize,
}

impl CpuMatmul {
    pub(super) fn new(problem: &MatmulProblem, threads: NonZeroUsize) -> Result<Self> {
        let types = &problem.types;
        if let Some(format) = problem.block_scaling {
            return Err(format.refusal("this one would run on the CPU"));
        }
        if problem.output_index(OutputRole::MantissaBitCount).is_some() {
            return Err(Error::InvalidValue(
                "mantissa_bit_count is for products on a GPU, and this one would run on the CPU; \
                 leave it out"
                    .into(),
            ));
        }
        let wide = match types.a {
            DType::Float16 | DType::BFloat16 | DType::Float32 => DType::Float32,
            DType::Int8 | DType::Float64 => DType::Float64,
            DType::Complex64 | DType::Complex128 => types.a,
            _ => {
                return Err(Error::InvalidValue(format!(
                    "a is of type {}, which the CPU does not multiply; use a GPU of compute \
                     capability 8.9 or newer, or convert the operands to float16 or float32",
                    types.a
                )));
            }
        };
        let geometry = problem.geometry();
        let is_direct = (problem.epilog == Epilog::None || in_place::is_in_place(problem.epilog))
            && [types.a, types.result, types.c, types.bias] == [wide; 4];
        let is_widened = types.a != wide;
        let Geometry { rows, columns, depth, .. } = geometry;
        let layout = |matrix: Matrix, extents: [i64; 2]| layout_of(&geometry, matrix, extents);
        let widened = |matrix: Matrix, extents: [i64; 2]| {
            let mut widened = layout(matrix, extents);
            if is_widened {
                let is_shared = is_shared(&geometry, matrix);
                let batch = widened.shape.len() - 2;
                widened = Layout::contiguous(&widened.shape);
                if is_shared {
                    widened.strides[..batch].fill(0);
                }
            }
            widened
        };
        let (a, b) = (widened(Matrix::A, [rows, depth]), widened(Matrix::B, [depth, columns]));
        let mut result = layout(Matrix::Result, [rows, columns]);
        let mut addend = None;
        if !is_direct {
            result = Layout::contiguous(&result.shape);
        } else if problem.input_index(InputRole::C).is_some() {
            addend = Some(layout(Matrix::C, [rows, columns]));
        }
        let factor = |layout, index: usize| Factor {
            layout,
            structure: Structure::General,
            is_conjugated: problem.conjugate[index],
        };
        let is_empty = rows == 0 || columns == 0 || result.is_empty();
        let product = ([factor(&a, 0), factor(&b, 1)], addend.as_ref(), &result);
        let products = CpuProducts::new((!is_empty).then_some(product), threads)?;
        Ok(Self { problem: problem.clone(), geometry, wide, is_direct, products, threads })
    }

    /// Multiplies with kernels for the type `T`.
    ///
    /// # Safety
    /// As for [`Engine::execute`].
    unsafe fn multiply<T: Number>(&self, call: &Call<'_, MatmulArguments>) -> Result<()> {
        let c = self.problem.input_index(InputRole::C).map_or(0, |index| call.inputs[index]);
        let (a, b) = (call.inputs[0], call.inputs[1]);
        let MatmulArguments { alpha, beta } = call.arguments;
        if self.is_direct {
            let [alpha, beta] = [alpha, beta].map(T::from_parts);
            let terms = |_| Terms { a, b, c, out: call.outputs[0], alpha, beta };
            // SAFETY: the caller guarantees that the memory has the problem's layouts, and that the
            // result overlaps no operand but the one that it overwrites.
            return unsafe { self.products.multiply(terms) };
        }
        let Geometry { rows, columns, depth, .. } = self.geometry;
        let mut sums = zeroed::<T>(
            self.geometry.batch.count() * (rows * columns) as usize,
            "the sums of a product",
        )?;
        // SAFETY: the caller guarantees that the operands can be read.
        let (wide_a, wide_b) = unsafe {
            (
                self.widened::<T>(a, Matrix::A, [rows, depth])?,
                self.widened::<T>(b, Matrix::B, [depth, columns])?,
            )
        };
        let address = |given: usize, wide: &Option<Vec<T>>| {
            wide.as_ref().map_or(given, |wide| wide.as_ptr() as usize)
        };
        let (a, b) = (address(a, &wide_a), address(b, &wide_b));
        let out = sums.as_mut_ptr() as usize;
        let (one, zero) = (T::ONE, T::ZERO);
        // SAFETY: the factors are in the layouts that the products were planned for, and the sums
        // are new memory.
        unsafe {
            self.products.multiply(|_| Terms { a, b, c: 0, out, alpha: one, beta: zero })?;
            EpilogPass::new(&self.problem, &self.geometry, &sums, call).run(self.threads)
        }
    }

    /// Returns a factor's elements in the type `T`, one batch entry after the other; one entry if
    /// all share it, and `None` if they are of this type already.
    ///
    /// # Safety
    /// The factor can be read at the address.
    unsafe fn widened<T: Number>(
        &self,
        address: usize,
        matrix: Matrix,
        extents: [i64; 2],
    ) -> Result<Option<Vec<T>>> {
        let dtype = self.problem.types.a;
        if dtype == self.wide {
            return Ok(None);
        }
        let is_shared = is_shared(&self.geometry, matrix);
        let entries = if is_shared { 1 } else { self.geometry.batch.count() };
        let [rows, columns] = extents.map(|extent| extent as usize);
        // A factor may be one element, again and again, and more of them than any memory holds.
        let count = entries.saturating_mul(rows).saturating_mul(columns);
        let mut wide = zeroed::<T>(count, "a factor in a wider type")?;
        let (first, read) = (SyncPtr::new(wide.as_mut_ptr()), reader(dtype));
        let from = Elements::of(&self.geometry, matrix, address, dtype);
        parallel_for(self.threads, entries * rows, |mut lines| {
            for line in &mut lines {
                let from = from.entry(line / rows);
                for column in 0..columns {
                    // SAFETY: the caller guarantees that the elements can be read; each line is
                    // written by one thread.
                    unsafe {
                        let number = read(from.address(line % rows, column));
                        *first.get().add(line * columns + column) = T::from_parts(number);
                    }
                }
            }
            Ok(())
        })?;
        Ok(Some(wide))
    }
}

/// Returns the layout of a matrix of these extents, with the dimensions of the batch before.
fn layout_of(geometry: &Geometry, matrix: Matrix, extents: [i64; 2]) -> Layout {
    let dims = || geometry.batch.iter();
    let mut shape: Dims = dims().map(|dim| dim.extent).collect();
    let mut strides: Dims = dims().map(|dim| dim.strides[matrix as usize]).collect();
    shape.extend(extents);
    strides.extend(geometry.strides(matrix));
    Layout { shape, strides }
}

/// Whether all entries of the batch have the same matrix.
fn is_shared(geometry: &Geometry, matrix: Matrix) -> bool {
    geometry.batch.iter().all(|dim| dim.strides[matrix as usize] == 0)
}

impl Engine for CpuMatmul {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        engine_name()
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees what the functions require.
        unsafe {
            match self.wide {
                DType::Float32 => self.multiply::<f32>(call),
                DType::Float64 => self.multiply::<f64>(call),
                DType::Complex64 => self.multiply::<Complex<f32>>(call),
                _ => self.multiply::<Complex<f64>>(call),
            }?;
            if !self.is_direct || self.problem.epilog == Epilog::None {
                return Ok(());
            }
            let (problem, geometry, threads) = (&self.problem, &self.geometry, self.threads);
            if self.wide == DType::Float32 {
                in_place::apply::<f32>(problem, geometry, call, threads)
            } else {
                in_place::apply::<f64>(problem, geometry, call, threads)
            }
        }
    }
}
