//! The argument of the kernels of `product.cu`, and which of them computes a product.

use std::ffi::CStr;

use crate::tensor::{BatchDims, DType};

/// Threads of a block.
const THREADS: i64 = super::BLOCK as i64;
/// Threads of a warp.
const WARP: i64 = 32;
/// Bytes that a thread loads and stores at once.
const WORD: i64 = 16;
/// Rows and columns of the tiles of small matrices.
const SMALL_EDGE: i64 = 16;
/// Rows of the tiles of matrices of small depth, fewer of elements of two bytes; their columns are
/// 16 words.
const THIN_ROWS: i64 = 128;
const THIN_ROWS_OF_HALVES: i64 = 64;
const THIN_WORDS: i64 = 16;
/// Steps of a sum that a thread takes at a time, in products of a matrix and a vector.
const UNROLLED: i64 = 4;
/// Blocks that fill a large GPU.
const MANY_BLOCKS: i64 = 264;
/// More times than a thread should wait for memory.
const MANY_ROUNDS: i64 = 8;
/// Bytes of a sector of memory, which the GPU loads at least.
const SECTOR: i64 = 32;

/// The steps between neighbours of `a`, `b` and the result along rows, columns and depth, and what
/// else describes a product for these kernels.
#[derive(Clone, Debug)]
pub(crate) struct StridedProduct {
    pub(crate) dtype: DType,
    pub(crate) result: DType,
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    pub(crate) depth: i64,
    /// Of `a`, `b` and the result, from one row to the next and from one column to the next.
    pub(crate) strides: [[i64; 2]; 3],
    pub(crate) conjugate: [bool; 2],
    pub(crate) batch: BatchDims<3>,
    /// Bytes that each address is a multiple of.
    pub(crate) alignment: usize,
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In tiles of 16 × 16.
    Small,
    /// In tiles that are as large as a small depth allows.
    Thin,
    /// Of a matrix and a vector, whose elements follow each other along rows.
    Rows,
    /// Likewise, along columns.
    Columns,
}

/// The argument of the kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    tiles: i64,
    rows: i64,
    columns: i64,
    depth: i64,
    column_tiles: i64,
    row_tiles: i64,
    entries: i64,
    a: [i64; 4],
    b: [i64; 4],
    c: [i64; 4],
    is_packed: [i64; 3],
    is_conjugated: [i64; 2],
    lanes: i64,
    alpha: [f64; 2],
}

/// A product as a kernel computes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductCall {
    arguments: Arguments,
    dtype: DType,
    way: Way,
    /// Whether the kernel computes the transposed product, and takes the factors so.
    is_transposed: bool,
}

impl ProductCall {
    /// Bytes of the argument of the kernels.
    #[cfg(test)]
    pub(super) const ARGUMENTS_SIZE: usize = size_of::<Arguments>();

    /// Describes a product; `None` if there is no kernel for its types, addresses or batch.
    pub(crate) fn of(product: &StridedProduct) -> Option<Self> {
        let StridedProduct { dtype, result, .. } = *product;
        let is_known = match dtype {
            DType::Int8 => result == DType::Int32,
            DType::Float16
            | DType::BFloat16
            | DType::Float32
            | DType::Float64
            | DType::Complex64
            | DType::Complex128 => result == dtype,
            _ => false,
        };
        let dims: Vec<_> = product.batch.iter().rev().copied().collect();
        // A kernel loads a complex number as a whole, whose address need not be a multiple of that.
        let is_aligned = product.alignment.is_multiple_of(dtype.size());
        if !is_known || !is_aligned || dims.len() > 2 {
            return None;
        }
        // The kernels store neighbours along rows, and take a vector for one column.
        let [[a_row, a_depth], [b_depth, b_column], [c_row, c_column]] = product.strides;
        let is_vector = product.rows == 1 || product.columns == 1;
        let is_transposed =
            if is_vector { product.columns != 1 } else { distance(c_row) < distance(c_column) };
        let entries = dims.first().map_or(1, |dim| dim.extent);
        let steps = |matrix: usize, first: i64, second: i64| {
            let step = |dim: usize| dims.get(dim).map_or(0, |dim| dim.strides[matrix]);
            [first, second, step(0), step(1)]
        };
        let (rows, columns, a, b, c) = if is_transposed {
            let factors = (steps(1, b_column, b_depth), steps(0, a_depth, a_row));
            (product.columns, product.rows, factors.0, factors.1, steps(2, c_column, c_row))
        } else {
            let factors = (steps(0, a_row, a_depth), steps(1, b_depth, b_column));
            (product.rows, product.columns, factors.0, factors.1, steps(2, c_row, c_column))
        };
        let mut conjugate = product.conjugate.map(i64::from);
        if is_transposed {
            conjugate.reverse();
        }
        let per_word = WORD / dtype.size() as i64;
        let per_result = WORD / result.size() as i64;
        let is_packed = |steps: [i64; 4], fast: usize, count: i64| {
            product.alignment.is_multiple_of(WORD as usize)
                && steps[fast] == 1
                && (0..4).all(|index| index == fast || steps[index] % count == 0)
        };
        let depth = product.depth;
        let by_rows = rows == 1 || distance(a[1]) < distance(a[0]);
        let copies = dims.iter().map(|dim| dim.extent).product::<i64>();
        let (way, tile, lanes, packed) = if is_vector && by_rows {
            let lanes = lanes_along_rows(rows.saturating_mul(copies), depth, per_word);
            let packed = [is_packed(a, 1, per_word), is_packed(b, 0, per_word), false];
            (Way::Rows, [lanes, 1], lanes, packed)
        } else if is_vector {
            let words = ((rows + per_word - 1) / per_word).saturating_mul(copies);
            let lanes = lanes_along_columns(words, depth, dtype.size() as i64 * per_word);
            (Way::Columns, [lanes * per_word, 1], lanes, [is_packed(a, 0, per_word), false, false])
        } else if depth <= Self::THIN_DEPTH && is_large(rows, columns, copies) {
            let rows = if per_result == 8 { THIN_ROWS_OF_HALVES } else { THIN_ROWS };
            let tile = [rows, THIN_WORDS * per_result];
            (Way::Thin, tile, 1, [false, false, is_packed(c, 1, per_result)])
        } else {
            (Way::Small, [SMALL_EDGE; 2], 1, [false; 3])
        };
        let row_tiles = (rows + tile[0] - 1) / tile[0];
        let column_tiles = (columns + tile[1] - 1) / tile[1];
        let tiles = row_tiles.checked_mul(column_tiles)?.checked_mul(copies)?;
        u32::try_from(tiles).ok()?;
        let arguments = Arguments {
            tiles,
            rows,
            columns,
            depth,
            column_tiles,
            row_tiles,
            entries,
            a,
            b,
            c,
            is_packed: packed.map(i64::from),
            is_conjugated: conjugate,
            lanes,
            alpha: [1.0, 0.0],
        };
        Some(Self { arguments, dtype, way, is_transposed })
    }

    /// The most that is a small depth.
    pub(crate) const THIN_DEPTH: i64 = 16;

    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Whether the kernel takes less time than cuBLASLt, which needs so many `copies` of matrices.
    /// The limits are those of a grid of products on an H200: `benchmarks/host/matmul_grid.py`.
    /// `has_tensor_cores` says that float32 may be multiplied with less precision.
    pub(crate) fn is_faster(&self, copies: usize, has_tensor_cores: bool) -> bool {
        let Arguments { tiles, rows, columns, depth, lanes, entries, is_packed, a, b, .. } =
            self.arguments;
        let is_copied = copies > 0;
        let is_single = self.dtype == DType::Float32;
        let is_half = matches!(self.dtype, DType::Float16 | DType::BFloat16);
        let is_int8 = self.dtype == DType::Int8;
        let is_wide = !is_single && !is_half && !is_int8;
        let is_complex64 = self.dtype == DType::Complex64;
        let is_large = rows.saturating_mul(columns) >= 1 << 22;
        let elements = rows.saturating_mul(depth);
        let results = rows.saturating_mul(columns).saturating_mul(entries);
        // A copy of a matrix of large elements takes longer than a thread waits for them.
        let is_matrix_copied = is_copied && is_wide && is_packed[0] == 0;
        let most_rounds = if is_matrix_copied { 4 * MANY_ROUNDS } else { MANY_ROUNDS };
        // cuBLASLt shares the products of a sum among blocks where there is no batch.
        let is_batch_of_sums = entries > 1 && depth >= 512 && tiles <= MANY_BLOCKS / 2;
        match self.way {
            Way::Small if is_batch_of_sums && (is_single || is_complex64) && !has_tensor_cores => {
                true
            }
            Way::Small if is_copied && is_wide => depth <= 64 && tiles <= MANY_BLOCKS,
            Way::Small if is_copied => {
                let is_plain_single = is_single && !has_tensor_cores;
                depth <= 64 && tiles <= 2 * MANY_BLOCKS
                    || depth <= 256 && tiles <= MANY_BLOCKS / 2
                    || is_plain_single && depth <= 1024 && tiles <= MANY_BLOCKS / 4
            }
            Way::Small if is_wide && !(is_complex64 && depth >= 8) => false,
            // cuBLASLt multiplies halves by tensor cores.
            Way::Small => depth <= if is_half { 32 } else { 64 } && tiles <= MANY_BLOCKS / 2,
            Way::Thin if depth <= 2 => {
                is_copied || is_single || !is_wide && is_large || is_wide && entries > 1
            }
            Way::Thin if depth <= 8 && is_single => {
                is_copied && (!has_tensor_cores || rows.saturating_mul(columns) <= 1 << 19)
            }
            // There are kernels of cuBLASLt for two orders of the factors. Those for factors whose
            // depth is not fast take less time than ours, and the others more.
            Way::Thin if depth <= 8 && is_int8 && is_copied => {
                let extents = [rows, columns, 4 * depth];
                !(results >= 1 << 24 && extents.iter().all(|extent| extent % 16 == 0))
            }
            Way::Thin if depth <= 8 && is_int8 => is_large && (a[1], b[0]) == (1, 1),
            Way::Thin if depth <= 8 => is_copied && is_wide && results < 1 << 22,
            Way::Thin => false,
            Way::Rows | Way::Columns if self.rounds() > most_rounds => false,
            // Entries of a batch share what is loaded at once, so each loads it again.
            Way::Rows if is_copied && is_wide && entries > 1 && a[1] >= entries => {
                elements.saturating_mul(entries) < 1 << 20
            }
            Way::Rows if is_copied && is_half => elements.saturating_mul(entries) < 1 << 20,
            // Rows that are all the same stay in the cache.
            Way::Rows if is_copied => is_packed[1] != 0 || elements < 1 << 24 || a[0] == 0,
            Way::Rows => {
                let is_number = rows == 1 && (is_single || !is_half && depth >= 8);
                let are_few = (tiles <= MANY_BLOCKS || is_int8) && (rows > 1 || !is_half);
                let are_few_long_rows = lanes == 1 && depth >= 512 && are_few;
                is_number || are_few_long_rows || is_single && depth <= 8
            }
            // Only the vector is copied where the matrix is packed.
            Way::Columns if is_copied => is_packed[0] == 0 || elements < 1 << 22,
            Way::Columns => {
                let are_few_vectors = entries > 1
                    && depth >= 512
                    && (is_single && rows >= WARP && elements <= 1 << 20
                        || is_complex64 && elements <= 1 << 25);
                is_single && depth <= 2 || is_int8 && depth >= 512 || are_few_vectors
            }
        }
    }

    /// How many times a thread that adds up a part of a long sum waits for memory, where other
    /// blocks do not keep the memory busy. It waits longer for elements that are loaded one by one.
    fn rounds(&self) -> i64 {
        let Arguments { tiles, depth, lanes, is_packed, .. } = self.arguments;
        let threads = THREADS / lanes;
        if tiles >= MANY_BLOCKS / 2 {
            return 0;
        }
        let elements = match self.way {
            Way::Rows => WORD / self.dtype.size() as i64,
            _ => 1,
        };
        let rounds = depth / (threads * elements * UNROLLED);
        if is_packed[0] != 0 { rounds } else { 2 * rounds }
    }

    /// Products of numbers that the kernel computes, those beyond the matrices included.
    pub(crate) fn work(&self) -> i64 {
        let Arguments { tiles, depth, .. } = self.arguments;
        (tiles * SMALL_EDGE * SMALL_EDGE).saturating_mul(depth)
    }

    /// Number of tiles, each of which is work for one block.
    pub(super) fn tiles(&self) -> u64 {
        self.arguments.tiles as u64
    }

    pub(super) fn is_transposed(&self) -> bool {
        self.is_transposed
    }

    /// The argument for a product that is multiplied by `alpha`, a live value for the kernel.
    pub(super) fn arguments(&self, alpha: [f64; 2]) -> impl Sized + use<> {
        Arguments { alpha, ..self.arguments }
    }

    /// The code for the element type, and the name of the kernel.
    pub(super) fn kernel(&self) -> (&'static str, &'static CStr) {
        macro_rules! kernels {
            ($type:literal, $small:literal, $thin:literal, $rows:literal, $columns:literal) => {
                (
                    concat!(include_str!(concat!("generated/product_", $type, ".ptx")), "\0"),
                    match self.way {
                        Way::Small => $small,
                        Way::Thin => $thin,
                        Way::Rows => $rows,
                        Way::Columns => $columns,
                    },
                )
            };
        }
        match self.dtype {
            DType::Float16 => {
                kernels!(
                    "float16",
                    c"small_float16",
                    c"thin_float16",
                    c"rows_float16",
                    c"columns_float16"
                )
            }
            DType::BFloat16 => {
                kernels!(
                    "bfloat16",
                    c"small_bfloat16",
                    c"thin_bfloat16",
                    c"rows_bfloat16",
                    c"columns_bfloat16"
                )
            }
            DType::Float32 => {
                kernels!(
                    "float32",
                    c"small_float32",
                    c"thin_float32",
                    c"rows_float32",
                    c"columns_float32"
                )
            }
            DType::Float64 => {
                kernels!(
                    "float64",
                    c"small_float64",
                    c"thin_float64",
                    c"rows_float64",
                    c"columns_float64"
                )
            }
            DType::Complex64 => {
                kernels!(
                    "complex64",
                    c"small_complex64",
                    c"thin_complex64",
                    c"rows_complex64",
                    c"columns_complex64"
                )
            }
            DType::Int8 => {
                kernels!("int8", c"small_int8", c"thin_int8", c"rows_int8", c"columns_int8")
            }
            _ => {
                kernels!(
                    "complex128",
                    c"small_complex128",
                    c"thin_complex128",
                    c"rows_complex128",
                    c"columns_complex128"
                )
            }
        }
    }
}

/// How far apart elements are; a stride of 0 leads to no neighbour.
fn distance(stride: i64) -> u64 {
    match stride.unsigned_abs() {
        0 => u64::MAX,
        stride => stride,
    }
}

/// Whether large tiles fill a GPU.
fn is_large(rows: i64, columns: i64, entries: i64) -> bool {
    rows >= THIN_ROWS_OF_HALVES
        && rows.saturating_mul(columns).saturating_mul(entries)
            >= MANY_BLOCKS * SMALL_EDGE * SMALL_EDGE
}

/// How many rows of a matrix a block multiplies by a vector: fewer than there are warps only if
/// there are too few rows to fill a GPU, and more only if a row is shorter than a warp reads at
/// once.
fn lanes_along_rows(rows: i64, depth: i64, per_word: i64) -> i64 {
    let words = (depth + per_word - 1) / per_word;
    if words > WARP && rows < MANY_BLOCKS * (THREADS / WARP) {
        return 1;
    }
    let threads = (words.max(1) as u64).next_power_of_two().min(WARP as u64) as i64;
    THREADS / threads
}

/// How many words of a column a block multiplies by elements of a vector: as few as fill a GPU with
/// blocks, and sectors with words, if sums are long enough for the other threads.
fn lanes_along_columns(words: i64, depth: i64, word: i64) -> i64 {
    let parts = (((depth + UNROLLED - 1) / UNROLLED).max(1) as u64).next_power_of_two();
    let most_parts = (parts as i64).min(THREADS * word / SECTOR);
    let mut lanes = (THREADS / most_parts).max(WARP);
    while lanes > THREADS / most_parts && words / lanes < MANY_BLOCKS {
        lanes /= 2;
    }
    lanes
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
