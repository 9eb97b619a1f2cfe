//! Where the kernels for products take less time than cuBLASLt.
//!
//! The limits are those of a grid of products on an H200: `benchmarks/host/matmul_grid.py`.

use super::{
    Arguments, FEW, FEW_DEPTH, MANY_BLOCKS, ProductCall, THREADS, UNROLLED, WARP, WORD, Way,
};
use crate::tensor::DType;

/// More times than a thread should wait for memory.
const MANY_ROUNDS: i64 = 8;

impl ProductCall {
    /// Whether the kernel takes less time than cuBLASLt, which needs so many `copies` of matrices.
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
            Way::Small | Way::FewRows | Way::FewColumns
                if is_batch_of_sums && (is_single || is_complex64) && !has_tensor_cores =>
            {
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
            // cuBLASLt has a kernel for outer products of small elements.
            Way::Small if depth == 1 && !is_int8 => false,
            // cuBLASLt multiplies halves by tensor cores.
            Way::Small => depth <= if is_half { 32 } else { 64 } && tiles <= MANY_BLOCKS / 2,
            Way::Thin if depth <= 2 => {
                // cuBLASLt has a kernel for vectors. Half of a tile is empty beside few columns.
                let are_many = results >= 1 << 22 && (!is_half || columns >= 128);
                let is_sum = is_single && depth == 2;
                is_copied || is_sum || !is_wide && are_many || is_wide && entries > 1
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
            Way::FewRows | Way::FewColumns => self.are_few_faster(is_copied, has_tensor_cores),
            Way::Rows | Way::Columns if self.rounds() > most_rounds => false,
            // Entries of a batch share what is loaded at once, so each loads it again.
            Way::Rows if is_copied && is_wide && entries > 1 && a[1] >= entries => {
                elements.saturating_mul(entries) < 1 << 20
            }
            Way::Rows if is_copied && is_half => elements.saturating_mul(entries) <= 1 << 20,
            // Rows that are all the same stay in the cache, and others would be copied.
            Way::Rows if is_copied => {
                is_packed[1] != 0 || elements < 1 << 24 || a[0] == 0 || a[1] != 1
            }
            Way::Rows => {
                let is_number = rows == 1 && (is_single || !is_half && depth >= 8);
                let are_few = (tiles <= MANY_BLOCKS || is_int8) && (rows > 1 || !is_half);
                let are_few_long_rows = lanes == 1 && depth >= 512 && are_few;
                is_number || are_few_long_rows || (is_single || is_int8) && depth <= 8
            }
            // Only the vector is copied where the matrix is packed, but for entries between rows.
            Way::Columns if is_copied => {
                let is_one_copied = is_packed[0] != 0 && a[1] != 0 && self.arguments.joined[0] == 1;
                !is_one_copied || elements < 1 << 22
            }
            Way::Columns => {
                let are_few_vectors = entries > 1
                    && depth >= 512
                    && (is_single && rows >= WARP && elements <= 1 << 20
                        || is_complex64 && elements <= 1 << 25);
                is_single && depth <= 2 || is_int8 && depth >= 512 || are_few_vectors
            }
        }
    }

    /// Likewise, for a matrix and a few vectors.
    fn are_few_faster(&self, is_copied: bool, has_tensor_cores: bool) -> bool {
        let Arguments { rows, columns, depth, .. } = self.arguments;
        let by_rows = self.way == Way::FewRows;
        let are_up_to_4 = columns <= FEW / 2;
        let is_short = depth <= FEW_DEPTH && rows <= 2048;
        let is_filling = rows >= 512 && depth >= 512 && depth <= 2 * rows;
        let is_middle = is_filling && rows <= 2048;
        match self.dtype {
            DType::Float64 => is_copied && (is_short || is_middle && are_up_to_4),
            DType::Float32 | DType::Complex64 if has_tensor_cores => is_short,
            DType::Float32 => is_short || is_filling && (by_rows || are_up_to_4),
            DType::Complex64 if are_up_to_4 => rows >= 512 || !by_rows && depth >= 4096,
            DType::Complex64 => is_short || is_filling,
            _ => false,
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
}
