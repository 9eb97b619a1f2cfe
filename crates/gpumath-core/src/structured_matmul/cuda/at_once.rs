//! Products by triangular and diagonal matrices, and columns of them, that one kernel of ours
//! computes.

use super::operand::{Operand, Order, Place};
use super::route::{Factor, Route, Step};
use crate::cpu_blas::{Structure, Triangle};
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::kernels::{self, Part, Stored, StructuredProduct};
use crate::structured_matmul::scalars::Scalars;
use crate::tensor::{BatchDims, DType};

/// Multiplications of a product by a triangle up to which a batch takes less time in one kernel.
const MOST_OF_TRIANGLE: i64 = 1 << 24;

/// Elements of results from which reading across lines takes longer than a copy.
const MANY_ELEMENTS: i64 = 1 << 16;

/// A product, or some of its columns, that the kernel computes.
#[derive(Debug)]
pub(super) struct KernelCall {
    product: Box<StructuredProduct>,
    part: Part,
    dtype: DType,
    /// Of the factors, with the one that has a structure first, of what is added, and of the result.
    places: [Place; 4],
    has_addend: bool,
}

impl KernelCall {
    /// Describes a product of a matrix with a structure, which is the right factor if `is_right`.
    /// `None` if the kernel computes none of this structure, or in so many dimensions.
    pub(super) fn new(
        part: Part,
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
        let are_conjugated = [a.is_conjugated, b.is_conjugated];
        let steps = operands.each_ref().map(Operand::steps);
        let product = StructuredProduct::new(
            stored(a.structure)?,
            out.extents(),
            steps,
            are_conjugated,
            &batch,
        );
        let (product, places) = (Box::new(product?), operands.map(|operand| operand.place));
        Some(Self { product, part, dtype, places, has_addend: c.is_some() })
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
        if matches!(self.part, Part::WithNan) && !scalars.has_factors() {
            return Ok(());
        }
        let beta = (self.has_addend && scalars.has_beta()).then_some(scalars.beta);
        let product = self.product.with_scalars(scalars.alpha, beta);
        let (addresses, dtype, part) = (self.places.map(address), self.dtype, self.part);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            kernels::multiply_structured(context, addresses, dtype, &product, part, stream)
        }
    }
}

impl Route {
    /// Adds the kernel that computes a batch of products by diagonal matrices, or of small ones by
    /// triangles, which cuBLAS would compute one by one. The result is in column-major order.
    /// Returns whether there is such a kernel.
    pub(super) fn multiply_at_once(
        &mut self,
        matrix: &Operand,
        other: &Operand,
        is_right: bool,
        c: Option<&Operand>,
        result: &Operand,
    ) -> Result<bool> {
        let [rows, columns] = turned(result, is_right).extents();
        let entries: i64 = result.layout.shape[..result.axis()].iter().product();
        let is_diagonal = matrix.structure.is_diagonal();
        let work = rows.saturating_mul(rows).saturating_mul(columns);
        let is_once = if is_diagonal { entries > 1 } else { match std::env::var("GPUMATH_TRI").as_deref() { Ok("once") => true, Ok("blas") => false, _ => entries > 1 && work <= MOST_OF_TRIANGLE } };
        if stored(matrix.structure).is_none() || !is_once {
            return Ok(false);
        }
        let are_many = rows.saturating_mul(columns).saturating_mul(entries) >= MANY_ELEMENTS;
        let is_across = rows > 1 && columns > 1 && other.step(Order::Columns).is_none();
        let copy = if is_diagonal && are_many && is_across {
            Some(self.copied(other, Order::Columns)?)
        } else {
            None
        };
        let factors = [matrix, copy.as_ref().unwrap_or(other)];
        let call = KernelCall::new(Part::Whole, self.dtype, factors, is_right, c, result);
        let Some(call) = call else { return Ok(false) };
        self.steps.push(Step::Structured { call, alpha: Factor::Alpha });
        Ok(true)
    }
}

/// Returns the transposed matrix if the structure is on the right: the transposed product has it on
/// the left.
fn turned(operand: &Operand, is_right: bool) -> Operand {
    if is_right { operand.clone().transposed() } else { operand.clone() }
}

/// What the kernel reads of a matrix with this structure.
fn stored(structure: Structure) -> Option<Stored> {
    match structure {
        Structure::Triangular { triangle: Triangle::Lower, has_unit_diagonal } => {
            Some(Stored::Lower { has_unit_diagonal })
        }
        Structure::Triangular { triangle: Triangle::Upper, has_unit_diagonal } => {
            Some(Stored::Upper { has_unit_diagonal })
        }
        Structure::Diagonal { is_reversed } => Some(Stored::Diagonal { is_reversed }),
        _ => None,
    }
}
