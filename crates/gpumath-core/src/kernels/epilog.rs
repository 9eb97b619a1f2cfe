//! The arguments of the kernels of `epilog.cu`: what is done with each sum of a product, and sums
//! of lines.

use std::ffi::CStr;

use super::launch;
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::tensor::{BatchDim, BatchDims, DType};

/// The kernels of `epilog.cu`.
const PTX: &str = concat!(include_str!("generated/epilog.ptx"), "\0");

/// Threads of a block and of a warp.
const THREADS: i64 = super::BLOCK as i64;
const WARP: i64 = 32;
/// Lines that a thread processes at a time, and elements of a line that it adds up.
const AT_ONCE: i64 = 4;
/// Neighbouring lines that are read together at least.
const SECTOR: i64 = 8;
/// Blocks that fill a large GPU.
const MANY_BLOCKS: i64 = 264;
/// Elements that a thread adds up at least, if a line is split among blocks.
const LONG_PART: i64 = 4 * AT_ONCE;

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
    /// Of the sums, the results, the bias and the matrix besides.
    steps: [[i64; 4]; 4],
    step: LastStep,
}

/// What is done with each sum of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpilogCall {
    arguments: Arguments,
    name: &'static CStr,
}

impl EpilogCall {
    /// Describes the step for sums and results of such types; `None` if there is no kernel for
    /// them or their batch. `has_bits` says that there is a bit for each element besides.
    pub(crate) fn of(
        matrices: &EpilogMatrices,
        [sums, result]: [DType; 2],
        step: LastStep,
        has_bits: bool,
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
        let EpilogMatrices { rows, columns, strides, batch } = matrices;
        let dims = faster_and_slower(batch)?;
        let [down, right] = strides[1].map(i64::unsigned_abs);
        // A warp has the bits of a word, which are those of one column.
        let by_columns = has_bits || *columns == 1 || *rows > 1 && down <= right;
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
        let least = if has_bits { WARP } else { 1 };
        let lanes = power_of_two(length).clamp(least, THREADS);
        let length_tiles = tiles_of(length, lanes);
        let line_tiles = tiles_of(count, THREADS / lanes * AT_ONCE);
        let [entries, slower] = dims.map(|dim| dim.extent);
        let tiles = counted([length_tiles, line_tiles, entries, slower])?;
        let arguments = Arguments {
            tiles,
            length,
            count,
            length_tiles,
            line_tiles,
            entries,
            lanes,
            steps,
            step,
        };
        Some(Self { arguments, name })
    }

    /// Enqueues the step on `stream`, in the context of the stream's device. The work can be
    /// captured into a graph.
    ///
    /// # Safety
    /// - The addresses are those of the first elements of the results, the sums, the bias and the
    ///   matrix besides, with the types and steps of the call, in memory of the stream's device,
    ///   and valid until the work is done. They are 0 for the last two if there are none.
    /// - No two elements of the results share memory, and only the sums may share that of the
    ///   results, with the same steps.
    pub(crate) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        addresses: [usize; 4],
        stream: StreamRef,
    ) -> Result<()> {
        let [results, sums, bias, aux] = addresses;
        let parameters = [
            &raw const results as usize,
            &raw const sums as usize,
            &raw const bias as usize,
            &raw const aux as usize,
            &raw const self.arguments as usize,
        ];
        // SAFETY: the kernel takes four addresses and this argument; the caller guarantees that
        // they fit the memory.
        unsafe {
            launch(context, (PTX, self.name), self.arguments.tiles as u64, &parameters, stream)
        }
    }
}

/// The argument of the kernels `sum_lines_…`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct LineArguments {
    tiles: i64,
    length: i64,
    count: i64,
    parts: i64,
    part_length: i64,
    line_tiles: i64,
    entries: i64,
    lanes: i64,
    is_along: i64,
    from: [i64; 4],
    to: [i64; 4],
}

/// Lines of elements, and a number for each line: the steps of both from line to line and those of
/// the batch.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) length: i64,
    pub(crate) count: i64,
    /// From one element of a line to the next.
    pub(crate) step: i64,
    pub(crate) strides: [i64; 2],
    pub(crate) batch: BatchDims<2>,
}

/// Sums of the elements of lines. Long lines are summed up in parts, whose sums another kernel adds
/// up: always in the same order.
#[derive(Clone, Debug)]
pub(crate) struct LineSumsCall {
    first: (LineArguments, &'static CStr),
    /// If there are parts, what adds up their sums.
    second: Option<(LineArguments, &'static CStr)>,
    workspace: usize,
}

impl LineSumsCall {
    /// Describes the sums of such lines; `None` if there is no kernel for their types or batch.
    pub(crate) fn of(lines: &Lines, from: DType, to: DType) -> Option<Self> {
        let (whole, to_wide, from_wide, wide) = match (from, to) {
            (DType::Float16, DType::Float16) => (
                c"sum_lines_float16_float16",
                c"sum_lines_float16_float32",
                c"sum_lines_float32_float16",
                4,
            ),
            (DType::BFloat16, DType::BFloat16) => (
                c"sum_lines_bfloat16_bfloat16",
                c"sum_lines_bfloat16_float32",
                c"sum_lines_float32_bfloat16",
                4,
            ),
            (DType::Float32, DType::Float32) => (
                c"sum_lines_float32_float32",
                c"sum_lines_float32_float32",
                c"sum_lines_float32_float32",
                4,
            ),
            (DType::Float64, DType::Float64) => (
                c"sum_lines_float64_float64",
                c"sum_lines_float64_float64",
                c"sum_lines_float64_float64",
                8,
            ),
            _ => return None,
        };
        let [faster, slower] = faster_and_slower(&lines.batch)?;
        let extents = [faster.extent, slower.extent];
        // Parts do not go to places of their own, unless lines are split.
        let [from_all, to_all] = [(0, lines.step), (1, 0)].map(|(matrix, step)| {
            [step, lines.strides[matrix], faster.strides[matrix], slower.strides[matrix]]
        });
        let mut first = whole_lines((lines.length, lines.count), from_all, to_all, extents)?;
        let longest = THREADS / first.lanes * LONG_PART;
        let parts = (MANY_BLOCKS / first.tiles).min(lines.length / longest);
        if parts < 2 {
            return Some(Self { first: (first, whole), second: None, workspace: 0 });
        }
        // The sums of parts: those of one part beside each other.
        let part_length = (lines.length + parts - 1) / parts;
        let parts = (lines.length + part_length - 1) / part_length;
        let (part_step, entry_step) = (lines.count, lines.count * parts);
        let between = [part_step, 1, entry_step, entry_step * faster.extent];
        (first.parts, first.part_length, first.to) = (parts, part_length, between);
        first.tiles = counted([first.tiles, parts])?;
        let second = whole_lines((parts, lines.count), between, to_all, extents)?;
        let sums = counted([lines.count, parts, faster.extent, slower.extent])?;
        let workspace = sums as usize * wide;
        Some(Self { first: (first, to_wide), second: Some((second, from_wide)), workspace })
    }

    /// Bytes of memory for the sums of parts.
    pub(crate) fn workspace_size(&self) -> usize {
        self.workspace
    }

    /// Enqueues the sums on `stream`, in the context of the stream's device. The work can be
    /// captured into a graph.
    ///
    /// # Safety
    /// - The addresses are those of the first number to write and of the first element, with the
    ///   types and steps of the call, in memory of the stream's device, and valid until the work is
    ///   done. They do not overlap.
    /// - So is the workspace, of [`Self::workspace_size`] bytes.
    pub(crate) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        [to, from]: [usize; 2],
        workspace: usize,
        stream: StreamRef,
    ) -> Result<()> {
        let sum = |(arguments, name): &(LineArguments, &'static CStr), to: usize, from: usize| {
            let parameters = [
                &raw const to as usize,
                &raw const from as usize,
                std::ptr::from_ref(arguments) as usize,
            ];
            // SAFETY: the kernel takes two addresses and this argument; the caller guarantees that
            // they fit the memory.
            unsafe { launch(context, (PTX, name), arguments.tiles as u64, &parameters, stream) }
        };
        match &self.second {
            None => sum(&self.first, to, from),
            Some(second) => {
                sum(&self.first, workspace, from)?;
                sum(second, to, workspace)
            }
        }
    }
}

/// Describes sums of whole lines with these steps, and of a batch of these extents.
fn whole_lines(
    (length, count): (i64, i64),
    from: [i64; 4],
    to: [i64; 4],
    [faster, slower]: [i64; 2],
) -> Option<LineArguments> {
    let is_along = from[0].unsigned_abs() <= from[1].unsigned_abs() || count == 1;
    // A line has as many threads as have something to add up. Neighbouring lines are read together.
    let threads = power_of_two((length + AT_ONCE - 1) / AT_ONCE);
    let least = match counted([tiles_of(count, WARP), faster, slower])? {
        _ if is_along => 1,
        MANY_BLOCKS.. => WARP,
        _ => SECTOR,
    };
    let lanes = (THREADS / threads).max(least);
    let line_tiles = tiles_of(count, lanes);
    Some(LineArguments {
        tiles: counted([line_tiles, faster, slower])?,
        length,
        count,
        parts: 1,
        part_length: length,
        line_tiles,
        entries: faster,
        lanes,
        is_along: i64::from(is_along),
        from,
        to,
    })
}

/// The dimensions of a batch, the faster one first; `None` if there are more than two.
fn faster_and_slower<const N: usize>(batch: &BatchDims<N>) -> Option<[BatchDim<N>; 2]> {
    let none = BatchDim { extent: 1, strides: [0; N] };
    match batch.iter().rev().copied().collect::<Vec<_>>()[..] {
        [] => Some([none; 2]),
        [faster] => Some([faster, none]),
        [faster, slower] => Some([faster, slower]),
        _ => None,
    }
}

/// The product of these numbers, if blocks can be counted by it.
fn counted<const N: usize>(numbers: [i64; N]) -> Option<i64> {
    let count = numbers.into_iter().try_fold(1, i64::checked_mul)?;
    u32::try_from(count).ok().map(i64::from)
}

fn tiles_of(extent: i64, tile: i64) -> i64 {
    (extent + tile - 1) / tile
}

/// The least power of two that is not less.
fn power_of_two(number: i64) -> i64 {
    (number.clamp(1, THREADS) as u64).next_power_of_two() as i64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn the_kernels_take_the_structures() {
        let parameter = format!("epilog_float32_float16_param_4[{}]", size_of::<Arguments>());
        assert!(PTX.contains(&parameter), "{parameter}");
        let size = size_of::<LineArguments>();
        let parameter = format!("sum_lines_float64_float64_param_2[{size}]");
        assert!(PTX.contains(&parameter), "{parameter}");
    }

    #[test]
    fn long_lines_are_summed_up_in_parts() {
        let sums = |length: i64, count: i64, [step, line_step]: [i64; 2]| {
            let (strides, batch) = ([line_step, 1], BatchDims::default());
            let lines = Lines { length, count, step, strides, batch };
            LineSumsCall::of(&lines, DType::Float16, DType::Float16).unwrap()
        };
        for (call, parts) in [
            // As many blocks as fill a GPU, of one line each; or fewer with enough to do.
            (sums(1 << 20, 3, [1, 1 << 20]), 88),
            (sums(1 << 20, 1000, [1, 1 << 20]), 1),
            (sums(30_000, 3, [1, 30_000]), 7),
            (sums(4096, 3, [1, 4096]), 1),
            // Neighbouring lines together.
            (sums(1 << 20, 8, [8, 1]), 264),
            (sums(1 << 20, 1 << 14, [1 << 14, 1]), 1),
        ] {
            let (first, _) = call.first;
            assert_eq!(first.parts, parts);
            assert_eq!(call.second.is_some(), parts > 1);
            assert!(first.part_length * parts >= first.length);
            assert!(first.part_length * (parts - 1) < first.length);
            let partial = if parts > 1 { (parts * first.count) as usize * 4 } else { 0 };
            assert_eq!(call.workspace_size(), partial);
        }
        let none =
            Lines { length: 4, count: 4, step: 1, strides: [4, 1], batch: BatchDims::default() };
        assert!(LineSumsCall::of(&none, DType::Int8, DType::Int32).is_none());
    }

    #[test]
    fn sums_of_parts_lie_beside_each_other() {
        let dim = |extent, strides| BatchDim { extent, strides };
        let batch = BatchDims::merged([dim(3, [700_000, 2]), dim(5, [90_000, 60])]);
        let lines = Lines { length: 30_000, count: 2, step: 1, strides: [40_000, 1], batch };
        let call = LineSumsCall::of(&lines, DType::Float64, DType::Float64).unwrap();
        let ((first, _), (second, _)) = (call.first, call.second.unwrap());
        // The batch dimension that is faster in the result comes first.
        let (from, to) = ([1, 40_000, 700_000, 90_000], [0, 1, 2, 60]);
        assert_eq!((first.from, first.parts, first.entries), (from, 7, 3));
        assert_eq!(first.to, [2, 1, 2 * 7, 2 * 7 * 3]);
        assert_eq!((second.from, second.to, second.parts), (first.to, to, 1));
        assert_eq!((first.tiles, second.length, second.count), (2 * 7 * 15, 7, 2));
        assert_eq!(call.workspace_size(), 2 * 7 * 15 * 8);
        let short = Lines { length: 100, ..lines };
        let (whole, _) = LineSumsCall::of(&short, DType::Float64, DType::Float64).unwrap().first;
        assert_eq!((whole.from, whole.to, whole.parts, whole.part_length), (from, to, 1, 100));
    }

    #[test]
    fn threads_follow_memory() {
        let call = |rows: i64, columns: i64, strides: [i64; 2], has_bits: bool| {
            let strides = [strides, strides, [1, 0], [1, rows]];
            let matrices = EpilogMatrices { rows, columns, strides, batch: BatchDims::default() };
            let dtypes = [DType::Float32; 2];
            EpilogCall::of(&matrices, dtypes, LastStep::Relu, has_bits).unwrap().arguments
        };
        // By rows, by columns, a vector; and columns of bits, of which a warp writes a word.
        for (found, length, lanes, tiles) in [
            (call(300, 70, [70, 1], false), 70, 128, 38),
            (call(300, 70, [1, 300], false), 300, 256, 2 * 18),
            (call(5, 1, [1, 5], false), 5, 8, 1),
            (call(5, 7, [7, 1], true), 5, 32, 1),
            (call(300, 70, [70, 1], true), 300, 256, 2 * 18),
        ] {
            assert_eq!((found.length, found.lanes, found.tiles), (length, lanes, tiles));
        }
    }
}
