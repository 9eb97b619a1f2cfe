//! What is to be multiplied, independent of the engine that does it.

use std::ops::Range;

use smallvec::SmallVec;

use super::request::Qualifier;
use super::scalars::Scalars;
use crate::cpu_blas::{Factor, Structure};
use crate::operation::{OperandSpec, Problem, alignment};
use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

/// Products of matrices: element type, layouts and what is known of the matrices. It is the key of
/// the plan cache.
///
/// The inputs are the left factors of all products, then the right ones, then the third operands.
///
/// Invariants, kept by [`StructuredMatmulRequest`](super::StructuredMatmulRequest): the layouts of
/// each product fit each other, and no two elements of a result share memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructuredMatmulProblem {
    /// Element type of everything: float32, float64, complex64 or complex128.
    pub(super) dtype: DType,
    pub(super) products: SmallVec<[Product; 1]>,
    pub(super) has_addend: bool,
    /// Whether the result overwrites the third operand.
    pub(super) is_in_place: bool,
    /// Bytes that each address is a multiple of: see [`alignment`]. cuBLASLt chooses by it, so it
    /// is 1 for products that are none for cuBLASLt.
    pub(super) alignment: usize,
}

/// One product, or a batch of products in further dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Product {
    /// Layouts of `a`, `b`, `c` and the result, as they are; without a `c`, that of the result
    /// stands in its place.
    pub(super) layouts: [Layout; 4],
    /// The same, each as matrices in the last two dimensions and the batch, all of whose layouts
    /// are of the same extents, in those before. A diagonal matrix has 0 as the stride of columns.
    pub(super) matrices: [Layout; 4],
    pub(super) qualifiers: [Qualifier; 2],
    /// The bits of scalars of its own, which take precedence over those of an execution.
    pub(super) own_scalars: Option<[[u64; 2]; 2]>,
}

impl Product {
    /// The scalars of an execution.
    pub(super) fn scalars(&self, of_all: Scalars) -> Scalars {
        self.own_scalars.map_or(of_all, Scalars::from_bits)
    }

    /// One of the factors, for the engine on the CPU.
    pub(super) fn factor(&self, index: usize) -> Factor<'_> {
        let Qualifier { structure, is_conjugated } = self.qualifiers[index];
        Factor { layout: &self.matrices[index], structure, is_conjugated }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.layouts[3].is_empty()
    }
}

impl StructuredMatmulProblem {
    /// The addresses of one product's `a`, `b`, `c` and result; for the third one 0 if there is
    /// none.
    pub(super) fn addresses(
        &self,
        product: usize,
        inputs: &[usize],
        outputs: &[usize],
    ) -> [usize; 4] {
        let input = |operand: usize| {
            inputs.get(operand * self.products.len() + product).copied().unwrap_or(0)
        };
        [input(0), input(1), input(2), outputs.get(product).copied().unwrap_or(0)]
    }

    /// Whether this is one product, or one batch, that is none of diagonal matrices, and of at most
    /// one triangular matrix and a general one.
    pub(super) fn can_be_of_full_matrices(&self) -> bool {
        use Structure::{Diagonal, General, Triangular};
        let [only] = self.products.as_slice() else { return false };
        let structures = only.qualifiers.map(|qualifier| qualifier.structure);
        let is_possible = match structures {
            [Diagonal { .. }, _] | [_, Diagonal { .. }] => false,
            [Triangular { .. }, other] | [other, Triangular { .. }] => other == General,
            _ => true,
        };
        is_possible && only.own_scalars.is_none()
    }

    /// Number of products, lists included, batches in further dimensions not.
    #[must_use]
    pub fn count(&self) -> usize {
        self.products.len()
    }

    /// Element type of operands and results.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }
}

impl Problem for StructuredMatmulProblem {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        let count = self.products.len();
        let (operand, product) = (index / count, index % count);
        let name = *["a", "b", "c"][..if self.has_addend { 3 } else { 2 }].get(operand)?;
        let layout = &self.products[product].layouts[operand];
        Some(OperandSpec { name, dtype: self.dtype, layout })
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        let layout = &self.products.get(index)?.layouts[3];
        Some(OperandSpec { name: "out", dtype: self.dtype, layout })
    }

    fn overwritten_inputs(&self) -> Range<usize> {
        let count = self.products.len();
        if self.is_in_place { 2 * count..3 * count } else { 0..0 }
    }

    fn is_empty(&self) -> bool {
        self.products.iter().all(Product::is_empty)
    }

    fn fits_input(&self, _index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        alignment([view], location) >= self.alignment
    }

    fn fits_output(&self, index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        self.fits_input(index, view, location)
    }
}
