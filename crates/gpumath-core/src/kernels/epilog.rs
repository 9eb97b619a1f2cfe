//! The arguments of the kernels of `epilog.cu` for what is done with each sum of a product.

use std::ffi::CStr;

use super::launch;
use super::line_sums::{
    MANY_BLOCKS, SumKernels, SumOfParts, THREADS, WARP, counted, faster_and_slower, power_of_two,
    tiles_of,
};
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::tensor::{BatchDims, DType};

/// Bytes of a word, which a thread loads and stores at once if it can.
const WORD: i64 = 16;
/// Bits of a byte.
const BYTE: i64 = 8;
/// Blocks that a large GPU has room for.
const MOST_BLOCKS: i64 = 4 * MANY_BLOCKS;
/// Lines that a thread processes at most, unless it adds them up.
const FEW_LINES: i64 = 4;

/// What is done with a sum: a number of `epilog.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum LastStep {
    Identity = 0,
    Relu = 1,
    Gelu = 2,
    Drelu = 3,
    Dgelu = 4,
}

/// Matrices of sums, the results, the bias and what is written or read besides, in this order: the
/// steps of each from one row to the next and from one column to the next, and those of the batch.
#[derive(Clone, Debug)]
pub(crate) struct EpilogMatrices {
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    pub(crate) strides: [[i64; 2]; 4],
    pub(crate) batch: BatchDims<4>,
}

/// The argument of the kernels `epilog_…`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    tiles: i64,
    length: i64,
    count: i64,
    length_tiles: i64,
    line_tiles: i64,
    entries: i64,
    lanes: i64,
    rounds: i64,
    /// Of the sums, the results, the bias and the matrix besides.
    steps: [[i64; 4]; 4],
    step: LastStep,
    is_packed: i64,
}

/// What is done with each sum of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpilogCall {
    arguments: Arguments,
    /// The code and the name.
    kernel: (&'static str, &'static CStr),
    /// What adds up the sums that blocks make of the results' rows, if these are asked for.
    row_sums: Option<SumOfParts>,
}

impl EpilogCall {
    /// Describes the step for sums and results of such types; `None` if there is no kernel for
    /// them or their batch. `has_bits` says that there is a bit for each element besides, and
    /// `adds_up_rows` that the sums of the results' rows take the place of the bias.
    pub(crate) fn of(
        matrices: &EpilogMatrices,
        [sums, result]: [DType; 2],
        step: LastStep,
        [has_bits, adds_up_rows]: [bool; 2],
    ) -> Option<Self> {
        let name = match (sums, result) {
            (DType::Float16, DType::Float16) => c"epilog_float16_float16",
            (DType::Float32, DType::Float16) => c"epilog_float32_float16",
            (DType::BFloat16, DType::BFloat16) => c"epilog_bfloat16_bfloat16",
            (DType::Float32, DType::BFloat16) => c"epilog_float32_bfloat16",
            (DType::Float32, DType::Float32) => c"epilog_float32_float32",
            (DType::Float64, DType::Float64) => c"epilog_float64_float64",
            _ => return None,
        };
        let sum_kernels = SumKernels::of(result)?;
        let EpilogMatrices { rows, columns, strides, batch } = matrices;
        let dims = faster_and_slower(batch)?;
        let [down, right] = strides[1].map(i64::unsigned_abs);
        // A byte has bits of one column, and a block adds up what it has of a row.
        let by_columns = has_bits || adds_up_rows || *columns == 1 || *rows > 1 && down <= right;
        let (length, count) = if by_columns { (*rows, *columns) } else { (*columns, *rows) };
        let steps = [0, 1, 2, 3].map(|matrix| {
            let [first, second] = strides[matrix];
            let [faster, slower] = dims.map(|dim| dim.strides[matrix]);
            if by_columns {
                [first, second, faster, slower]
            } else {
                [second, first, faster, slower]
            }
        });
        let [entries, slower] = dims.map(|dim| dim.extent);
        let is_packed = |matrix: usize, dtype: DType| {
            let lines = [count, entries, slower].into_iter().zip(&steps[matrix][1..]);
            let mut beyond = lines.filter(|&(extent, _)| extent > 1);
            steps[matrix][0] == 1 && beyond.all(|(_, step)| step * dtype.size() as i64 % WORD == 0)
        };
        let has_elements_besides = !has_bits && steps[3] != [0; 4];
        let are_packed = is_packed(0, sums)
            && is_packed(1, result)
            && (!has_elements_besides || is_packed(3, result));
        let at_once = WORD / result.size() as i64;
        // A warp along the lines, more threads only if there are fewer lines than groups of them.
        let least = if has_bits { BYTE } else { 1 };
        let most = (THREADS / power_of_two(count)).max(WARP);
        let lanes = power_of_two(tiles_of(length, at_once)).clamp(least, most);
        let length_tiles = tiles_of(length, lanes * at_once);
        let groups = tiles_of(count, THREADS / lanes);
        let blocks = counted([length_tiles, groups, entries, slower])?;
        let most_rounds = if adds_up_rows { groups } else { FEW_LINES.min(groups) };
        let rounds = (blocks / MOST_BLOCKS).clamp(1, most_rounds);
        let line_tiles = tiles_of(groups, rounds);
        let tiles = counted([length_tiles, line_tiles, entries, slower])?;
        let arguments = Arguments {
            tiles,
            length,
            count,
            length_tiles,
            line_tiles,
            entries,
            lanes,
            rounds,
            steps,
            step,
            is_packed: i64::from(are_packed),
        };
        let row_sums = if adds_up_rows {
            let [step, _, faster, slower_step] = steps[2];
            let to = [0, step, faster, slower_step];
            Some(SumOfParts::of(&sum_kernels, (line_tiles, length), [entries, slower], to)?)
        } else {
            None
        };
        Some(Self { arguments, kernel: (sum_kernels.code, name), row_sums })
    }

    /// Bytes of memory for what the blocks add up.
    pub(crate) fn workspace_size(&self) -> usize {
        self.row_sums.as_ref().map_or(0, |sums| sums.workspace)
    }

    /// Enqueues the step on `stream`, in the context of the stream's device. The work can be
    /// captured into a graph.
    ///
    /// # Safety
    /// - The addresses are those of the first elements of the results, the sums, the bias or the
    ///   sums of the results' rows, and the matrix besides, with the types and steps of the call,
    ///   in memory of the stream's device, and valid until the work is done. They are 0 for the
    ///   last two if there are none.
    /// - No two elements of the results share memory, and only the sums may share that of the
    ///   results, with the same steps.
    /// - The workspace has [`Self::workspace_size`] bytes, of which the same holds.
    pub(crate) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        addresses: [usize; 4],
        workspace: usize,
        stream: StreamRef,
    ) -> Result<()> {
        let [results, sums, vector, aux] = addresses;
        let (bias, totals) = if self.row_sums.is_some() { (0, workspace) } else { (vector, 0) };
        let mut arguments = self.arguments;
        let is_at_words = [results, sums, aux].iter().all(|address| address % WORD as usize == 0);
        arguments.is_packed &= i64::from(is_at_words);
        let parameters = [
            &raw const results as usize,
            &raw const sums as usize,
            &raw const bias as usize,
            &raw const aux as usize,
            &raw const totals as usize,
            &raw const arguments as usize,
        ];
        // SAFETY: the kernel takes five addresses and this argument; the caller guarantees that
        // they fit the memory.
        unsafe {
            launch(context, self.kernel, arguments.tiles as u64, &parameters, stream)?;
            match &self.row_sums {
                Some(row_sums) => row_sums.kernel.enqueue(context, [vector, totals], stream),
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn the_kernels_take_the_structures() {
        let parameter = format!("epilog_float32_float16_param_5[{}]", size_of::<Arguments>());
        assert!(SumKernels::of(DType::Float16).unwrap().code.contains(&parameter), "{parameter}");
    }

    #[test]
    fn threads_follow_memory() {
        let call = |rows: i64, columns: i64, strides: [i64; 2], has_bits: bool| {
            // The matrix besides is of bits, or there is none.
            let besides = if has_bits { [1, rows] } else { [0, 0] };
            let strides = [strides, strides, [1, 0], besides];
            let matrices = EpilogMatrices { rows, columns, strides, batch: BatchDims::default() };
            let dtypes = [DType::Float32; 2];
            let has = [has_bits, false];
            EpilogCall::of(&matrices, dtypes, LastStep::Relu, has).unwrap().arguments
        };
        // By rows, by columns, a vector; and columns of bits, of which eight threads write a byte.
        for (found, length, lanes, tiles, is_packed) in [
            (call(300, 70, [70, 1], false), 70, 32, 38, 0),
            (call(300, 70, [1, 300], false), 300, 32, 3 * 9, 1),
            (call(301, 70, [1, 301], false), 301, 32, 3 * 9, 0),
            (call(5, 1, [1, 5], false), 5, 2, 1, 1),
            (call(5, 7, [7, 1], true), 5, 8, 1, 0),
            (call(300, 70, [70, 1], true), 300, 32, 3 * 9, 0),
        ] {
            assert_eq!((found.length, found.lanes, found.tiles), (length, lanes, tiles));
            assert_eq!((found.rounds, found.is_packed), (1, is_packed));
        }
    }

    #[test]
    fn blocks_add_up_rows() {
        let matrices = EpilogMatrices {
            rows: 8192,
            columns: 16384,
            strides: [[1, 8192], [1, 8192], [3, 0], [1, 8192]],
            batch: BatchDims::default(),
        };
        let dtypes = [DType::Float32, DType::Float16];
        let call = EpilogCall::of(&matrices, dtypes, LastStep::Dgelu, [false, true]).unwrap();
        let found = call.arguments;
        assert_eq!(found.is_packed, 1);
        assert_eq!((found.length_tiles, found.line_tiles, found.rounds), (32, 34, 62));
        assert_eq!(call.workspace_size(), 34 * 8192 * size_of::<f32>());
    }
}
