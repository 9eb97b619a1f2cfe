//! The argument of the kernels of `product.cu`, and which of them computes a product.

use std::ffi::CStr;

use smallvec::SmallVec;

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
/// A few vectors are not more than these, and the matrix beside them has so many elements and such
/// long sums at least.
const FEW: i64 = 8;
const FEW_ELEMENTS: i64 = 1 << 16;
const FEW_DEPTH: i64 = 64;
/// A thread adds up 4 rows of such products, or 2 if the sums of one row take more bytes.
const FEW_SUMS: i64 = 32;
/// Steps of a sum that a thread takes at a time, in products of a matrix and a vector.
const UNROLLED: i64 = 4;
/// Blocks that fill a large GPU.
const MANY_BLOCKS: i64 = 264;
/// Words of a column that are few.
const SHORT_COLUMN: i64 = 64;
/// Bytes of a sector of memory, which the GPU loads at least.
const SECTOR: i64 = 32;

/// What the kernels do with a sum before they store it: a number of `product.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum Function {
    Identity = 0,
    Relu = 1,
    Gelu = 2,
}

/// The steps between neighbours of `a`, `b`, the result and the bias along rows, columns and depth,
/// and what else describes a product for these kernels.
#[derive(Clone, Debug)]
pub(crate) struct StridedProduct {
    pub(crate) dtype: DType,
    pub(crate) result: DType,
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    pub(crate) depth: i64,
    /// Of `a`, `b`, the result and the bias, from one row to the next and from one column to the
    /// next.
    pub(crate) strides: [[i64; 2]; 4],
    pub(crate) conjugate: [bool; 2],
    pub(crate) batch: BatchDims<4>,
    /// Whether there is a bias, which is added to the sums, of the result's type.
    pub(crate) has_bias: bool,
    pub(crate) function: Function,
    /// Bytes that each address is a multiple of.
    pub(crate) alignment: usize,
}

/// A product as the kernels take it: they store neighbours along rows, and vectors are columns.
/// Each matrix has its steps along rows, columns or depth first, then those of the batch.
#[derive(Clone, Copy, Debug)]
struct Arranged {
    is_transposed: bool,
    rows: i64,
    columns: i64,
    a: [i64; 4],
    b: [i64; 4],
    c: [i64; 4],
    bias: [i64; 4],
    is_conjugated: [i64; 2],
    /// Entries of the faster dimension of the batch, and of both.
    entries: i64,
    copies: i64,
    joined: [i64; 2],
}

impl StridedProduct {
    fn is_vector(&self) -> bool {
        self.rows == 1 || self.columns == 1
    }

    /// Whether one of the factors is a few vectors, and there are kernels for that.
    pub(crate) fn are_few_vectors(&self) -> bool {
        let is_known = matches!(
            self.dtype,
            DType::Float32 | DType::Float64 | DType::Complex64 | DType::Complex128
        );
        let (few, many) = (self.rows.min(self.columns), self.rows.max(self.columns));
        let is_matrix = many >= FEW_DEPTH
            && self.depth >= FEW_DEPTH
            && many.saturating_mul(self.depth) >= FEW_ELEMENTS;
        is_known && (2..=FEW).contains(&few) && is_matrix
    }

    fn arranged(&self) -> Arranged {
        let mut dims: SmallVec<[_; 2]> = self.batch.iter().rev().copied().collect();
        let [[a_row, a_depth], [b_depth, b_column], [c_row, c_column], bias] = self.strides;
        let are_vectors = self.is_vector() || self.are_few_vectors();
        let is_transposed = if are_vectors {
            self.columns > self.rows
        } else {
            distance(c_row) < distance(c_column)
        };
        let steps = |matrix: usize, first: i64, second: i64| {
            let step = |dim: usize| dims.get(dim).map_or(0, |dim| dim.strides[matrix]);
            [first, second, step(0), step(1)]
        };
        let (mut rows, columns, mut a, mut b, mut c) = if is_transposed {
            let factors = (steps(1, b_column, b_depth), steps(0, a_depth, a_row));
            (self.columns, self.rows, factors.0, factors.1, steps(2, c_column, c_row))
        } else {
            let factors = (steps(0, a_row, a_depth), steps(1, b_depth, b_column));
            (self.rows, self.columns, factors.0, factors.1, steps(2, c_row, c_column))
        };
        let along = usize::from(is_transposed);
        let bias = steps(3, bias[along], bias[1 - along]);
        let mut is_conjugated = self.conjugate.map(i64::from);
        if is_transposed {
            is_conjugated.reverse();
        }
        // One product of the vectors and a matrix, between whose rows those of other entries lie.
        let mut joined = [1, 0];
        let between = dims.first().filter(|dim| a[0] == dim.extent * a[2]);
        if let Some(extent) = between.map(|dim| dim.extent)
            && (are_vectors && !self.has_bias)
            && (rows > 1 && a[2] != 0 && b[2] == 0)
        {
            joined = [extent, c[2]];
            rows *= extent;
            a[0] = a[2];
            for steps in [&mut a, &mut b, &mut c] {
                (steps[2], steps[3]) = (steps[3], 0);
            }
            dims.remove(0);
        }
        let entries = dims.first().map_or(1, |dim| dim.extent);
        let copies = dims.iter().map(|dim| dim.extent).product();
        Arranged {
            is_transposed,
            rows,
            columns,
            a,
            b,
            c,
            bias,
            is_conjugated,
            entries,
            copies,
            joined,
        }
    }
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
    /// Of a matrix and a few vectors, along rows.
    FewRows,
    /// Likewise, along columns.
    FewColumns,
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
    bias: [i64; 4],
    function: i64,
    is_packed: [i64; 3],
    is_conjugated: [i64; 2],
    lanes: i64,
    /// How many entries of a batch are neighbouring rows, and their step in the result.
    joined: [i64; 2],
    alpha: [f64; 2],
}

/// A product as a kernel computes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductCall {
    arguments: Arguments,
    dtype: DType,
    way: Way,
    /// Whether there is a bias or a function.
    has_epilog: bool,
    has_bias: bool,
    /// Whether the kernel computes the transposed product, and takes the factors so.
    is_transposed: bool,
}

impl ProductCall {
    /// Bytes of the argument of the kernels.
    #[cfg(test)]
    pub(super) const ARGUMENTS_SIZE: usize = size_of::<Arguments>();

    /// Describes a product; `None` if there is no kernel for its types, addresses, batch or
    /// function.
    pub(crate) fn of(product: &StridedProduct) -> Option<Self> {
        let StridedProduct { dtype, result, depth, .. } = *product;
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
        // A kernel loads a complex number as a whole, whose address need not be a multiple of that.
        let is_aligned = product.alignment.is_multiple_of(dtype.size());
        if !is_known || !is_aligned || product.batch.iter().count() > 2 {
            return None;
        }
        let arranged = product.arranged();
        let Arranged { rows, columns, a, b, c, bias, copies, .. } = arranged;
        let per_word = WORD / dtype.size() as i64;
        let per_result = WORD / result.size() as i64;
        let is_packed = |steps: [i64; 4], fast: usize, count: i64| {
            product.alignment.is_multiple_of(WORD as usize)
                && steps[fast] == 1
                && (0..4).all(|index| index == fast || steps[index] % count == 0)
        };
        let is_vector = product.is_vector();
        let by_rows = rows == 1 || distance(a[1]) < distance(a[0]);
        let (way, tile, lanes, packed) = if is_vector && by_rows {
            let lanes = lanes_along_rows(rows.saturating_mul(copies), depth, per_word);
            let packed = [is_packed(a, 1, per_word), is_packed(b, 0, per_word), false];
            (Way::Rows, [lanes, 1], lanes, packed)
        } else if is_vector {
            let words = ((rows + per_word - 1) / per_word).saturating_mul(copies);
            let lanes = lanes_along_columns(words, depth, MANY_BLOCKS);
            (Way::Columns, [lanes * per_word, 1], lanes, [is_packed(a, 0, per_word), false, false])
        } else if product.are_few_vectors() && by_rows {
            let size = dtype.size() as i64 * if columns > FEW / 2 { FEW } else { FEW / 2 };
            let at_once = if size > FEW_SUMS { 2 } else { 4 };
            let lanes = lanes_of_groups(rows.saturating_mul(copies) / at_once, depth / per_word);
            let packed = [is_packed(a, 1, per_word), false, false];
            (Way::FewRows, [lanes * at_once, FEW], lanes, packed)
        } else if product.are_few_vectors() {
            let words = ((rows + per_word - 1) / per_word).saturating_mul(copies);
            let lanes = lanes_along_columns(words, depth, MANY_BLOCKS / 2);
            let packed = [is_packed(a, 0, per_word), false, false];
            (Way::FewColumns, [lanes * per_word, FEW], lanes, packed)
        } else if depth <= Self::THIN_DEPTH && is_large(rows, columns, copies) {
            let rows = if per_result == 8 { THIN_ROWS_OF_HALVES } else { THIN_ROWS };
            let tile = [rows, THIN_WORDS * per_result];
            (Way::Thin, tile, 1, [false, false, is_packed(c, 1, per_result)])
        } else {
            (Way::Small, [SMALL_EDGE; 2], 1, [false; 3])
        };
        let has_epilog = product.has_bias || product.function != Function::Identity;
        // There are no such kernels.
        if has_epilog && (way == Way::Thin || dtype.is_complex() || dtype == DType::Int8) {
            return None;
        }
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
            entries: arranged.entries,
            a,
            b,
            c,
            bias,
            function: product.function as i64,
            is_packed: packed.map(i64::from),
            is_conjugated: arranged.is_conjugated,
            lanes,
            joined: arranged.joined,
            alpha: [1.0, 0.0],
        };
        Some(Self {
            arguments,
            dtype,
            way,
            has_epilog,
            has_bias: product.has_bias,
            is_transposed: arranged.is_transposed,
        })
    }

    /// The most that is a small depth.
    pub(crate) const THIN_DEPTH: i64 = 16;

    pub(crate) fn way(&self) -> Way {
        self.way
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
        (self.code(), self.name())
    }

    fn code(&self) -> &'static str {
        macro_rules! code {
            ($file:literal) => {
                concat!(include_str!(concat!("generated/product_", $file, ".ptx")), "\0")
            };
        }
        let are_few = matches!(self.way, Way::FewRows | Way::FewColumns);
        match (self.dtype, are_few, self.has_epilog) {
            (DType::Float16, _, false) => code!("float16"),
            (DType::Float16, _, true) => code!("epilog_float16"),
            (DType::BFloat16, _, false) => code!("bfloat16"),
            (DType::BFloat16, _, true) => code!("epilog_bfloat16"),
            (DType::Float32, false, false) => code!("float32"),
            (DType::Float32, false, true) => code!("epilog_float32"),
            (DType::Float32, true, false) => code!("few_float32"),
            (DType::Float32, true, true) => code!("few_epilog_float32"),
            (DType::Float64, false, false) => code!("float64"),
            (DType::Float64, false, true) => code!("epilog_float64"),
            (DType::Float64, true, false) => code!("few_float64"),
            (DType::Float64, true, true) => code!("few_epilog_float64"),
            (DType::Complex64, false, _) => code!("complex64"),
            (DType::Complex64, true, _) => code!("few_complex64"),
            (DType::Int8, _, _) => code!("int8"),
            (_, false, _) => code!("complex128"),
            (_, true, _) => code!("few_complex128"),
        }
    }

    fn name(&self) -> &'static CStr {
        macro_rules! name {
            ($way:literal, $kind:literal) => {
                CStr::from_bytes_with_nul(if self.has_epilog {
                    concat!($way, "_", $kind, "_epilog\0").as_bytes()
                } else {
                    concat!($way, "_", $kind, "\0").as_bytes()
                })
                .unwrap_or_default()
            };
        }
        macro_rules! names {
            ($kind:literal) => {
                match (self.way, self.arguments.columns <= FEW / 2) {
                    (Way::Small, _) => name!("small", $kind),
                    (Way::Thin, _) => name!("thin", $kind),
                    (Way::Rows, _) => name!("rows", $kind),
                    (Way::Columns, _) => name!("columns", $kind),
                    (Way::FewRows, true) => name!("rows4", $kind),
                    (Way::FewRows, false) => name!("rows8", $kind),
                    (Way::FewColumns, true) => name!("columns4", $kind),
                    (Way::FewColumns, false) => name!("columns8", $kind),
                }
            };
        }
        match self.dtype {
            DType::Float16 => names!("float16"),
            DType::BFloat16 => names!("bfloat16"),
            DType::Int8 => names!("int8"),
            DType::Float32 => names!("float32"),
            DType::Float64 => names!("float64"),
            DType::Complex64 => names!("complex64"),
            _ => names!("complex128"),
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

/// How many times a block adds up a few rows beside each other: few enough that blocks fill a GPU,
/// and that a row has work for the other threads.
fn lanes_of_groups(groups: i64, words: i64) -> i64 {
    let mut lanes = THREADS / WARP;
    while lanes > 1 && groups / lanes < MANY_BLOCKS / 2 && words > THREADS / lanes {
        lanes /= 2;
    }
    lanes
}

/// How many words of a column a block multiplies by elements of vectors: as few as fill a GPU with
/// so many blocks, and sectors with words, if sums are long enough for the other threads.
fn lanes_along_columns(words: i64, depth: i64, blocks: i64) -> i64 {
    let parts = (((depth + UNROLLED - 1) / UNROLLED).max(1) as u64).next_power_of_two();
    // The few blocks of a short column share sectors, because they wait for latency alone.
    let sector = if words <= SHORT_COLUMN { WORD } else { SECTOR };
    let most_parts = (parts as i64).min(THREADS * WORD / sector);
    let mut lanes = (THREADS / most_parts).max(WARP);
    while lanes > THREADS / most_parts && words / lanes < blocks {
        lanes /= 2;
    }
    lanes
}

#[path = "product_choice.rs"]
mod choice;
#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
