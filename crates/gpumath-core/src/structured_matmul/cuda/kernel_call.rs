//! Products of matrices with a structure, and columns of them, that one kernel of ours computes.

use super::completion::completed_as;
use super::operand::{Operand, Place};
use crate::cpu_blas::{Structure, Triangle};
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::kernels::{self, DIMENSIONS, Stored, StructuredKernel, StructuredProduct};
use crate::structured_matmul::scalars::Scalars;
use crate::tensor::{BatchDims, DType};

/// A product, or some of its columns, that the kernel computes.
#[derive(Debug)]
pub(super) struct KernelCall {
    product: Box<StructuredProduct>,
    /// The dimensions of a batch that are too many for the kernel: it is enqueued for each entry.
    outer: BatchDims<4>,
    kernel: StructuredKernel,
    dtype: DType,
    /// Of the factors, with the one that has a structure first, of what is added, and of the
    /// result.
    places: [Place; 4],
    has_addend: bool,
}

impl KernelCall {
    /// Describes a product of a matrix with a structure, which is the right factor if `is_right`.
    /// `None` if the kernel computes none of this structure.
    pub(super) fn new(
        kernel: StructuredKernel,
        dtype: DType,
        [matrix, other]: [&Operand; 2],
        is_right: bool,
        c: Option<&Operand>,
        result: &Operand,
    ) -> Option<Self> {
        let operands = [matrix, other, c.unwrap_or(result), result];
        let operands = operands.map(|operand| turned(operand, is_right));
        let [a, b, _, out] = &operands;
        let axes = [out.axis(), out.axis() + 1];
        let batch = BatchDims::outside(&axes, operands.each_ref().map(|operand| &operand.layout));
        let (outer, inner) = batch.split_at(batch.len().saturating_sub(DIMENSIONS));
        let product = StructuredProduct::new(
            stored(a.structure)?,
            out.extents(),
            operands.each_ref().map(Operand::steps),
            [a.is_conjugated, b.is_conjugated],
            inner,
        );
        let places = operands.each_ref().map(|operand| operand.place);
        let outer = BatchDims::merged(outer.iter().copied());
        let (product, has_addend) = (Box::new(product), c.is_some());
        Some(Self { product, outer, kernel, dtype, places, has_addend })
    }

    /// Enqueues the kernel.
    ///
    /// # Safety
    /// The matrices have the layouts of the call, and their memory is valid until the work is done.
    pub(super) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        address: impl Fn(Place) -> usize,
        scalars: Scalars,
        stream: StreamRef,
    ) -> Result<()> {
        if self.kernel == StructuredKernel::Repair && !scalars.has_factors() {
            return Ok(());
        }
        let beta = (self.has_addend && scalars.has_beta()).then_some(scalars.beta);
        let product = self.product.with_scalars(scalars.alpha, beta);
        let (first, dtype, kernel) = (self.places.map(address), self.dtype, self.kernel);
        for entry in 0..self.outer.count() {
            let mut addresses = first;
            for (address, offset) in addresses.iter_mut().zip(self.outer.offsets(entry)) {
                *address = address.wrapping_add_signed(offset as isize * dtype.size() as isize);
            }
            // SAFETY: the caller guarantees that the memory is valid.
            unsafe {
                kernels::multiply_structured(context, addresses, dtype, &product, kernel, stream)
            }?;
        }
        Ok(())
    }
}

/// Returns the transposed matrix if the structure is on the right: the transposed product has it on
/// the left.
fn turned(operand: &Operand, is_right: bool) -> Operand {
    if is_right { operand.clone().transposed() } else { operand.clone() }
}

/// What the kernel reads of a matrix with this structure.
fn stored(structure: Structure) -> Option<Stored> {
    if let Structure::Diagonal { is_reversed } = structure {
        return Some(Stored::Diagonal { is_reversed });
    }
    let (triangle, completed) = completed_as(structure)?;
    Some(Stored::Half { is_upper: triangle == Triangle::Upper, completed })
}
