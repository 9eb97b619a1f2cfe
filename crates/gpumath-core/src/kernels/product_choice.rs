//! Where the kernels for products take less time than cuBLASLt.
//!
//! The limits are those of products of random extents, layouts and types on an H200, or on an H100
//! with epilogs, and of a grid of them: `benchmarks/host/matmul_grid.py`.

use super::{
    Arguments, FEW, FEW_DEPTH, MANY_BLOCKS, ProductCall, SECTOR, THIN_ROWS, THREADS, UNROLLED,
    WORD, Way,
};
use crate::tensor::DType;

/// How often a thread that adds up a part of a long sum waits for memory in kernels that are still
/// fast, and in none that is.
const MANY_ROUNDS: i64 = 8;
const TOO_MANY_ROUNDS: i64 = 16;
/// Results from which on a thin product is bound by the memory that it writes.
const MANY_RESULTS: i64 = 1 << 22;
/// Results from which on copies take a small part of the time: of single precision, and of wider
/// elements.
const VERY_MANY_RESULTS: i64 = 3 << 23;
const MANY_WIDE_RESULTS: i64 = 3 << 20;
/// A copy of so many bytes takes long beside the kernels of a few vectors.
const LARGE_COPY: usize = 4 << 20;
/// A library reads a matrix of so many bytes in more time than a copy of the vectors takes: of
/// halves, and of other elements.
const LARGE_MATRIX_OF_HALVES: usize = 1 << 19;
const LARGE_MATRIX: usize = 4 << 20;
/// If each element of a vector is in a sector of its own, the kernel for rows loads that sector
/// again for each result. It is slower than a library from so many results on, if sums have so many
/// products; and from more results on, if the library copies the matrix.
const SCATTERED_RESULTS: i64 = 8;
const SCATTERED_RESULTS_BESIDE_COPIES: i64 = 128;
const SCATTERED_SUM: i64 = 4096;

impl ProductCall {
    /// Whether the kernel takes less time than cuBLASLt and cuBLAS, which need copies of so many
    /// bytes. `has_tensor_cores` says that float32 may be multiplied with less precision.
    pub(crate) fn is_faster(&self, copied: usize, has_tensor_cores: bool) -> bool {
        if self.is_vector_scattered(copied) {
            false
        } else if copied > 0 {
            self.rounds() <= 2 * TOO_MANY_ROUNDS
                && self.is_faster_than_copies(copied, has_tensor_cores)
        } else {
            self.rounds() <= TOO_MANY_ROUNDS && self.is_faster_without_copies(has_tensor_cores)
        }
    }

    /// How many products of matrices there are: the entries of the batch.
    fn batch_count(&self) -> i64 {
        let Arguments { tiles, row_tiles, column_tiles, .. } = self.arguments;
        tiles / (row_tiles * column_tiles).max(1)
    }

    /// Rows of the matrices of all entries.
    fn all_rows(&self) -> i64 {
        self.arguments.rows.saturating_mul(self.batch_count())
    }

    /// Numbers of the results of all entries.
    fn results(&self) -> i64 {
        let Arguments { rows, columns, .. } = self.arguments;
        rows.saturating_mul(columns).saturating_mul(self.batch_count())
    }

    fn is_faster_without_copies(&self, has_tensor_cores: bool) -> bool {
        let Arguments { depth, is_packed, .. } = self.arguments;
        let is_batch = self.batch_count() > 1;
        let results = self.results();
        // Columns that are no whole words are stored by single elements.
        let is_stored_by_words = is_packed[2] != 0;
        match (self.way, self.dtype) {
            (Way::Small, _) if self.is_small_with_epilog() => true,
            (Way::Small, _) => {
                let shortest = match self.dtype {
                    DType::Float32 if self.batch_count() > 1 => 1,
                    DType::Float32 | DType::BFloat16 => 2,
                    DType::Complex64 => 8,
                    _ => 0,
                };
                (shortest..=self.longest_small_sum(false, has_tensor_cores)).contains(&depth)
            }
            (Way::Thin, DType::Int8) => depth < 8,
            (Way::Thin, _) if !is_stored_by_words => false,
            (Way::Thin, DType::Float32) => {
                results >= MANY_RESULTS && depth <= if has_tensor_cores { 2 } else { 4 }
            }
            (Way::Thin, DType::Float64) => depth == 1 && is_batch,
            (Way::Thin, DType::Complex64) => depth <= 2 && is_batch && results <= 1 << 24,
            (Way::Thin, DType::Complex128) => depth <= 4 && is_batch,
            (Way::Thin, _) => depth == 1 && !is_batch && results >= MANY_RESULTS,
            (Way::FewRows | Way::FewColumns, _) => self.are_few_faster(has_tensor_cores),
            (Way::Rows | Way::Columns, _) => self.is_vector_faster(),
        }
    }

    /// The longest sums for which the kernel for small matrices takes less time than a library, on
    /// the whole: by the times of 20,825 products on an H100, for fewer tiles than there are
    /// multiprocessors, than twice as many and than four times as many.
    fn longest_small_sum(&self, is_copied: bool, has_tensor_cores: bool) -> i64 {
        const ANY: i64 = i64::MAX;
        let Arguments { tiles, b, .. } = self.arguments;
        // A library shares the products of a long sum among blocks, but not those of a batch,
        // unless it makes one product of that, which a bias forbids.
        let is_one = is_for_all_entries(b) && !self.has_bias;
        let is_batch = self.batch_count() > 1 && !is_one;
        let is_precise_batch = is_batch && !has_tensor_cores;
        let [one_each, two_each, four_each] = match (self.dtype, is_copied) {
            (DType::Float32, true) if is_precise_batch => [ANY, ANY, 512],
            (DType::Float32, false) if is_precise_batch => [ANY, ANY, 0],
            (DType::Complex64, true) if is_precise_batch => [ANY, 1024, 0],
            (DType::Float32, true) if has_tensor_cores => [512, 480, 160],
            (DType::Float32, false) if has_tensor_cores => [256, 64, 0],
            (DType::Float32, true) => [640, 640, 320],
            (DType::Float32, false) => [384, 320, 0],
            (DType::Complex64, false) if is_precise_batch => [ANY, 0, 0],
            (DType::Complex64, true) => [640, 320, 0],
            (DType::Complex64, false) if has_tensor_cores => [128, 0, 0],
            (DType::Complex64, false) => [384, 0, 0],
            (DType::Float64, true) if self.has_epilog => [640, 192, 0],
            (DType::Float64, true) => [448, 90, 0],
            (DType::Float64, false) if is_batch => [32, 0, 0],
            (DType::Complex128, true) => [192, 192, 0],
            (DType::Complex128, false) if is_batch => [16, 0, 0],
            (DType::Float16, true) => [448, 320, 90],
            (DType::Float16, false) if is_batch && tiles <= 16 => [16, 0, 0],
            (DType::BFloat16, true) if is_batch => [880, 448, 160],
            (DType::BFloat16, true) => [576, 448, 224],
            // Libraries are slow where lines begin at odd elements, and fast at whole words.
            (DType::BFloat16, false) if is_batch && !self.are_lines_multiples(2) => [880, 0, 0],
            (DType::BFloat16, false) if !self.are_lines_multiples(2) => [256, 128, 0],
            (DType::BFloat16, false) if self.are_lines_multiples(8) => [32, 0, 0],
            (DType::BFloat16, false) => [128, 0, 0],
            (DType::Int8, true) => [512, 512, 512],
            (DType::Int8, false) => [256, 256, 0],
            _ => [0; 3],
        };
        match 2 * tiles / MANY_BLOCKS {
            0 => one_each,
            1 => two_each,
            2 | 3 => four_each,
            _ => 0,
        }
    }

    /// Whether the lines of the factors and of the result are multiples of so many elements apart.
    fn are_lines_multiples(&self, count: i64) -> bool {
        let Arguments { a, b, c, .. } = self.arguments;
        [a, b, c].iter().all(|steps| steps[0].abs().max(steps[1].abs()) % count == 0)
    }

    /// Whether the kernel is faster without copies for a matrix and a vector. Long sums are shared
    /// among few threads along columns.
    fn is_vector_faster(&self) -> bool {
        let Arguments { tiles, rows, depth, is_packed, .. } = self.arguments;
        let results = self.results();
        let elements = results.saturating_mul(depth);
        let are_few_rows = tiles <= MANY_BLOCKS;
        match (self.way, self.dtype) {
            (Way::Rows, DType::Int8) => elements <= 1 << 23,
            (Way::Rows, DType::Float16) => {
                let least = if results == 1 { 128 } else { 512 };
                are_few_rows && depth >= 4 * results && depth >= least
            }
            (Way::Rows, DType::BFloat16) => {
                // Elements of a vector with gaps are loaded one by one, for each result again.
                let is_loaded_fast = is_packed[1] != 0 || results <= 64;
                results == 1 && (128..=4096).contains(&depth)
                    || is_loaded_fast && depth > 64 * rows && depth <= 512 * results
            }
            (Way::Rows, DType::Complex64) => are_few_rows && depth >= 16,
            // cuBLASLt shares the longest sums of a few results among more blocks.
            (Way::Rows, DType::Float64) if (2..512).contains(&results) => {
                are_few_rows && depth >= 16 && (depth <= 8192 || results >= 128)
            }
            (Way::Rows, DType::Complex128) if (2..128).contains(&results) => {
                are_few_rows && (128..=5120).contains(&depth)
            }
            (Way::Rows, _) => are_few_rows && depth >= 128,
            (_, DType::Int8) => results < 8 && depth <= 8192 || depth < 8,
            (_, DType::Complex64) => {
                let most = if depth < 512 { 1 << 20 } else { 1 << 18 };
                let is_fast_batch = self.batch_count() > 1 && is_packed[0] != 0;
                let least = if is_fast_batch { 65 } else { 9 };
                (least..=4096).contains(&depth) && elements <= most
            }
            (_, DType::Float32) => (512..=2048).contains(&depth) && elements <= 1 << 17,
            // cuBLAS's kernel for double precision takes five times as long for some sums of up to
            // 256 products, if columns are not aligned.
            (_, DType::Float64) => {
                let most = if depth < 256 { 4096 } else { 512 };
                let least = if is_packed[0] != 0 { 128 } else { 16 };
                (least..=2048).contains(&depth) && results <= most
            }
            (_, DType::Complex128) if depth < 64 => depth >= 16 && results <= 4096,
            (_, DType::Complex128) => depth <= 4096 && elements <= 1 << 18,
            _ => results == 1 && depth <= 2048,
        }
    }

    /// Likewise, for a matrix and a few vectors.
    fn are_few_faster(&self, has_tensor_cores: bool) -> bool {
        let Arguments { rows, columns, depth, .. } = self.arguments;
        let by_rows = self.way == Way::FewRows;
        let is_batch = self.batch_count() > 1;
        let results = self.results();
        let are_up_to_4 = columns <= FEW / 2;
        let elements = self.all_rows().saturating_mul(depth);
        match self.dtype {
            // A library reads a large matrix for all entries faster.
            DType::Float32 if is_batch && self.has_shared_factor() && elements >= 1 << 26 => false,
            DType::Float64 | DType::Complex128 => {
                is_batch && results <= 8192 && depth > results / 2
            }
            DType::Float32 | DType::Complex64 if has_tensor_cores && by_rows => {
                are_up_to_4 && self.rounds() <= 2 && depth <= self.all_rows() / 4
            }
            DType::Float32 | DType::Complex64 if has_tensor_cores => {
                is_batch && depth > results / 2
            }
            DType::Float32 | DType::Complex64 if by_rows => {
                let longest = match (is_batch, are_up_to_4) {
                    (true, _) => 4 * results,
                    (_, true) => 12 * rows,
                    _ if self.dtype == DType::Complex64 => 0,
                    _ => 3 * rows,
                };
                depth > rows / 16 && depth <= longest
            }
            DType::Complex64 => depth > FEW_DEPTH && depth <= 8 * results,
            DType::Float32 if is_batch && depth > rows / 8 => true,
            DType::Float32 => are_up_to_4 && depth > FEW_DEPTH && self.rounds() <= MANY_ROUNDS / 2,
            _ => false,
        }
    }

    /// Whether it is a small product with an epilog, which cuBLAS does not have.
    fn is_small_with_epilog(&self) -> bool {
        let Arguments { tiles, depth, .. } = self.arguments;
        let is_small = match self.dtype {
            DType::Float64 => (2..=128).contains(&depth) && tiles * depth <= 2048,
            _ => depth <= 384 && tiles <= 64,
        };
        self.has_epilog && is_small
    }

    fn is_faster_than_copies(&self, copied: usize, has_tensor_cores: bool) -> bool {
        let Arguments { tiles, rows, columns, depth, is_packed, .. } = self.arguments;
        let results = self.results();
        let elements = rows.saturating_mul(depth).saturating_mul(self.batch_count());
        let is_half = matches!(self.dtype, DType::Float16 | DType::BFloat16);
        let is_int8 = self.dtype == DType::Int8;
        let is_single = self.dtype == DType::Float32;
        let is_plain = !has_tensor_cores && (is_single || self.dtype == DType::Complex64);
        let is_wide = !is_single && !is_half && !is_int8;
        let large_matrix = if is_half { LARGE_MATRIX_OF_HALVES } else { LARGE_MATRIX };
        let are_only_vectors_copied =
            self.matrix_bytes() >= large_matrix && copied < self.matrix_bytes();
        match self.way {
            // The kernels load the elements of a vector one by one, unless they are neighbours.
            Way::Rows | Way::Columns if are_only_vectors_copied && !is_int8 => {
                self.is_vector_faster()
            }
            Way::FewRows | Way::FewColumns if are_only_vectors_copied && is_single => {
                self.are_few_faster(has_tensor_cores)
            }
            Way::Small => depth <= self.longest_small_sum(true, has_tensor_cores),
            Way::Thin if is_int8 => {
                // There are kernels of cuBLASLt for two orders of the factors. Those for factors
                // whose depth is not fast take less time than ours, and the others more.
                let extents = [rows, columns, 4 * depth];
                let is_slow = results >= 1 << 24 && extents.iter().all(|extent| extent % 16 == 0);
                depth <= 2 || depth <= 8 && !is_slow
            }
            // Columns that are no whole words are stored by single elements.
            Way::Thin if is_packed[2] == 0 && results >= 1 << 20 => false,
            // A library copies the vectors and multiplies by tensor cores.
            Way::Thin if is_half && depth == 1 && self.batch_count() > 1 => {
                results < MANY_RESULTS || rows % 8 != 0 || columns % 8 != 0
            }
            Way::Thin if is_half => depth <= 4,
            Way::Thin => {
                let most = match (is_single, has_tensor_cores) {
                    (true, false) => VERY_MANY_RESULTS,
                    (true, true) => MANY_RESULTS,
                    _ => MANY_WIDE_RESULTS,
                };
                // Of fewer rows, part of a tile is computed for nothing.
                let are_tiles_whole = self.dtype != DType::Complex64 || rows >= THIN_ROWS;
                depth <= 4 || depth <= 8 && results < most && are_tiles_whole
            }
            Way::FewRows | Way::FewColumns
                if depth <= rows / 32
                    || results > 1 << 17
                    || self.are_few_slower_than_copies(copied, has_tensor_cores) =>
            {
                false
            }
            Way::FewRows | Way::FewColumns => {
                let waits_long = is_single && columns > FEW / 2;
                let rounds = if waits_long { MANY_ROUNDS / 4 } else { MANY_ROUNDS / 2 };
                let are_few = columns <= FEW / 2 || is_plain;
                are_few && self.rounds() <= rounds
                    || copied >= LARGE_COPY && self.rounds() <= MANY_ROUNDS
            }
            Way::Rows if is_int8 => elements <= 1 << 23,
            Way::Rows if is_half => tiles <= MANY_BLOCKS,
            Way::Rows if is_wide && elements >= 1 << 25 => false,
            Way::Rows => tiles <= 4 * MANY_BLOCKS,
            Way::Columns if is_half => depth <= 2048 && elements <= 1 << 20,
            Way::Columns if is_int8 => self.rounds() <= 2,
            Way::Columns if is_single => self.rounds() <= MANY_ROUNDS / 2,
            Way::Columns => self.rounds() <= MANY_ROUNDS,
        }
    }

    /// Whether a matrix and a few vectors take more time than what a library does with copies of so
    /// many bytes.
    fn are_few_slower_than_copies(&self, copied: usize, has_tensor_cores: bool) -> bool {
        let Arguments { columns, depth, a, .. } = self.arguments;
        let entries = self.batch_count();
        let is_shared = entries > 1 && is_for_all_entries(a);
        let elements = self.all_rows().saturating_mul(depth);
        let is_matrix_copied = copied >= self.matrix_bytes();
        // The kernel reads the matrix for each entry again; copies of the vectors of all entries
        // make one product.
        let are_up_to_4 = columns <= FEW / 2;
        let most_elements = match self.dtype {
            DType::Complex128 if are_up_to_4 && !is_matrix_copied => 3 << 19,
            _ if !is_shared => i64::MAX,
            DType::Complex128 => 1 << 21,
            DType::Float64 if !is_matrix_copied || !are_up_to_4 => 1 << 22,
            _ if self.way == Way::FewColumns && is_matrix_copied && !are_up_to_4 => 1 << 22,
            DType::Float32 if !is_matrix_copied => 1 << 24,
            _ => i64::MAX,
        };
        // Each block reads all vectors, for as few rows as fill a GPU with blocks.
        let longest = match (self.dtype, self.way, are_up_to_4) {
            (DType::Complex128, _, true) if !is_matrix_copied => 4096,
            (DType::Complex64, Way::FewRows, false) if !is_matrix_copied && entries == 1 => 0,
            (DType::Float64 | DType::Complex128, Way::FewRows, false) => 5 * self.all_rows(),
            (DType::Float32, Way::FewRows, false) if has_tensor_cores => 5 * self.all_rows(),
            (DType::Float32, _, false) if has_tensor_cores => 10 * self.all_rows(),
            _ => i64::MAX,
        };
        elements >= most_elements || depth > longest
    }

    /// Whether a matrix is multiplied along its rows by a long vector with large gaps.
    fn is_vector_scattered(&self, copied: usize) -> bool {
        let Arguments { depth, b, .. } = self.arguments;
        let least = match self.dtype {
            _ if copied > 0 => SCATTERED_RESULTS_BESIDE_COPIES,
            DType::Float16 | DType::BFloat16 => 1,
            _ => SCATTERED_RESULTS,
        };
        let step = b[0].abs().saturating_mul(self.dtype.size() as i64);
        self.way == Way::Rows && step >= SECTOR && depth >= SCATTERED_SUM && self.results() >= least
    }

    /// Bytes of the left factor, the matrix beside one vector or a few, of all entries.
    fn matrix_bytes(&self) -> usize {
        let Arguments { rows, depth, a, .. } = self.arguments;
        let rows = if is_for_all_entries(a) { rows } else { self.all_rows() };
        (rows.saturating_mul(depth) as usize).saturating_mul(self.dtype.size())
    }

    /// Whether one of the factors is the same for all entries of a batch.
    fn has_shared_factor(&self) -> bool {
        let Arguments { a, b, .. } = self.arguments;
        is_for_all_entries(a) || is_for_all_entries(b)
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

/// Whether a matrix with these steps stays the same from one entry of a batch to the next.
fn is_for_all_entries(steps: [i64; 4]) -> bool {
    steps[2] == 0 && steps[3] == 0
}
