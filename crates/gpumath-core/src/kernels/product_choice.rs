//! Where the kernels for products take less time than cuBLASLt.
//!
//! The limits are those of a grid of products on an H200: `benchmarks/host/matmul_grid.py`.

use super::{Arguments, FEW, FEW_DEPTH, MANY_BLOCKS, ProductCall, THREADS, UNROLLED, WORD, Way};
use crate::tensor::DType;

/// More times than a thread should wait for memory.
const MANY_ROUNDS: i64 = 8;

impl ProductCall {
    /// Whether the kernel takes less time than cuBLASLt and cuBLAS, which need so many `copies` of
    /// matrices. `has_tensor_cores` says that float32 may be multiplied with less precision.
    pub(crate) fn is_faster(&self, copies: usize, has_tensor_cores: bool) -> bool {
        if copies > 0 {
            self.is_faster_than_copies(has_tensor_cores)
        } else {
            self.is_faster_without_copies(has_tensor_cores)
        }
    }

    /// How many products of matrices there are: the entries of the batch.
    fn batch_count(&self) -> i64 {
        let Arguments { tiles, row_tiles, column_tiles, .. } = self.arguments;
        tiles / (row_tiles * column_tiles).max(1)
    }

    fn is_faster_without_copies(&self, has_tensor_cores: bool) -> bool {
        let Arguments { tiles, rows, columns, depth, .. } = self.arguments;
        let count = self.batch_count();
        let is_batch = count > 1;
        let matrix = rows.saturating_mul(columns);
        let results = matrix.saturating_mul(count);
        let is_large = matrix >= 1 << 22;
        match (self.way, self.dtype) {
            (Way::Small, DType::Float32) if has_tensor_cores => {
                (2..=128).contains(&depth) && tiles <= 128
            }
            // cuBLASLt shares the products of a long sum among blocks where there is no batch.
            (Way::Small, DType::Float32) => {
                tiles <= 256 && (is_batch || (2..=128).contains(&depth))
            }
            (Way::Small, DType::Complex64) => {
                tiles <= 128 && depth >= 8 && (is_batch && !has_tensor_cores || depth <= 128)
            }
            (Way::Small, DType::Float64) => is_batch && tiles <= 128 && depth <= 32,
            (Way::Small, DType::Complex128) => is_batch && tiles <= 128 && depth <= 16,
            (Way::Small, DType::Int8) => {
                depth <= 64 && tiles <= 256 || depth <= 512 && tiles <= 128
            }
            (Way::Small, _) => is_batch && tiles <= 16 && depth <= 16,
            (Way::Thin, DType::Float32) if has_tensor_cores => depth <= 2 && is_large,
            (Way::Thin, DType::Float32) => depth == 1 && results >= 1 << 22,
            (Way::Thin, DType::Float64) => depth == 1 && is_batch,
            (Way::Thin, DType::Complex64) => depth <= 2 && is_batch && results <= 1 << 24,
            (Way::Thin, DType::Complex128) => depth <= 4 && is_batch,
            (Way::Thin, DType::Int8) => depth < 8,
            (Way::Thin, _) => depth <= 2 && !is_batch && is_large,
            (Way::FewRows | Way::FewColumns, _) => self.are_few_faster(false, has_tensor_cores),
            (Way::Rows | Way::Columns, _) => self.is_vector_faster(count),
        }
    }

    /// Likewise, for a matrix and a vector. Long sums are shared among few threads along columns.
    fn is_vector_faster(&self, count: i64) -> bool {
        let Arguments { rows, depth, .. } = self.arguments;
        let results = rows.saturating_mul(count);
        let elements = results.saturating_mul(depth);
        let by_rows = self.way == Way::Rows;
        match self.dtype {
            DType::Int8 if by_rows => elements <= 1 << 19 || depth >= 2048 && elements <= 1 << 22,
            DType::Int8 => results < 8 && depth <= 8192 || depth < 8,
            _ if !by_rows && depth > 2048 => false,
            DType::Float32 => depth >= 512 && elements <= if by_rows { 1 << 19 } else { 1 << 17 },
            DType::Complex64 => {
                let most = if count == 1 { 1 << 18 } else { 1 << 14 };
                (16..=4096).contains(&depth) && results >= 8 && elements <= most
            }
            DType::Float64 | DType::Complex128 => (128..=4096).contains(&depth) && results <= 512,
            _ => results == 1 && depth <= 4096,
        }
    }

    fn is_faster_than_copies(&self, has_tensor_cores: bool) -> bool {
        let Arguments { tiles, rows, columns, depth, entries, is_packed, a, .. } = self.arguments;
        let is_single = self.dtype == DType::Float32;
        let is_half = matches!(self.dtype, DType::Float16 | DType::BFloat16);
        let is_int8 = self.dtype == DType::Int8;
        let is_wide = !is_single && !is_half && !is_int8;
        let is_complex64 = self.dtype == DType::Complex64;
        let is_plain_single = is_single && !has_tensor_cores;
        let elements = rows.saturating_mul(depth);
        let results = rows.saturating_mul(columns).saturating_mul(entries);
        // A copy of a matrix of large elements takes longer than a thread waits for them.
        let is_matrix_copied = is_wide && is_packed[0] == 0;
        let most_rounds = if is_matrix_copied { 4 * MANY_ROUNDS } else { MANY_ROUNDS };
        // cuBLASLt shares the products of a sum among blocks where there is no batch.
        let is_batch_of_sums = entries > 1 && depth >= 512 && tiles <= MANY_BLOCKS / 2;
        match self.way {
            Way::Small | Way::FewRows | Way::FewColumns
                if is_batch_of_sums && (is_single || is_complex64) && !has_tensor_cores =>
            {
                true
            }
            Way::Small if is_wide => depth <= 64 && tiles <= MANY_BLOCKS,
            Way::Small => {
                depth <= 64 && tiles <= 2 * MANY_BLOCKS
                    || depth <= 256 && tiles <= MANY_BLOCKS / 2
                    || is_plain_single && depth <= 1024 && tiles <= MANY_BLOCKS / 4
            }
            Way::Thin if depth <= 2 => true,
            Way::Thin if depth <= 8 && is_single => {
                is_plain_single || rows.saturating_mul(columns) <= 1 << 19
            }
            // There are kernels of cuBLASLt for two orders of the factors. Those for factors whose
            // depth is not fast take less time than ours, and the others more.
            Way::Thin if depth <= 8 && is_int8 => {
                let extents = [rows, columns, 4 * depth];
                !(results >= 1 << 24 && extents.iter().all(|extent| extent % 16 == 0))
            }
            Way::Thin => depth <= 8 && is_wide && results < 1 << 22,
            Way::FewRows | Way::FewColumns => self.are_few_faster(true, has_tensor_cores),
            Way::Rows | Way::Columns if self.rounds() > most_rounds => false,
            // Entries of a batch share what is loaded at once, so each loads it again.
            Way::Rows if is_wide && entries > 1 && a[1] >= entries => {
                elements.saturating_mul(entries) < 1 << 20
            }
            Way::Rows if is_half => elements.saturating_mul(entries) <= 1 << 20,
            // Rows that are all the same stay in the cache, and others would be copied.
            Way::Rows => is_packed[1] != 0 || elements < 1 << 24 || a[0] == 0 || a[1] != 1,
            // Only the vector is copied where the matrix is packed, but for entries between rows.
            Way::Columns => {
                let is_one_copied = is_packed[0] != 0 && a[1] != 0 && self.arguments.joined[0] == 1;
                !is_one_copied || elements < 1 << 22
            }
        }
    }

    /// Likewise, for a matrix and a few vectors.
    fn are_few_faster(&self, is_copied: bool, has_tensor_cores: bool) -> bool {
        let Arguments { rows, columns, depth, .. } = self.arguments;
        let by_rows = self.way == Way::FewRows;
        let count = self.batch_count();
        let is_batch = count > 1;
        let all_rows = rows.saturating_mul(count);
        let are_up_to_4 = columns <= FEW / 2;
        let is_short = depth <= FEW_DEPTH && rows <= 2048;
        let is_filling = rows >= 512 && depth >= 512 && depth <= 2 * rows;
        let is_middle = is_filling && rows <= 2048;
        match self.dtype {
            DType::Float64 if is_batch && rows <= 256 => all_rows >= 256,
            DType::Float64 => is_copied && (is_short || is_middle && are_up_to_4),
            DType::Float32 | DType::Complex64 if has_tensor_cores => {
                is_copied && is_short || are_up_to_4 && depth >= 128 && all_rows >= 1024
            }
            DType::Float32 if is_batch => depth >= 192 && all_rows >= 256,
            DType::Float32 => is_short || is_filling && (by_rows || are_up_to_4),
            DType::Complex64 => depth >= 128 && depth <= 2 * all_rows && all_rows >= 96,
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
