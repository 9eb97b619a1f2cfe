//! What is to be multiplied, independent of the engine that does it.

use crate::error::{Error, Result};
use crate::operation::{Execution, OperandSpec, Problem, Request, alignment, check_output};
use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

/// The choices that a user makes about a product; everything else follows from the operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatmulRequest {
    /// What to write the result to; `None` for new memory in C order.
    pub output: Option<TensorView>,
}

/// A product of two matrices: element type and layouts. It is the key of the plan cache.
///
/// Invariants, kept by [`MatmulRequest`]: the layouts have two dimensions, with the extents of a
/// product, and no two elements of the result share memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatmulProblem {
    /// Element type of all three: float32 or float64.
    pub(super) dtype: DType,
    /// Layouts of the operands and of the result.
    pub(super) layouts: [Layout; 3],
    /// Bytes that each address is a multiple of: see [`alignment`]. cuBLASLt chooses by it.
    pub(super) alignment: usize,
}

impl Request for MatmulRequest {
    type Problem = MatmulProblem;

    fn problem(&self, inputs: &[&TensorView], execution: Execution) -> Result<MatmulProblem> {
        let &[a, b] = inputs else {
            return Err(Error::InvalidValue("matmul has two operands".into()));
        };
        for (name, view) in [("a", a), ("b", b)] {
            let is_known = matches!(view.dtype, DType::Float32 | DType::Float64);
            if !is_known || view.layout.ndim() != 2 {
                return Err(Error::InvalidValue(format!(
                    "{name} is of {}, but matmul takes matrices of type float32 or float64; \
                     convert or reshape it first",
                    view.describe()
                )));
            }
        }
        let (left, right) = (&a.layout, &b.layout);
        if a.dtype != b.dtype || a.device != b.device || left.shape[1] != right.shape[0] {
            return Err(Error::InvalidValue(format!(
                "a is of {} and b of {}, but both must have the same type and be in the same \
                 memory, and a as many columns as b has rows; convert, copy or transpose one",
                a.describe(),
                b.describe()
            )));
        }
        let layout = Layout::contiguous(&[left.shape[0], right.shape[1]]);
        let wanted = TensorView { layout, ..a.clone() };
        if let Some(out) = &self.output {
            check_output(out, &wanted)?;
            for (name, view) in [("a", a), ("b", b)] {
                if let Some(overlap) = out.overlap(view).words() {
                    return Err(Error::InvalidValue(format!(
                        "out and {name} {overlap} in memory; give memory of its own"
                    )));
                }
            }
        }
        let views = [a, b].into_iter().chain(&self.output);
        let alignment = alignment(views, execution.location());
        let result = self.output.as_ref().map_or(wanted.layout, |out| out.layout.clone());
        let layouts = [left.clone(), right.clone(), result];
        Ok(MatmulProblem { dtype: a.dtype, layouts, alignment })
    }

    fn is_about_inputs_alone(&self) -> bool {
        self.output.is_none()
    }
}

impl Problem for MatmulProblem {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        let name = *["a", "b"].get(index)?;
        Some(OperandSpec { name, dtype: self.dtype, layout: &self.layouts[index] })
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        let (name, dtype, layout) = ("out", self.dtype, &self.layouts[2]);
        (index == 0).then_some(OperandSpec { name, dtype, layout })
    }

    fn is_empty(&self) -> bool {
        self.layouts[2].is_empty()
    }

    fn fits_input(&self, _index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        alignment([view], location) >= self.alignment
    }

    fn fits_output(&self, index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        self.fits_input(index, view, location)
    }
}
