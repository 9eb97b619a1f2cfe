//! Matrices of a product on a GPU, and whether cuBLAS takes them as they are.

use crate::cpu_blas::Structure;
use crate::structured_matmul::problem::Product;
use crate::tensor::{DType, Layout};

/// Where a matrix is during an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `a`, `b` or `c`.
    Input(usize),
    Result,
    /// So many bytes from the start of the workspace.
    Workspace(usize),
}

/// A matrix, or a batch of matrices in the dimensions before the last two.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) place: Place,
    /// The last two strides of a diagonal matrix are that of its vector, and 0.
    pub(super) layout: Layout,
    pub(super) structure: Structure,
    pub(super) is_conjugated: bool,
}

/// The order of matrices in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Columns,
    Rows,
}

impl Operand {
    /// One of the factors of a product, where the caller has it.
    pub(super) fn factor(product: &Product, index: usize, dtype: DType) -> Self {
        let factor = product.factor(index);
        // Real numbers are their own conjugates.
        let structure = match factor.structure {
            Structure::Hermitian(triangle) if !dtype.is_complex() => Structure::Symmetric(triangle),
            structure => structure,
        };
        let is_conjugated = factor.is_conjugated && dtype.is_complex();
        let (place, layout) = (Place::Input(index), factor.layout.clone());
        Self { place, layout, structure, is_conjugated }
    }

    /// A matrix all of whose elements are stored.
    pub(super) fn general(place: Place, layout: Layout) -> Self {
        Self { place, layout, structure: Structure::General, is_conjugated: false }
    }

    /// The number of the dimension of rows; the next one is that of columns.
    pub(super) fn axis(&self) -> usize {
        self.layout.ndim() - 2
    }

    /// Rows and columns.
    pub(super) fn extents(&self) -> [i64; 2] {
        [0, 1].map(|side| self.layout.shape[self.axis() + side])
    }

    /// The steps along rows and along columns.
    pub(super) fn steps(&self) -> [i64; 2] {
        [0, 1].map(|side| self.layout.strides[self.axis() + side])
    }

    /// Returns the transposed matrix, in the same memory.
    pub(super) fn transposed(mut self) -> Self {
        let axis = self.axis();
        if !self.structure.is_diagonal() {
            self.layout.shape.swap(axis, axis + 1);
            self.layout.strides.swap(axis, axis + 1);
        }
        self.structure = self.structure.transposed();
        self
    }

    /// Returns the elements from a column to the next if the matrix is in column-major order, or
    /// from a row to the next if it is in row-major order.
    pub(super) fn step(&self, order: Order) -> Option<i64> {
        let ([mut rows, mut columns], [mut down, mut right]) = (self.extents(), self.steps());
        if order == Order::Rows {
            (rows, columns) = (columns, rows);
            (down, right) = (right, down);
        }
        let length = rows.max(1);
        if columns <= 1 {
            return (rows <= 1 || down == 1).then_some(length);
        }
        ((rows <= 1 || down == 1) && right >= length).then_some(right)
    }
}
