//! Which way takes the least time for a product of a matrix of which one triangle is stored: rules
//! from measurements on one GPU.

use super::completion::{completed_as, is_upper_in_memory};
use super::operand::Operand;
use crate::cpu_blas::Structure;
use crate::device::Device;
use crate::error::Result;
use crate::tensor::DType;

/// A completed matrix may take one byte of so many of the GPU's memory.
const MOST_COMPLETED: usize = 16;

/// Returns the bytes that a completed matrix may take.
pub(super) fn most_completed(device: i32) -> Result<usize> {
    Ok(Device::new(device)?.total_memory()? / MOST_COMPLETED)
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By one kernel of ours.
    Kernel,
    /// As a general product, of a copy with all elements.
    Completed,
    /// By cuBLAS's functions, which compute the products of a batch one by one.
    Library,
}

/// A product of a matrix of which one triangle is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfStored {
    structure: Structure,
    dtype: DType,
    side: i64,
    /// Rows or columns of the other factor, besides the common ones.
    other: i64,
    /// Number of products.
    batch: i64,
    /// Whether the upper triangle is stored, if the memory is in column-major order.
    is_upper: bool,
    /// Whether neighbours in the memory of the result are none in that of the other factor.
    is_across: bool,
    /// Whether cuBLAS gets the matrix as the right factor and transposes it.
    is_turned_on_right: bool,
}

impl HalfStored {
    /// Describes a product of a matrix, which is the right factor if `is_right`, and another one.
    /// `None` if all elements of the matrix are stored, or those of the diagonal alone.
    pub(super) fn new(
        dtype: DType,
        [matrix, other]: [&Operand; 2],
        is_right: bool,
        result: &Operand,
    ) -> Option<Self> {
        let (triangle, _) = completed_as(matrix.structure)?;
        let [rows, columns] = result.extents();
        let (side, width) = if is_right { (columns, rows) } else { (rows, columns) };
        let orders = [matrix, other, result].map(|operand| {
            let [down, right] = operand.steps();
            right.unsigned_abs() <= down.unsigned_abs()
        });
        let [is_matrix_in_rows, is_other_in_rows, is_result_in_rows] = orders;
        Some(Self {
            structure: matrix.structure,
            dtype,
            side,
            other: width,
            batch: result.layout.shape[..result.axis()].iter().product(),
            is_upper: is_upper_in_memory(triangle, matrix.steps()),
            is_across: is_other_in_rows != is_result_in_rows,
            // cuBLAS's results are in column-major order.
            is_turned_on_right: is_right != is_result_in_rows
                && is_matrix_in_rows != is_result_in_rows,
        })
    }

    /// Chooses the way, where a completed matrix may take at most so many bytes, and the result may
    /// overwrite what is added.
    pub(super) fn way(self, most: usize, is_in_place: bool) -> Way {
        if self.is_for_kernel() {
            return Way::Kernel;
        }
        let elements = self.side.saturating_mul(self.side).saturating_mul(self.batch);
        let can_be_completed = elements.saturating_mul(self.dtype.size() as i64) <= most as i64;
        let is_completed = if self.is_triangular() {
            // What is added in place is gone when columns are computed again.
            !is_in_place && !self.is_large_triangle()
        } else {
            self.is_symmetric_completed()
        };
        if can_be_completed && is_completed {
            return Way::Completed;
        }
        let work = self.side.saturating_mul(self.side).saturating_mul(self.other);
        if self.batch > 1 && work <= 1 << 24 { Way::Kernel } else { Way::Library }
    }

    /// Whether the other triangle is zero.
    pub(super) fn is_triangular(self) -> bool {
        matches!(self.structure, Structure::Triangular { .. })
    }

    /// In double precision, cuBLAS's functions are fast for few columns and a large matrix of a
    /// multiple of four rows whose upper triangle is stored.
    fn is_symmetric_completed(self) -> bool {
        let Self { dtype, side, other, batch, is_upper, .. } = self;
        let is_double = matches!(dtype, DType::Float64 | DType::Complex128);
        if is_double && is_upper && side >= 1500 && side % 4 == 0 && (2..256).contains(&other) {
            return batch > 1;
        }
        batch > 1 || side >= 128 || (side >= 16 && side * other >= 12 << 10)
    }

    /// Whether there are so few columns that the kernel reads the matrix once or twice, or so few
    /// multiplications that it takes no longer than several kernels take to begin.
    fn is_for_kernel(self) -> bool {
        let Self { dtype, side, other, batch, is_across, .. } = self;
        let is_double = matches!(dtype, DType::Float64 | DType::Complex128);
        let (few, longest) = match self.is_triangular() {
            true => (8, 128),
            // cuBLAS's functions take less time.
            false if is_double && batch == 1 => (4, 24),
            false => (4, 64),
        };
        if other == 1 || side <= 8 || (side >= 64 && other <= few) {
            return true;
        }
        let work = side.saturating_mul(side).saturating_mul(other).saturating_mul(batch);
        if side <= 24 {
            return work <= if is_across { 1 << 22 } else { 1 << 25 };
        }
        let most = match dtype {
            _ if is_across => 1 << 19,
            DType::Complex128 => 1 << 22,
            _ => 1 << 24,
        };
        side <= longest && work <= most
    }

    /// Whether cuBLAS's function for triangles takes less time than a product of the completed
    /// matrix: it multiplies half as often, but takes long to begin.
    fn is_large_triangle(self) -> bool {
        let Self { dtype, side, other, batch, is_turned_on_right, .. } = self;
        let work = side as f64 * side as f64 * other as f64;
        let least = match dtype {
            DType::Float32 => 6e9,
            DType::Complex64 => 2.5e9,
            DType::Float64 if is_turned_on_right => 1e9,
            DType::Float64 => 3e8,
            _ => 1e8,
        };
        if batch > 1 {
            return work >= 2.0 * least;
        }
        let is_fast_case = dtype == DType::Float64 && side % 2 == 0 && !is_turned_on_right;
        let is_long = side >= 1240 || (side >= 480 && other >= 48);
        work >= least || (is_fast_case && is_long)
    }
}
