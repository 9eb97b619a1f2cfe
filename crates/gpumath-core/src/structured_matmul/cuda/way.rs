//! Which way takes the least time for a product of a matrix of which one triangle is stored: rules
//! from measurements on one GPU.

use super::completion::completed_as;
use super::operand::Operand;
use crate::cpu_blas::Structure;
use crate::device::Device;
use crate::error::Result;
use crate::kernels::StructuredKernel;
use crate::tensor::DType;

/// A completed matrix, or copies of the other operands, may take one byte of so many of the GPU's
/// memory.
const MOST_COMPLETED: usize = 16;

/// Returns the bytes that a completed matrix may take.
pub(super) fn most_completed(device: i32) -> Result<usize> {
    Ok(Device::new(device)?.total_memory()? / MOST_COMPLETED)
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By one kernel of ours.
    Kernel(StructuredKernel),
    /// As a general product, of a copy with all elements.
    Completed,
    /// By cuBLAS's functions, which compute the products of a batch one by one.
    Library,
    /// By cuBLAS's function for the transposed product, which is copied to the result.
    LibraryTransposed,
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
    /// Whether the matrix is the right factor for cuBLAS, whose results are in column-major order.
    is_right: bool,
    /// Whether neighbours in the memory of the result are none in that of the matrix.
    is_matrix_across: bool,
}

impl HalfStored {
    /// Describes a product of `matrix`, which is the right factor if `is_right`, and another one.
    /// `None` if all elements of the matrix are stored, or those of the diagonal alone.
    pub(super) fn new(
        dtype: DType,
        matrix: &Operand,
        is_right: bool,
        result: &Operand,
    ) -> Option<Self> {
        completed_as(matrix.structure)?;
        let [rows, columns] = result.extents();
        let (side, width) = if is_right { (columns, rows) } else { (rows, columns) };
        let [is_matrix_in_rows, is_result_in_rows] = [matrix, result].map(|operand| {
            let [down, right] = operand.steps();
            right.unsigned_abs() <= down.unsigned_abs()
        });
        Some(Self {
            structure: matrix.structure,
            dtype,
            side,
            other: width,
            batch: result.layout.shape[..result.axis()].iter().product(),
            is_right: is_right != is_result_in_rows,
            is_matrix_across: is_matrix_in_rows != is_result_in_rows,
        })
    }

    /// Chooses the way, where a completed matrix and other copies may take at most so many bytes
    /// each, and the result may overwrite what is added.
    pub(super) fn way(self, most: usize, is_in_place: bool) -> Way {
        let elements_of_copies =
            self.side.saturating_mul(self.other).saturating_mul(2 * self.batch);
        let fits = |elements: i64| elements.saturating_mul(self.dtype.size() as i64) <= most as i64;
        if self.is_fast_transposed() && fits(elements_of_copies) {
            return Way::LibraryTransposed;
        }
        let is_fast_in_library = self.other > 1 && self.is_fast_in_library();
        if let Some(kernel) = self.kernel().filter(|_| !is_fast_in_library) {
            return Way::Kernel(kernel);
        }
        let elements = self.side.saturating_mul(self.side).saturating_mul(self.batch);
        // What is added in place is gone when columns of a triangle are computed again.
        let is_excluded = if self.is_triangular() { is_in_place } else { self.is_small() };
        let is_completed = !is_fast_in_library && !is_excluded;
        if is_completed && fits(elements) {
            return Way::Completed;
        }
        if self.side <= 24 && self.work() <= 1 << 25 && !is_fast_in_library {
            return Way::Kernel(StructuredKernel::Elements);
        }
        if self.batch > 1 && self.work() / self.batch <= 1 << 24 {
            return Way::Kernel(StructuredKernel::Tiles);
        }
        Way::Library
    }

    /// Multiplications of matrices with all elements.
    fn work(self) -> i64 {
        let Self { side, other, batch, .. } = self;
        side.saturating_mul(side).saturating_mul(other).saturating_mul(batch)
    }

    /// Whether the other triangle is zero.
    pub(super) fn is_triangular(self) -> bool {
        matches!(self.structure, Structure::Triangular { .. })
    }

    /// Whether completing a symmetric matrix takes longer than its product by cuBLAS.
    fn is_small(self) -> bool {
        let Self { side, other, batch, .. } = self;
        batch == 1 && side < 128 && (side < 16 || side * other < 12 << 10)
    }

    /// The kernel of ours that takes the least time, if there is one: completed matrices take two
    /// or three kernels, which take several microseconds to begin.
    fn kernel(self) -> Option<StructuredKernel> {
        let Self { dtype, side, other, batch, .. } = self;
        let (is_batch, is_triangular) = (batch > 1, self.is_triangular());
        if other == 1 && self.are_vectors_many() {
            return Some(StructuredKernel::Elements);
        }
        if other == 1 || self.are_columns_few() {
            return Some(StructuredKernel::FewColumns);
        }
        // In batches, a thread for each element takes less time than a block for each square.
        let (most_columns, sides) = match (is_triangular, dtype) {
            (_, DType::Float64) | (false, DType::Complex128) => (0, 0..0),
            (true, _) => (16, 24..200),
            (false, _) => (4, 64..200),
        };
        let is_long_batch = is_batch && sides.contains(&side) && other <= most_columns;
        if is_long_batch && self.work() <= 1 << 26 {
            return Some(StructuredKernel::Elements);
        }
        if self.is_for_tiles() {
            return Some(StructuredKernel::Tiles);
        }
        let most = match (is_triangular, side <= 8, dtype) {
            (true, true, DType::Complex64) => 1 << 25,
            (true, true, _) | (true, false, DType::Complex64) => 1 << 24,
            (true, false, _) => 1 << 23,
            (false, true, _) => 1 << 22,
            (false, false, _) => 1 << 21,
        };
        let longest = if is_triangular { 64 } else { 24 };
        (side <= longest && self.work() <= most).then_some(StructuredKernel::Elements)
    }

    /// Whether a batch of single columns takes less time with a thread for each element than with
    /// a warp for each row.
    fn are_vectors_many(self) -> bool {
        let (least_batch, most_side) = match (self.is_triangular(), self.dtype) {
            (true, DType::Float32) => (75, 500),
            (true, DType::Float64) => (145, 250),
            (true, DType::Complex64) => (90, 250),
            (true, _) => (215, 130),
            (false, DType::Float32) => (120, 400),
            (false, DType::Float64) => (200, 200),
            (false, DType::Complex64) => (150, 270),
            (false, _) => (270, 100),
        };
        self.side <= 8 || (self.batch >= least_batch && self.side <= most_side)
    }

    /// Whether there are so few columns that the kernel for them takes the least time. It reads the
    /// matrix for each four of them again.
    fn are_columns_few(self) -> bool {
        let Self { dtype, side, other, batch, .. } = self;
        let is_triangular = self.is_triangular();
        let least_side = match dtype {
            _ if is_triangular => 32,
            DType::Float32 | DType::Complex64 => 64,
            DType::Complex128 if other <= 2 => 64,
            _ if batch > 1 => 64,
            _ => 1500,
        };
        let most_columns = if is_triangular && dtype != DType::Complex128 { 8 } else { 4 };
        let are_very_few = side >= least_side && other <= most_columns;
        if batch > 1 {
            // Many small blocks take longer than those of other kernels.
            let are_blocks_few = side * other * batch <= 1 << 14;
            return are_very_few && (are_blocks_few || side >= 200)
                || is_triangular && are_blocks_few && side >= least_side && other <= 16;
        }
        let (least_side, most_columns, most_work) = match (is_triangular, dtype) {
            (true, DType::Float32) => (20, 64, 1 << 24),
            (true, DType::Float64) => (12, 64, 1 << 23),
            (true, DType::Complex64) => (16, 64, 1 << 25),
            (true, _) => (9, 64, 1 << 21),
            (false, DType::Float32) => (64, 48, 1 << 22),
            (false, DType::Complex64) => (20, 64, 1 << 22),
            (false, DType::Complex128) => (20, 64, 1 << 16),
            (false, _) => return are_very_few,
        };
        are_very_few || (side >= least_side && other <= most_columns && self.work() <= most_work)
    }

    /// Whether the kernel for squares takes the least time.
    fn is_for_tiles(self) -> bool {
        let Self { dtype, side, batch, .. } = self;
        let (sides, most_work) = match (self.is_triangular(), dtype) {
            (true, DType::Float32) => (32..=320, 1 << 23),
            (true, DType::Float64) => (12..=320, 1 << 24),
            (true, DType::Complex64) => (48..=192, 1 << 24),
            (true, _) => (16..=160, 1 << 23),
            (false, DType::Float32) => (16..=224, 1 << 22),
            (false, DType::Float64) => (9..=192, 1 << 21),
            (false, DType::Complex64) => (if batch > 1 { 25 } else { 20 }..=80, 1 << 21),
            (false, _) if batch > 1 => (9..=128, 1 << 18),
            (false, _) => (9..=128, 1 << 20),
        };
        let is_short = batch > 1 && self.is_triangular() && side < 28;
        let most_work = if batch > 1 && self.is_triangular() { most_work / 2 } else { most_work };
        sides.contains(&side) && !is_short && self.work() <= most_work
    }

    /// Whether cuBLAS's function for the transposed product, and the copies that this needs, take
    /// less time than anything else. The functions of double precision take several times as long
    /// for most right factors as for left ones.
    fn is_fast_transposed(self) -> bool {
        let Self { dtype, side, other, batch, .. } = self;
        if !self.is_right || self.is_fast_right_factor() {
            return false;
        }
        // Sides, each with the fewest columns from which this is so.
        let least: &[[i64; 2]] = match (self.is_triangular(), dtype) {
            (true, DType::Float64) if batch == 1 => &[[1000, 16], [1700, 2]],
            (true, DType::Float64) => &[[1700, 2]],
            (true, DType::Complex128) => &[[1500, 65], [2500, 33]],
            (false, DType::Float64) if batch == 1 && other <= 200 => &[[1700, 2]],
            _ => &[],
        };
        let is_even = side % 2 == 0 || dtype == DType::Complex128;
        is_even && reaches(least, side, other)
    }

    /// Whether cuBLAS multiplies by such a right factor in double precision as fast as by a left
    /// one.
    fn is_fast_right_factor(self) -> bool {
        let Self { side, other, .. } = self;
        let is_long = side >= 2000 && other % 4 == 0 || other >= 40 && other % 2 == 0;
        self.dtype == DType::Float64 && if self.is_triangular() { is_long } else { other % 2 == 0 }
    }

    /// Whether cuBLAS's function for a large matrix takes less time than a product of the completed
    /// one and than our kernels. It multiplies triangles half as often, but takes long to begin.
    fn is_fast_in_library(self) -> bool {
        let Self { structure, dtype, side, other, batch, is_right, .. } = self;
        let work = side as f64 * side as f64 * other as f64;
        let is_even = side % 2 == 0;
        let is_slow = is_right && !self.is_fast_right_factor();
        // Sides, each with the fewest columns from which the function is fast.
        let least: &[[i64; 2]] = match (self.is_triangular(), dtype) {
            (true, DType::Float64) if is_even && (batch == 1 || side >= 1700) => match is_right {
                _ if is_slow => &[],
                false => &[[480, 48], [1000, 8], [1200, 4], [1700, 2]],
                true => &[[480, 40], [2000, 4]],
            },
            (true, _) if batch > 1 => {
                let least = match dtype {
                    DType::Float32 => 1.2e10,
                    DType::Complex64 => 5e9,
                    DType::Float64 if is_even && !is_slow => 6e8,
                    DType::Float64 => 1.6e9,
                    _ => 2e8,
                };
                return work >= least;
            }
            (true, DType::Float32) => return work >= 6e9,
            (true, DType::Complex64) => return work >= 2.5e9,
            (true, DType::Float64) => return work >= 8e8,
            (true, _) => &[[600, 128], [700, 16], [1400, 3]],
            (false, DType::Float64) if batch == 1 && is_even && !is_slow && other <= 100 => {
                &[[1160, 8], [1430, 4], [2000, 2]]
            }
            (false, DType::Complex128) if batch == 1 && other <= 64 => {
                // The matrix in the other order is the conjugate, which is copied.
                let is_copied =
                    self.is_matrix_across && matches!(structure, Structure::Hermitian(_));
                return side >= 1500 && !is_copied;
            }
            (false, _) => &[],
        };
        reaches(least, side, other)
    }
}

/// Whether a side and its columns are as many as one of these pairs.
fn reaches(pairs: &[[i64; 2]], side: i64, other: i64) -> bool {
    pairs.iter().any(|&[least_side, least]| side >= least_side && other >= least)
}
