//! Copies of symmetric, Hermitian and triangular matrices with all their elements.

use crate::cpu_blas::{Structure, Triangle};
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::kernels::{self, Completed, Mirror, TiledCopy};
use crate::memory::ALIGNMENT;
use crate::tensor::{DType, Layout};

/// How a matrix, or a batch of matrices, is completed in the workspace.
#[derive(Debug)]
pub(super) struct Completion {
    /// Bytes from the start of the workspace.
    offset: usize,
    /// What is copied before, if the matrices of a batch do not follow each other.
    copy: Option<TiledCopy>,
    mirror: Mirror,
    dtype: DType,
}

impl Completion {
    /// Plans the completion of a matrix at an offset, and returns the layout that it has then, and
    /// the bytes that it takes. `None` if its structure is another one.
    pub(super) fn of(
        layout: &Layout,
        structure: Structure,
        dtype: DType,
        offset: usize,
    ) -> Result<Option<(Self, Layout, usize)>> {
        let Some((triangle, completed)) = completed_as(structure) else { return Ok(None) };
        let axis = layout.ndim() - 2;
        let side = layout.shape[axis];
        // Entries of a batch that share memory share the copy too.
        let mut source = layout.clone();
        for axis in 0..axis {
            if source.strides[axis] == 0 {
                source.shape[axis] = 1;
            }
        }
        let [down, right] = [source.strides[axis], source.strides[axis + 1]];
        let is_turned = is_row_major([down, right]);
        let mut dims: Vec<usize> = (0..layout.ndim()).collect();
        if !is_turned {
            dims.swap(axis, axis + 1);
        }
        let packed = Layout::packed(&source.shape, &dims);
        let matrices: i64 = source.shape[..axis].iter().product();
        let is_upper = is_upper_in_memory(triangle, [down, right]);
        let mut mirror = Mirror::new(side, matrices, is_upper, completed);
        let mut batch = (0..axis).filter(|&axis| source.shape[axis] > 1);
        let (first, second) = (batch.next(), batch.next());
        let copy = if second.is_some() {
            Some(TiledCopy::of(&packed, &source, dtype.size())?)
        } else {
            let steps = if is_turned { [right, down] } else { [down, right] };
            mirror = mirror.from(steps, first.map_or(0, |axis| source.strides[axis]));
            None
        };
        let mut whole = packed;
        for axis in 0..axis {
            if whole.shape[axis] != layout.shape[axis] {
                whole.strides[axis] = 0;
            }
        }
        whole.shape.clone_from(&layout.shape);
        let bytes = (matrices * side * side) as usize * dtype.size();
        let completion = Self { offset, copy, mirror, dtype };
        Ok(Some((completion, whole, bytes.next_multiple_of(ALIGNMENT))))
    }

    /// Enqueues the completion of the matrix at an address, and returns the address of the copy.
    ///
    /// # Safety
    /// The matrix has the planned layout, and the workspace has room; both are in memory of the
    /// stream's device that is valid until the work is done.
    pub(super) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        mut from: usize,
        workspace: usize,
        stream: StreamRef,
    ) -> Result<usize> {
        let to = workspace + self.offset;
        // SAFETY: the caller guarantees it.
        unsafe {
            if let Some(copy) = &self.copy {
                kernels::copy(context, to, from, copy, stream)?;
                from = to;
            }
            kernels::mirror(context, to, from, self.dtype, &self.mirror, stream)?;
        }
        Ok(to)
    }
}

/// The triangle that is stored of a matrix, and how the others are completed. `None` if all
/// elements are stored, or those of the diagonal alone.
pub(super) fn completed_as(structure: Structure) -> Option<(Triangle, Completed)> {
    match structure {
        Structure::Symmetric(triangle) => Some((triangle, Completed::Symmetric)),
        Structure::Hermitian(triangle) => Some((triangle, Completed::Hermitian)),
        Structure::Triangular { triangle, has_unit_diagonal: false } => {
            Some((triangle, Completed::Triangular))
        }
        Structure::Triangular { triangle, has_unit_diagonal: true } => {
            Some((triangle, Completed::UnitTriangular))
        }
        Structure::General | Structure::Diagonal { .. } => None,
    }
}

/// Whether a matrix with these steps along rows and columns is in row-major order.
fn is_row_major([down, right]: [i64; 2]) -> bool {
    right == 1 && down != 1
}

/// Whether the memory of a matrix has the upper triangle if it is read in column-major order: in
/// row-major order, it has the transposed matrix, in the other triangle.
fn is_upper_in_memory(triangle: Triangle, steps: [i64; 2]) -> bool {
    (triangle == Triangle::Upper) != is_row_major(steps)
}
