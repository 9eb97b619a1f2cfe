//! Products by triangular and diagonal matrices that one kernel of ours computes.

use super::operand::{Operand, Order};
use super::route::{Factor, Route, Step};
use crate::cpu_blas::{Structure, Triangle};
use crate::error::Result;
use crate::kernels::{Stored, StructuredProduct};
use crate::tensor::BatchDims;

/// Multiplications of a product by a triangle up to which a batch takes less time in one kernel.
const MOST_OF_TRIANGLE: i64 = 1 << 24;

/// Elements of results from which reading across lines takes longer than a copy.
const MANY_ELEMENTS: i64 = 1 << 16;

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
        // The transposed product has the structure on the left.
        let turned = |operand: &Operand| {
            if is_right { operand.clone().transposed() } else { operand.clone() }
        };
        let (a, out) = (turned(matrix), turned(result));
        let [rows, columns] = out.extents();
        let axes = [out.axis(), out.axis() + 1];
        let entries: i64 = out.layout.shape[..out.axis()].iter().product();
        let work = rows.saturating_mul(rows).saturating_mul(columns);
        let stored = match a.structure {
            Structure::Triangular { triangle: Triangle::Lower, has_unit_diagonal } => {
                Stored::Lower { has_unit_diagonal }
            }
            Structure::Triangular { triangle: Triangle::Upper, has_unit_diagonal } => {
                Stored::Upper { has_unit_diagonal }
            }
            Structure::Diagonal { is_reversed } => Stored::Diagonal { is_reversed },
            _ => return Ok(false),
        };
        let is_diagonal = a.structure.is_diagonal();
        if entries == 1 || (!is_diagonal && work > MOST_OF_TRIANGLE) {
            return Ok(false);
        }
        let are_many = rows.saturating_mul(columns).saturating_mul(entries) >= MANY_ELEMENTS;
        let is_across = rows > 1 && columns > 1 && other.step(Order::Columns).is_none();
        let b = if is_diagonal && are_many && is_across {
            turned(&self.copied(other, Order::Columns)?)
        } else {
            turned(other)
        };
        let operands = [&a, &b, &turned(c.unwrap_or(result)), &out];
        let batch = BatchDims::outside(&axes, operands.map(|operand| &operand.layout));
        let steps = operands.map(Operand::steps);
        let are_conjugated = [a.is_conjugated, b.is_conjugated];
        let Some(product) =
            StructuredProduct::new(stored, [rows, columns], steps, are_conjugated, &batch)
        else {
            return Ok(false);
        };
        let (product, places) = (Box::new(product), operands.map(|operand| operand.place));
        let has_addend = c.is_some();
        self.steps.push(Step::Structured { product, places, alpha: Factor::Alpha, has_addend });
        Ok(true)
    }
}
