//! Products on the CPU.

use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use super::problem::{Product, StructuredMatmulProblem};
use super::scalars::Scalars;
use crate::cpu_blas::{CpuProducts, Factor, Number, Terms, engine_name};
use crate::device::ContextGuard;
use crate::error::Result;
use crate::operation::{Call, Engine};
use crate::tensor::DType;

/// Products of operands with any strides.
#[derive(Debug)]
pub(super) struct CpuEngine {
    problem: StructuredMatmulProblem,
    /// The products that have elements, by their places in the list.
    places: Vec<usize>,
    products: CpuProducts,
}

impl CpuEngine {
    pub(super) fn new(problem: &StructuredMatmulProblem, threads: NonZeroUsize) -> Result<Self> {
        let is_computed = |&place: &usize| !problem.products[place].is_empty();
        let places: Vec<usize> = (0..problem.count()).filter(is_computed).collect();
        let products = places.iter().map(|&place| {
            let product: &Product = &problem.products[place];
            let [_, _, c, out] = &product.matrices;
            let factors = [0, 1].map(|index| {
                let factor = product.factor(index);
                let side = factor.layout.shape.last().map_or(0, |&columns| columns as usize);
                Factor { structure: factor.structure.of_side(side), ..factor }
            });
            (factors, problem.has_addend.then_some(c), out)
        });
        let products = CpuProducts::new(products, threads)?;
        Ok(Self { problem: problem.clone(), places, products })
    }

    /// Multiplies matrices with elements of type `T`.
    ///
    /// # Safety
    /// As for [`Engine::execute`].
    unsafe fn multiply<T: Number>(&self, call: &Call<'_, Scalars>) -> Result<()> {
        let terms = |index: usize| {
            let place = self.places[index];
            let [a, b, c, out] = self.problem.addresses(place, call.inputs, call.outputs);
            let scalars = self.problem.products[place].scalars(call.arguments);
            let [alpha, beta] = [scalars.alpha, scalars.beta].map(T::from_parts);
            Terms { a, b, c, out, alpha, beta }
        };
        // SAFETY: the caller guarantees that the memory has the problem's layouts, and that results
        // overlap no operand but the one that is overwritten.
        unsafe { self.products.multiply(terms) }
    }
}

impl Engine for CpuEngine {
    type Arguments = Scalars;

    fn name(&self) -> &'static str {
        engine_name()
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, Scalars>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees what the functions require, for elements of this type.
        unsafe {
            match self.problem.dtype {
                DType::Float32 => self.multiply::<f32>(call),
                DType::Float64 => self.multiply::<f64>(call),
                DType::Complex64 => self.multiply::<Complex<f32>>(call),
                _ => self.multiply::<Complex<f64>>(call),
            }
        }
    }
}
